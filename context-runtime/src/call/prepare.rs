//! Preparing a request: open decisions are carried out, the runtime prepares, and a summary is made
//! if it helps.

use context_core::base::{DiagnosticCode, Severity};
use context_core::history::{Attempt, BoundaryKind, PlanReport, SummaryError, SummaryTask};
use context_core::runtime::ModelContext;
use context_core::{Answer, Diagnostic};

use tracing::Instrument;

use super::recover::MOST_DECISIONS;
use super::reply::State;
use super::{CallError, ModelCall, OPERATION, SentRequest, cost_usd};
use crate::cancellable::unless_cancelled;
use crate::observer::BegunCall;
use crate::trace;

impl ModelCall<'_> {
    /// Returns the next request before it is lowered, or `None` once the call is answered.
    pub(crate) async fn prepared(&mut self) -> Result<Option<ModelContext>, CallError> {
        let prepared = self.try_prepared().await;
        if prepared.is_err() {
            self.state = State::Over;
        }
        prepared
    }

    async fn try_prepared(&mut self) -> Result<Option<ModelContext>, CallError> {
        self.input.cancel.check(OPERATION)?;
        self.events_ended();
        match std::mem::replace(&mut self.state, State::Ready) {
            State::Ready => {}
            State::Failed(error) => self.recover(*error).await?,
            State::Unusable(answer) => self.retry_unusable(answer).await?,
            State::CutOff(answer) => self.grow_output(answer)?,
            State::Broken(answer, error) => self.recover_broken(answer, *error).await?,
            State::Answered(answer) => {
                self.state = State::Answered(answer);
                return Ok(None);
            }
            State::Over => {
                self.state = State::Over;
                return Err(CallError::over());
            }
        }
        if self.answer().is_some() {
            return Ok(None);
        }
        self.check_calls()?;
        // A request that nobody answered is lost.
        self.begun = None;
        let mut context = self.context().await?;
        for _ in 0..MOST_DECISIONS {
            // If the compaction was vetoed, the next decision follows, and not the same request.
            let error = self.record.last_error.clone();
            let Some(error) = error.filter(|_| std::mem::take(&mut self.record.uncut)) else {
                break;
            };
            self.recover(error).await?;
            context = self.context().await?;
        }
        context.plans.append(&mut self.record.vetoed);
        self.record.restarted |= std::mem::take(&mut self.record.shown);
        self.record.calls += 1;
        self.record.sent = Some(SentRequest {
            tokens: context.breakdown.total().tokens(),
            outside: context.breakdown.outside().tokens(),
            max_output: context.request.max_output_tokens,
            window: context.budget.map(|budget| budget.window),
            reused: context.prefix.reused,
        });
        let asked = (self.provider(), self.model());
        self.begun = BegunCall::new(&self.observers, &self.input.turn, asked, false);
        Ok(Some(context))
    }

    pub(super) fn check_calls(&mut self) -> Result<(), CallError> {
        if self.record.calls < self.options.max_calls.max(1) {
            return Ok(());
        }
        let error = self.record.last_error.take().map(Box::new);
        Err(CallError::Exhausted { calls: self.record.calls, error })
    }

    /// Returns what the runtime prepares, with a summary if the runtime wants one and one can be
    /// made.
    async fn context(&mut self) -> Result<ModelContext, CallError> {
        let mut context = self.asked().await?;
        if let Some(task) = context.summary.take()
            && let Some(answer) = self.summary(&task).await?
        {
            // The summary is of the conversation as it was passed to the runtime. Cuts of other
            // stages are part of what comes back.
            let (chat, messages) = (&self.input.turn.chat, &self.input.request.messages);
            match self.runtime.accept_summary(chat, messages, &task, &answer) {
                Ok(rewrite) => {
                    let summarised = context
                        .rewrite
                        .as_ref()
                        .map_or(self.input.history(), |other| &other.messages);
                    let before = self.counter.count_messages(summarised).tokens();
                    self.input.rewrite = Some(rewrite);
                    let report = self.summarised(&task, before);
                    self.cut_by(report);
                    context = self.asked().await?;
                }
                Err(error) => self.summary_failed(&error),
            }
        }
        self.adopt(&context);
        // The cut of last resort follows if the compaction did not make the history smaller.
        if let Some(before) = self.record.uncompacted.take()
            && self.history_tokens() >= before
        {
            let vetoed = self.record.vetoed.len();
            if self.cut_instead() {
                context = self.asked().await?;
                self.adopt(&context);
            }
            self.record.uncut = self.record.vetoed.len() > vetoed;
        }
        self.close_attempt();
        Ok(context)
    }

    async fn asked(&mut self) -> Result<ModelContext, CallError> {
        let input = self.input.clone();
        let cancel = input.cancel.clone();
        let context =
            unless_cancelled(&cancel, OPERATION, self.runtime.prepare_for_model(input)).await??;
        self.record.plans.extend(context.plans.iter().filter(|plan| plan.applied).cloned());
        self.record.diagnostics.extend(context.diagnostics.iter().cloned());
        Ok(context)
    }

    fn adopt(&mut self, context: &ModelContext) {
        if let Some(rewrite) = &context.rewrite {
            self.input.rewrite = Some(rewrite.clone());
        }
    }

    /// Returns the answer to a summary task. Requires a summary model, a call to spare besides the
    /// request itself, and that none was requested yet.
    async fn summary(&mut self, task: &SummaryTask) -> Result<Option<Answer>, CallError> {
        let spare = self.record.calls.saturating_add(1) < self.options.max_calls;
        let Some(model) = self.summaries.as_ref().filter(|_| spare && !self.record.summarised)
        else {
            return Ok(None);
        };
        let mut request = task.request.clone();
        request.model.get_or_insert_with(|| model.name().to_owned());
        (self.record.summarised, self.record.calls) = (true, self.record.calls + 1);
        let cancel = self.input.cancel.clone();
        let span = trace::call(self.chat(), self.provider(), model.name());
        let asked = (self.provider(), model.name());
        let begun = BegunCall::new(&self.observers, &self.input.turn, asked, true);
        let asking = model.complete(&request, &cancel).instrument(span.clone());
        let reply = unless_cancelled(&cancel, OPERATION, asking).await?;
        cancel.check(OPERATION)?;
        let usage = reply.as_ref().ok().and_then(|answer| answer.usage);
        let cost = usage.and_then(|usage| cost_usd(model.name(), &usage));
        if let Some(usage) = &usage {
            trace::record_usage(&span, usage);
            self.record.spend(usage, cost);
        }
        let reply = match reply {
            Ok(Answer { error: Some(error), .. }) => Err(error),
            reply => reply,
        };
        if let Some(begun) = begun {
            begun.replied(usage, cost, reply.as_ref().err().map(|error| error.code));
        }
        let failed = match reply {
            Ok(answer) => return Ok(Some(answer)),
            Err(error) => error,
        };
        self.runtime.summary_failed(&self.input.turn.chat);
        self.summary_failed(&SummaryError::Failed(failed.to_string()));
        Ok(None)
    }

    /// Returns the report of an accepted summary. The plan itself stays with the policy.
    fn summarised(&self, task: &SummaryTask, before: u64) -> PlanReport {
        let stays = task.keeps.iter().filter(|at| task.covers.contains(at)).count();
        let summary =
            format!("{} messages into a checkpoint", task.covers.len().saturating_sub(stays));
        let tokens = (before, self.history_tokens());
        PlanReport::forced(
            task.policy,
            BoundaryKind::Compact,
            tokens,
            summary,
            "a model wrote the summary",
        )
    }

    fn summary_failed(&mut self, error: &SummaryError) {
        self.record.diagnostics.push(Diagnostic::new(
            DiagnosticCode::CompactSummaryFailed,
            Severity::Warning,
            "history",
            format!("the history was not changed: {error}"),
        ));
    }

    /// Records the outcome of the last decision.
    fn close_attempt(&mut self) {
        if let Some((decision, before)) = self.record.open.take() {
            let after = self.history_tokens();
            self.record.attempts.push(Attempt::new(decision, before, after));
        }
    }
}
