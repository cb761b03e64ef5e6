//! The end of a turn, in one order for every way out: what arrived is stored, the memory captures
//! it, descriptions are waited for, the round and the stream are closed.

use context_core::store::StreamEnd;
use context_core::trajectory::RoundState;
use context_core::{ContextRuntime, Result};

use super::results::Unanswered;
use super::{Phase, Turn};
use crate::agents::{TurnAnswer, TurnError, TurnOutcome, TurnReport};
use crate::observer::TurnEvent;

impl Turn<'_> {
    /// Ends the turn and returns the answer. Call it once [`next`](Self::next) has returned `None`;
    /// before that the turn ends as interrupted, with [`TurnError::Unanswered`].
    pub async fn finish(mut self) -> Result<TurnAnswer, TurnError> {
        self.events_ended();
        if let Phase::Asked(asked) = &self.phase
            && asked.call.answer().is_some()
            && let Err(error) = self.accept().await
        {
            return Err(self.fail(error).await);
        }
        let is_answered = matches!(self.phase, Phase::Answered);
        let Some((id, message)) = self.answer.clone().filter(|_| is_answered) else {
            return Err(self.fail(TurnError::Unanswered).await);
        };
        self.end(TurnOutcome::Answered, StreamEnd::Completed).await?;
        let turn = self.id.clone();
        Ok(TurnAnswer { turn, id, message, report: self.report() })
    }

    /// Cancels the turn. What arrived is stored; the result of a tool that was called and did not
    /// run says so, as does [`TurnReport::not_run`].
    pub async fn cancel(mut self) -> Result<TurnReport, TurnError> {
        self.end(TurnOutcome::Interrupted, StreamEnd::Cancelled).await?;
        Ok(self.report())
    }

    /// Leaves the turn open, to be [resumed](crate::AgentChat::resume) in this process or another.
    /// An answer and the results that arrived are stored and recorded first; calls without a result
    /// stay open. Returns what this part of the turn used and did.
    ///
    /// For a program that cannot keep a turn in memory from a request to the model's reply: a
    /// server of which each request may reach another process.
    pub async fn suspend(mut self) -> Result<TurnReport, TurnError> {
        self.events_ended();
        if let Err(error) = self.save_arrived().await {
            return Err(self.fail(error).await);
        }
        self.recorder.record_response().await;
        self.engine.write_in(None);
        let report = self.report();
        self.phase = Phase::Ended; // an open call ends first
        self.tell(&TurnEvent::TurnEnded { report: &report });
        Ok(report)
    }

    /// Stores and records the answer, and the results of its calls as far as there are any.
    async fn save_arrived(&mut self) -> Result<(), TurnError> {
        self.save_calls().await?;
        match &self.phase {
            Phase::Called(_) if !self.results.is_empty() => {
                self.give_results(Unanswered::StayOpen).await
            }
            _ => Ok(()),
        }
    }

    /// Ends the turn because of an error, and returns the error. A further error on the way out is
    /// logged.
    pub(in crate::agents) async fn fail(&mut self, error: TurnError) -> TurnError {
        let (outcome, end) = match error.is_cancelled() || matches!(error, TurnError::Unanswered) {
            true => (TurnOutcome::Interrupted, StreamEnd::Cancelled),
            false => (TurnOutcome::Failed, StreamEnd::Failed(error.to_string())),
        };
        if let Err(further) = self.end(outcome, end).await {
            let chat = &self.engine.chat_ref().chat;
            tracing::warn!(%chat, error = %further, "a failed turn was not ended in order");
        }
        error
    }

    async fn end(&mut self, outcome: TurnOutcome, end: StreamEnd) -> Result<(), TurnError> {
        if matches!(self.phase, Phase::Ended) {
            return Ok(());
        }
        let saved = self.save_rest().await;
        self.engine.write_in(None);
        self.phase = Phase::Ended;
        // What comes next can take long, and what is known of the answer is in memory only.
        if self.parts.runtime.captures_turns() || self.parts.portraits.is_some() {
            self.recorder.record_response().await;
        }
        let captured = self.capture(outcome).await;
        self.await_descriptions().await;
        let state = match outcome {
            TurnOutcome::Answered => RoundState::Closed,
            _ => RoundState::Interrupted,
        };
        *self.closed = self.recorder.end(state).await;
        self.deltas.end(end).await;
        self.report.ended(outcome, self.began);
        self.tell(&TurnEvent::TurnEnded { report: &self.report() });
        saved?;
        Ok(captured?)
    }

    /// Stores what arrived: the answer, and the results of its calls.
    async fn save_rest(&mut self) -> Result<(), TurnError> {
        if let Phase::Asked(asked) = &mut self.phase {
            asked.call.events_ended();
            match asked.call.answer().is_some() {
                true => self.accept().await?,
                false => {
                    let unanswered = std::mem::replace(&mut self.phase, Phase::Ready);
                    if let Phase::Asked(asked) = unanswered {
                        self.report.add_call(&asked.call);
                    }
                }
            }
        }
        if let Phase::Called(_) = &self.phase {
            self.give_results(Unanswered::SayNotRun).await?;
        }
        self.engine.save().await?;
        Ok(())
    }

    async fn capture(&mut self, outcome: TurnOutcome) -> Result<()> {
        let runtime = &self.parts.runtime;
        if !runtime.captures_turns() {
            return Ok(());
        }
        let began_with = match self.began_with.take() {
            Some(began_with) => began_with,
            None => self.engine.resolve().await?,
        };
        // What a cut took out of the window within the turn is in the chat, and nowhere else.
        let stored = self.engine.stored_from(&self.id).await?;
        let mut input = began_with.capture_with(&stored);
        input.errored = outcome != TurnOutcome::Answered;
        self.report.diagnostics.extend(runtime.capture_turn(input).await?);
        Ok(())
    }

    async fn await_descriptions(&mut self) {
        let (Some(portraits), Some(round)) = (&self.parts.portraits, self.recorder.round()) else {
            return;
        };
        if let Err(error) = portraits.schedule(round).await {
            tracing::warn!(%error, "data of a turn was not described");
        }
        let described = portraits.await_all(self.parts.portrait_limit).await;
        self.report.descriptions_pending = described.pending;
    }
}
