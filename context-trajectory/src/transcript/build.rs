//! Building rounds from steps, at once or step by step through a recorder.

use context_core::trajectory::{AgentRef, Round, RoundState};

use super::{Transcript, TranscriptEvent, TranscriptRound, TranscriptStep};
use crate::step::{self, find_call};
use crate::{OpenRound, RecordError, Step};

impl Transcript {
    /// Builds the rounds of an agent from round 0 on, with the times of the messages. No round is
    /// left open, since the conversation is over. A round that was answered is closed, and so is
    /// the last one if all its calls have results. Any other round is interrupted.
    pub fn build(&self, agent: &AgentRef) -> Result<Vec<Round>, RecordError> {
        let mut rounds: Vec<Round> = Vec::with_capacity(self.rounds.len());
        for (number, source) in (0_u32..).zip(&self.rounds) {
            let mut round = Round::new(agent.round(number), source.asked_at);
            if let Some(earlier) = rounds.last() {
                round = round.continuing(&earlier.head());
            }
            let is_last = rounds.len() + 1 == self.rounds.len();
            source.build(&mut round, is_last)?;
            rounds.push(round);
        }
        Ok(rounds)
    }
}

impl TranscriptRound {
    /// Records everything in a new round and ends it.
    pub(crate) fn build(&self, round: &mut Round, is_last: bool) -> Result<(), RecordError> {
        self.record(round)?;
        let ended = self.answered || is_last && self.finished;
        let state = if ended { RoundState::Closed } else { RoundState::Interrupted };
        let updated_at = round.head().updated_at;
        round.set_state(state, updated_at);
        Ok(())
    }

    fn record(&self, round: &mut Round) -> Result<(), RecordError> {
        round.ask(self.query.clone(), self.asked_at)?;
        for step in &self.steps {
            match &step.event {
                TranscriptEvent::Answer(answer) => {
                    step::record(round, Step::clone(answer), step.at, &mut Vec::new())?;
                }
                TranscriptEvent::Result { call, changes } => {
                    let unknown = || RecordError::UnknownCall { call: (**call).into() };
                    let action = find_call(round, call).ok_or_else(unknown)?.id;
                    round.change(action, changes, None, step.at)?;
                }
            }
        }
        Ok(())
    }
}

impl OpenRound {
    /// Records a step of a transcript with the current time.
    pub async fn record_step(&self, step: &TranscriptStep) -> Result<(), RecordError> {
        match &step.event {
            TranscriptEvent::Answer(answer) => self.step(Step::clone(answer)).await.map(drop),
            TranscriptEvent::Result { call, changes } => {
                self.tool_result_with(call, changes.clone()).await.map(drop)
            }
        }
    }
}
