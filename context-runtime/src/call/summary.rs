//! Summaries: requested when they are needed, or ahead of that while the conversation goes on.

use std::sync::Arc;

use context_core::base::{DiagnosticCode, Severity};
use context_core::history::{BoundaryKind, PlanReport, SummaryError, SummaryTask};
use context_core::model::{LanguageModel, ModelErrorCode};
use context_core::runtime::{ModelContext, SummariesAhead};
use context_core::{Answer, Diagnostic, ModelError, ModelRequest};

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
            self.summarise_ahead(model, task, context);
            return Ok(false);
        }
        if let Some(job) = self.ahead.as_ref().and_then(|ahead| ahead.take(self.chat())) {
            let cancel = self.input.cancel.clone();
            let (job, written) = unless_cancelled(&cancel, OPERATION, job.written()).await?;
            if self.accept_job(&job, written) {
                return Ok(true);
            }
        }
        let before = self.tokens_before(context);
        // A model that goes on with the conversation instead is shown it as a quotation.
        for request in [task.continued.as_deref(), Some(&task.request)].into_iter().flatten() {
            let is_last = std::ptr::eq(request, &task.request);
            let is_for_model = request.model.as_deref().is_none_or(|name| name == model.name());
            if !is_for_model || !self.has_spare_call() || self.record.summarised {
                continue;
            }
            self.record.summarised = is_last;
            let answer = self.ask_for_summary(&model, request).await?;
            let may_help = answer.as_ref().err().is_none_or(another_form_may_help);
            let accepted = answer.map_err(|error| SummaryError::Failed(error.to_string()));
            let Err(error) = accepted.and_then(|answer| self.accept(&task, &answer, before)) else {
                self.record.summarised = true;
                return Ok(true);
            };
            self.failed(&error, Severity::Warning);
            if !may_help || matches!(error, SummaryError::TooLarge { .. } | SummaryError::Plan(_)) {
                self.record.summarised = true;
            }
        }
        Ok(false)
    }

    /// Asks a model for a summary.
    async fn ask_for_summary(
        &mut self,
        model: &Arc<dyn LanguageModel>,
        request: &ModelRequest,
    ) -> Result<Result<Answer, ModelError>, CallError> {
        self.record.calls += 1;
        let mut request = request.clone();
        request.model.get_or_insert_with(|| model.name().to_owned());
        let cancel = self.input.cancel.clone();
        let begun = self.summary_begun(model.name());
        let turn = self.input.turn.clone();
        let names = (self.provider().to_owned(), model.name().to_owned());
        let writing =
            WrittenSummary::write(Arc::clone(model), request, (turn, names), begun, cancel.clone());
        let written = unless_cancelled(&cancel, OPERATION, writing).await?;
        cancel.check(OPERATION)?;
        if let Some(usage) = &written.usage {
            self.record.spend(usage, written.cost_usd);
        }
        Ok(written.reply)
    }

    fn summary_begun(&self, model: &str) -> Option<BegunCall> {
        BegunCall::new(&self.observers, &self.input.turn, (self.provider(), model), true)
    }

    /// Begins a summary that nobody waits for.
    fn summarise_ahead(
        &mut self,
        model: Arc<dyn LanguageModel>,
        task: Box<SummaryTask>,
        context: &ModelContext,
    ) {
        let Some(ahead) = self.ahead.clone().filter(|_| self.has_spare_call()) else { return };
        self.record.calls += 1;
        let mut request = task.request_for(model.name()).clone();
        request.model.get_or_insert_with(|| model.name().to_owned());
        let before = self.tokens_before(context);
        let shown = context.rewrite.as_ref().map_or(self.input.history(), |cut| &cut.messages);
        let (shown, begun) = (shown.to_vec(), self.summary_begun(model.name()));
        let names = (self.provider().to_owned(), model.name().to_owned());
        let named = (self.input.turn.clone(), names);
        // The turn may be cancelled, and the next one still wants the summary.
        let cancel = context_core::CancelSignal::never();
        let writing = WrittenSummary::write(model, request, named, begun, cancel);
        ahead.begin(self.chat(), SummaryJob::new(task, shown, before, tokio::spawn(writing)));
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
        let Some(written) = written else { return false };
        if let Some(usage) = &written.usage {
            self.record.spend(usage, written.cost_usd);
        }
        let answer = written.reply.map_err(|error| SummaryError::Failed(error.to_string()));
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
