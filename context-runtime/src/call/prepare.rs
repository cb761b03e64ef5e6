//! Preparing a request: open decisions are carried out, the runtime prepares, and a summary is made
//! if it helps.

use context_core::history::Attempt;
use context_core::runtime::{ModelContext, SummariesAhead};

use super::recover::MOST_DECISIONS;
use super::reply::State;
use super::{CallError, ModelCall, OPERATION, SentRequest};
use crate::cancellable::unless_cancelled;
use crate::observer::BegunCall;

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
        self.accept_finished();
        let mut context = self.asked(self.ahead_mode()).await?;
        if let Some(task) = context.summary.take()
            && self.summarised(task, &context).await?
        {
            context = self.asked(SummariesAhead::Never).await?;
        }
        self.adopt(&context);
        // The cut of last resort follows if the compaction did not make the history smaller.
        if let Some(before) = self.record.uncompacted.take()
            && self.history_tokens() >= before
        {
            let vetoed = self.record.vetoed.len();
            if self.cut_instead() {
                context = self.asked(SummariesAhead::Never).await?;
                self.adopt(&context);
            }
            self.record.uncut = self.record.vetoed.len() > vetoed;
        }
        self.close_attempt();
        Ok(context)
    }

    async fn asked(&mut self, ahead: SummariesAhead) -> Result<ModelContext, CallError> {
        let mut input = self.input.clone();
        input.ahead = ahead;
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

    /// Records the outcome of the last decision.
    fn close_attempt(&mut self) {
        if let Some((decision, before)) = self.record.open.take() {
            let after = self.history_tokens();
            self.record.attempts.push(Attempt::new(decision, before, after));
        }
    }
}
