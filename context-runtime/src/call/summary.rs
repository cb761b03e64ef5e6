//! Summaries: requested when they are needed, or ahead of that while the conversation goes on.

use std::sync::Arc;

use context_core::base::{DiagnosticCode, Severity};
use context_core::history::{BoundaryKind, PlanReport, SummaryError, SummaryTask};
use context_core::model::{LanguageModel, ModelErrorCode};
use context_core::runtime::{ModelContext, SummariesAhead};
use context_core::{Answer, CancelSignal, Diagnostic, ModelError, ModelRequest};

use super::background::{SummaryJob, WrittenSummary};
use super::{CallError, ModelCall, OPERATION};
use crate::cancellable::unless_cancelled;
use crate::observer::BegunCall;

impl ModelCall<'_> {
    /// Whether the runtime may request a summary that this call does not wait for.
    pub(super) fn ahead_mode(&self) -> SummariesAhead {
        match self.ahead.as_ref().filter(|_| self.summaries.is_some()) {
            Some(ahead) if ahead.is_running(self.chat()) => SummariesAhead::Running,
            Some(_) if self.has_spare_call() => SummariesAhead::Wanted,
            _ => SummariesAhead::Never,
        }
    }

    /// Whether a call is to spare besides the request itself.
    fn has_spare_call(&self) -> bool {
        self.record.calls.saturating_add(1) < self.options.max_calls
    }

    /// Carries out a summary task, and returns whether a summary shortened the history. One that is
    /// requested ahead is only begun. One that was begun before is waited for, since it is ready
    /// sooner than another.
    pub(super) async fn summarised(
        &mut self,
        task: Box<SummaryTask>,
        context: &ModelContext,
    ) -> Result<bool, CallError> {
        let Some(model) = self.summaries.clone() else { return Ok(false) };
        if task.ahead {
            self.summarise_ahead(&model, task, context);
            return Ok(false);
        }
        if self.accept_running().await? {
            return Ok(true);
        }
        // One for each call of the conversation.
        if std::mem::replace(&mut self.record.summarised, true) {
            return Ok(false);
        }
        let before = self.tokens_before(context);
        let first = task.request_for(model.name());
        // A model that goes on with the conversation instead is shown it as a quotation.
        let quoted = Some(&task.request).filter(|quoted| !std::ptr::eq(*quoted, first));
        let can_quote = !task.needs_provider();
        if !can_quote && quoted.is_none() {
            let why =
                "only the provider of the conversation reads its beginning, and it cannot be asked";
            self.failed(&SummaryError::Failed(why.to_owned()), Severity::Warning);
            return Ok(false);
        }
        for request in [first].into_iter().chain(quoted.filter(|_| can_quote)) {
            if !self.has_spare_call() {
                break;
            }
            let cancel = self.input.cancel.clone();
            let writing = self.writing(&model, request, cancel.clone());
            let written = unless_cancelled(&cancel, OPERATION, writing).await?;
            cancel.check(OPERATION)?;
            self.spent(&written);
            let may_help = written.reply.as_ref().err().is_none_or(another_form_may_help);
            let answer = written.reply.map_err(|error| SummaryError::Failed(error.to_string()));
            let accepted = answer.and_then(|answer| self.accept(&task, &answer, before));
            let Err(error) = accepted else { return Ok(true) };
            self.failed(&error, Severity::Warning);
            if !may_help || matches!(error, SummaryError::TooLarge { .. } | SummaryError::Plan(_)) {
                break;
            }
        }
        Ok(false)
    }

    /// Returns the future that asks a model for a summary, on behalf of this turn.
    fn writing(
        &mut self,
        model: &Arc<dyn LanguageModel>,
        request: &ModelRequest,
        cancel: CancelSignal,
    ) -> impl Future<Output = WrittenSummary> + use<> {
        self.record.calls += 1;
        let mut request = request.clone();
        request.model.get_or_insert_with(|| model.name().to_owned());
        let names = (self.provider().to_owned(), model.name().to_owned());
        let asked = (self.provider(), model.name());
        let begun = BegunCall::new(&self.observers, &self.input.turn, asked, true);
        let named = (self.input.turn.clone(), names);
        WrittenSummary::write(Arc::clone(model), request, named, begun, cancel)
    }

    fn spent(&mut self, written: &WrittenSummary) {
        if let Some(usage) = &written.usage {
            self.record.spend(usage, written.cost_usd);
        }
    }

    /// Begins a summary that nobody waits for.
    fn summarise_ahead(
        &mut self,
        model: &Arc<dyn LanguageModel>,
        task: Box<SummaryTask>,
        context: &ModelContext,
    ) {
        let Some(ahead) = self.ahead.clone().filter(|_| self.has_spare_call()) else { return };
        let request = task.request_for(model.name());
        if task.needs_provider() && std::ptr::eq(request, &task.request) {
            return;
        }
        let before = self.tokens_before(context);
        let shown = context.rewrite.as_ref().map_or(self.input.history(), |cut| &cut.messages);
        let shown = shown.clone();
        // The turn may be cancelled, and the next one still wants the summary.
        let cancel = CancelSignal::never();
        let writing = tokio::spawn(self.writing(model, request, cancel));
        ahead.begin(self.chat(), SummaryJob::new(task, shown, before, writing));
    }

    /// Waits for a summary that was begun before, if there is one, and accepts it. A call that is
    /// cancelled meanwhile leaves it to the next one.
    async fn accept_running(&mut self) -> Result<bool, CallError> {
        let Some(ahead) = self.ahead.clone() else { return Ok(false) };
        let Some((mut job, given_up)) = ahead.take(self.chat()) else { return Ok(false) };
        let cancel = self.input.cancel.clone();
        match unless_cancelled(&cancel, OPERATION, job.written()).await {
            Ok(written) => Ok(self.accept_job(&job, written)),
            Err(cancelled) => {
                ahead.put_back(self.chat(), (job, given_up));
                Err(cancelled.into())
            }
        }
    }

    /// Accepts a summary that was begun before and is ready. Nothing is waited for.
    pub(super) fn accept_finished(&mut self) {
        let ready = self.ahead.as_ref().and_then(|ahead| ahead.take_ready(self.chat()));
        if let Some((job, written)) = ready {
            self.accept_job(&job, written);
        }
    }

    /// Accepts a summary that was begun before, if the history has only grown since. Returns
    /// whether it shortened the history.
    fn accept_job(&mut self, job: &SummaryJob, written: Option<WrittenSummary>) -> bool {
        let answer = match written {
            Some(written) => {
                self.spent(&written);
                written.reply.map_err(|error| SummaryError::Failed(error.to_string()))
            }
            None => Err(SummaryError::Failed("its task ended without an answer".to_owned())),
        };
        let accepted = answer.and_then(|answer| match job.begins(self.input.history()) {
            true => self.accept(&job.task, &answer, job.before),
            false => Err(SummaryError::Stale),
        });
        let Err(error) = accepted else { return true };
        let is_stale = matches!(error, SummaryError::Stale | SummaryError::NotAsked);
        self.failed(&error, if is_stale { Severity::Info } else { Severity::Warning });
        false
    }

    /// Replaces what a summary covers with it. The summary is of the conversation as it was passed
    /// to the runtime; cuts of other stages are part of what comes back.
    fn accept(
        &mut self,
        task: &SummaryTask,
        answer: &Answer,
        before: u64,
    ) -> Result<(), SummaryError> {
        let (chat, messages) = (&self.input.turn.chat, &self.input.request.messages);
        let rewrite = self.runtime.accept_summary(chat, messages, task, answer)?;
        self.input.rewrite = Some(rewrite);
        let stays = task.keeps.iter().filter(|at| task.covers.contains(at)).count();
        let covered = task.covers.len().saturating_sub(stays);
        let report = PlanReport::forced(
            task.policy,
            BoundaryKind::Compact,
            (before, self.history_tokens()),
            format!("{covered} messages into a checkpoint"),
            "a model wrote the summary",
        );
        self.cut_by(report);
        Ok(())
    }

    /// Returns the tokens of the history that is summarised.
    fn tokens_before(&self, context: &ModelContext) -> u64 {
        let cut = context.rewrite.as_ref();
        let history = cut.map_or(self.input.history(), |cut| &cut.messages);
        self.counter.count_messages(history).tokens()
    }

    /// Reports a summary that was not made or not accepted. The runtime knows of the latter.
    fn failed(&mut self, error: &SummaryError, severity: Severity) {
        if matches!(error, SummaryError::Failed(_)) {
            self.runtime.summary_failed(self.chat());
        }
        self.record.diagnostics.push(Diagnostic::new(
            DiagnosticCode::CompactSummaryFailed,
            severity,
            "history",
            format!("the history was not changed: {error}"),
        ));
    }
}

/// Whether a request in another form may succeed where this error was the answer.
fn another_form_may_help(error: &ModelError) -> bool {
    use ModelErrorCode::{Authentication, Billing, ModelNotFound};
    !error.retryable && !matches!(error.code, Authentication | Billing | ModelNotFound)
}
