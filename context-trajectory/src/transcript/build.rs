//! From steps to rounds: one by one through a recorder, or all at once.

use context_core::trajectory::AgentRef;
use context_core::trajectory::{Round, RoundState};

use super::{Transcript, TranscriptEvent, TranscriptRound, TranscriptStep};
use crate::turn::{self, find_call};
use crate::{OpenRound, RecordError, Turn};

impl Transcript {
    /// The rounds of an agent, from round 0, at the times of the messages. None is open, because
    /// nobody works on a conversation that was had: one that was answered is closed, as is the last
    /// one if all it called has results; any other is interrupted.
    pub fn build(&self, agent: &AgentRef) -> Result<Vec<Round>, RecordError> {
        let mut rounds: Vec<Round> = Vec::with_capacity(self.rounds.len());
        for (number, source) in (0_u32..).zip(&self.rounds) {
            let mut round = Round::new(agent.round(number), source.asked_at);
            if let Some(earlier) = rounds.last() {
                round = round.continuing(&earlier.head());
            }
            source.record(&mut round)?;
            let is_last = rounds.len() + 1 == self.rounds.len();
            let ended = source.answered || is_last && source.finished;
            let state = if ended { RoundState::Closed } else { RoundState::Interrupted };
            let updated_at = round.head().updated_at;
            round.set_state(state, updated_at);
            rounds.push(round);
        }
        Ok(rounds)
    }
}

impl TranscriptRound {
    fn record(&self, round: &mut Round) -> Result<(), RecordError> {
        round.ask(self.query.clone(), self.asked_at)?;
        for step in &self.steps {
            match &step.event {
                TranscriptEvent::Turn(turn) => {
                    turn::record(round, Turn::clone(turn), step.at, &mut Vec::new())?;
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
    /// Records a step of a transcript, now.
    pub async fn record_step(&self, step: &TranscriptStep) -> Result<(), RecordError> {
        match &step.event {
            TranscriptEvent::Turn(turn) => self.turn(Turn::clone(turn)).await.map(drop),
            TranscriptEvent::Result { call, changes } => {
                self.tool_result_with(call, changes.clone()).await.map(drop)
            }
        }
    }
}
