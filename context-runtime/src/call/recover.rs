//! Recovering from a refusal or an unusable answer.

use std::time::Duration;

use context_core::base::{DiagnosticCode, Severity};
use context_core::history::{Attempt, RecoveryDecision};
use context_core::model::Usage;
use context_core::runtime::{RecoveryInput, TurnRef};
use context_core::{Answer, Diagnostic, ModelError};

use super::reply::State;
use super::{CallError, INCOMPLETE, ModelCall, OPERATION};
use crate::cancellable::unless_cancelled;
use crate::raised_output;

/// The maximum number of decisions per refusal. A decision that changes nothing is followed by a
/// request for another.
pub(super) const MOST_DECISIONS: usize = 8;

impl ModelCall<'_> {
    /// Changes the next request, or waits until the same request may succeed.
    pub(super) async fn recover(&mut self, error: ModelError) -> Result<(), CallError> {
        self.record.last_error = Some(error.clone());
        if error.retryable {
            return self.wait(error).await;
        }
        self.learn(&error);
        for _ in 0..MOST_DECISIONS {
            let input = self.recovery_input(&error);
            let cancel = self.input.cancel.clone();
            let asked = self.runtime.recover_from_model_error(input);
            let decision = match unless_cancelled(&cancel, OPERATION, asked).await? {
                Ok(decision) => decision,
                Err(failed) => {
                    cancel.check(OPERATION)?;
                    return Err(self.refused(error, format!("the recovery failed: {failed}")));
                }
            };
            if !decision.retries() {
                let reason = decision.reason().to_owned();
                return Err(self.refused(error, reason));
            }
            let before = self.history_tokens();
            if self.carry_out(&decision, &error) {
                self.applied(&decision);
                self.record.open = Some((decision, before));
                return Ok(());
            }
            self.record.attempts.push(Attempt::new(decision, before, before));
        }
        Err(self.refused(error, "no recovery decision changed the request"))
    }

    /// Decides about an answer that broke off after a usable part: it is requested again, or the
    /// part is the answer, marked as incomplete.
    pub(super) async fn recover_broken(
        &mut self,
        mut answer: Box<Answer>,
        error: ModelError,
    ) -> Result<(), CallError> {
        self.record.last_error = Some(error.clone());
        let mut input = self.recovery_input(&error);
        input.partial = Some(answer.message.clone());
        let cancel = self.input.cancel.clone();
        let asked = self.runtime.recover_from_model_error(input);
        let decision = unless_cancelled(&cancel, OPERATION, asked).await??;
        let tokens = self.history_tokens();
        match decision {
            RecoveryDecision::AcceptPartial { .. } => {}
            RecoveryDecision::RetryUnchanged { .. } => {
                // A call that may not be repeated ends with what it has.
                if let Some(wait) = self.next_wait(error.retry_after) {
                    self.record.retries += 1;
                    self.applied(&decision);
                    self.record.attempts.push(Attempt::new(decision, tokens, tokens));
                    return self.pause(wait).await;
                }
            }
            decision if decision.retries() && self.carry_out(&decision, &error) => {
                self.applied(&decision);
                self.record.open = Some((decision, tokens));
                return Ok(());
            }
            decision => return Err(self.refused(error, decision.reason())),
        }
        self.applied(&decision);
        self.record.attempts.push(Attempt::new(decision, tokens, tokens));
        answer.complete = false;
        answer.message.metadata.insert(INCOMPLETE, error.code.as_str());
        self.state = State::Answered(answer);
        Ok(())
    }

    /// Returns the wait before the same request is sent once more. `None` if it may not be.
    fn next_wait(&self, asked: Option<Duration>) -> Option<Duration> {
        let may = self.record.retries < self.options.retries
            && self.record.calls < self.options.max_calls;
        self.options.wait(self.record.retries, asked).filter(|_| may)
    }

    fn applied(&mut self, decision: &RecoveryDecision) {
        self.record.diagnostics.push(Diagnostic::new(
            DiagnosticCode::RecoveryApplied,
            Severity::Info,
            "history",
            format!("{}: {}", decision.kind(), decision.reason()),
        ));
    }

    fn recovery_input(&self, error: &ModelError) -> RecoveryInput {
        let TurnRef { chat, id: turn, .. } = &self.input.turn;
        let messages = self.input.history().clone();
        let mut input = RecoveryInput::new(chat, turn, error.clone(), messages);
        input.has_attempted_compact =
            self.record.attempts.iter().any(|attempt| cuts(&attempt.decision));
        input.attempts = Some(self.record.attempts.clone());
        input.supports_all_decisions = true;
        input
    }

    /// Sends a request again whose answer has no usable part.
    pub(super) async fn retry_unusable(&mut self, answer: Box<Answer>) -> Result<(), CallError> {
        if self.record.retries >= self.options.retries
            || self.record.calls >= self.options.max_calls
        {
            return Err(CallError::NoAnswer { calls: self.record.calls, answer });
        }
        self.record.retries += 1;
        Ok(())
    }

    /// Requests more output after an answer was cut off.
    pub(super) fn grow_output(&mut self, answer: Box<Answer>) -> Result<(), CallError> {
        match self.grown_output() {
            Some(cap) if self.record.calls < self.options.max_calls => {
                self.record.output_grown = true;
                self.input.request.max_output_tokens = Some(cap);
                Ok(())
            }
            _ => Err(CallError::NoAnswer { calls: self.record.calls, answer }),
        }
    }

    /// Returns the output limit that replaces the one at which the answer was cut off.
    pub(super) fn grown_output(&self) -> Option<u64> {
        let may = self.options.grow_output
            && !self.record.output_grown
            && self.record.calls < self.options.max_calls;
        let cap = self.input.request.max_output_tokens.filter(|_| may)?;
        let most = self.record.lasting_output.or(self.max_output);
        // At most the room left by what was sent: the history is not cut for it.
        let room = self.record.sent.and_then(|sent| Some(sent.window?.saturating_sub(sent.tokens)));
        raised_output(Some(cap), most.into_iter().chain(room).min())
    }

    async fn wait(&mut self, error: ModelError) -> Result<(), CallError> {
        if self.record.retries >= self.options.retries {
            let reason = format!("tried again {} times", self.record.retries);
            return Err(self.refused(error, reason));
        }
        let Some(wait) = self.options.wait(self.record.retries, error.retry_after) else {
            let seconds = error.retry_after.unwrap_or(Duration::MAX).as_secs();
            return Err(self.refused(error, format!("the provider asks to wait {seconds} seconds")));
        };
        // Checked first, so that the call does not wait for a request it may not send.
        self.check_calls()?;
        self.record.retries += 1;
        self.pause(wait).await
    }

    /// Waits, or leaves the wait to the program.
    async fn pause(&mut self, wait: Duration) -> Result<(), CallError> {
        if self.options.sleep {
            unless_cancelled(&self.input.cancel, OPERATION, tokio::time::sleep(wait)).await?;
        } else {
            self.record.wait = wait;
        }
        Ok(())
    }

    /// Reports the real token count of the request, as the refusal names it, to the runtime.
    fn learn(&mut self, error: &ModelError) {
        if let (Some(input), Some(_)) = (error.input_tokens, self.record.sent) {
            let mut usage = Usage::default();
            usage.input = input;
            self.runtime.observe_usage(&self.input.turn.chat, &usage);
        }
    }

    fn refused(&self, error: ModelError, reason: impl Into<String>) -> CallError {
        CallError::refused(error, reason, self.record.calls)
    }
}

/// Whether a decision makes the history smaller.
fn cuts(decision: &RecoveryDecision) -> bool {
    matches!(
        decision,
        RecoveryDecision::TruncateHeadAndRetry { .. } | RecoveryDecision::CompactAndRetry { .. }
    )
}
