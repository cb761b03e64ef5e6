//! Planted faults of the store and of the recorder, which strike at the end of a turn.

use std::sync::Arc;

use context_runtime::removal::{Redaction, RemovalOptions, redact_messages};
use context_runtime::store::RoundCommit;
use context_runtime::trajectory::AgentRef;
use context_runtime::{Clock, Result};

use super::{World, chat_ref};
use crate::failure::DayFailure;
use crate::planted::PlantedDefect;
use crate::scene::ChatSlot;

/// The rounds that a turn leaves open.
const LEFT_OPEN: usize = 12;

impl World {
    pub(super) fn plant(&mut self, slot: ChatSlot) -> std::result::Result<(), DayFailure> {
        match self.around.planted {
            Some(PlantedDefect::KeepsRoundsOpen) => {
                (0..LEFT_OPEN).try_for_each(|_| self.round(slot.user).map(drop))
            }
            Some(PlantedDefect::LosesMessages) => self.lose_newest(slot),
            Some(PlantedDefect::DamagesRounds) => self.damage_round(slot),
            _ => Ok(()),
        }
    }

    fn lose_newest(&mut self, slot: ChatSlot) -> std::result::Result<(), DayFailure> {
        let Some((newest, _)) = self.nodes(slot)?.pop() else { return Ok(()) };
        let (chat, now) = (chat_ref(slot.user, slot.chat_name()), self.around.clock.now());
        let process = self.process()?;
        let raw = Arc::clone(&process.raw);
        let lost = process.run(async move {
            let (words, options) = (Redaction::Words, RemovalOptions::at(now));
            redact_messages(&*raw, &chat, &[newest], words, &options).await.map(drop)
        });
        planted(lost)
    }

    /// Writes a round whose head names a node that there is not.
    fn damage_round(&mut self, slot: ChatSlot) -> std::result::Result<(), DayFailure> {
        let key = format!("damage{}", self.marker(slot.user).number);
        let process = self.process()?;
        let raw = Arc::clone(&process.raw);
        let agent = AgentRef::main(slot.user_name(), slot.chat_name());
        let damaged = process.run(async move {
            let Some(rounds) = raw.trajectories() else { return Result::<_>::Ok(()) };
            let Some(newest) = rounds.load_rounds(&agent, 0..=u32::MAX).await?.pop() else {
                return Ok(());
            };
            let mut head = newest.head;
            head.revision += 1;
            head.query = Some(head.next);
            rounds.record_round(&RoundCommit::new(key, Vec::new(), head)).await.map(drop)
        });
        planted(damaged)
    }
}

fn planted(ran: Option<Result<()>>) -> std::result::Result<(), DayFailure> {
    match ran {
        Some(Ok(())) => Ok(()),
        Some(Err(error)) => Err(DayFailure::unexpected("a planted fault", error)),
        None => Err(DayFailure::unexpected("a planted fault", "it hung")),
    }
}
