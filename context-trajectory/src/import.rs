//! Rounds that are whole already, written once.

use context_core::IdGenerator;
use context_core::store::{RecordOutcome, RoundCommit};
use context_core::trajectory::{Change, RoundRecord};

use crate::catch_up;
use crate::{RecordError, Trajectories};

/// What an import of a round did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RoundImported {
    /// The round was not there, and is.
    New,
    /// The beginning of the round was there; what was missing is there now.
    Extended,
    /// The round was there, or it and more: nothing was written.
    Unchanged,
    /// Another round has the number: nothing was written.
    Taken,
}

impl Trajectories {
    /// Writes a round as it is, times and versions too, to every channel. What is there of it is
    /// added to; a round that is not an earlier state of it stays as it is. To import the same
    /// again changes nothing, also after an import that was cut off. Revisions count commits, so
    /// that of the round is not kept.
    ///
    /// Not for a round that somebody records: who has it open is
    /// [superseded](RecordError::Superseded).
    pub async fn import(&self, round: &RoundRecord) -> Result<RoundImported, RecordError> {
        let channels = self.channels();
        let reference = &round.head.round;
        let there = channels.restore(reference).await?;
        let (outcome, commits) = plan(there, round.clone(), &*channels.keys);
        for commit in &commits {
            for channel in &channels.all {
                match channel.store()?.record_round(commit).await? {
                    RecordOutcome::Applied | RecordOutcome::Replayed => {}
                    _ => return Err(RecordError::superseded(reference)),
                }
            }
        }
        Ok(outcome)
    }
}

/// What there is to write.
fn plan(
    there: Option<RoundRecord>,
    mut round: RoundRecord,
    keys: &dyn IdGenerator,
) -> (RoundImported, Vec<RoundCommit>) {
    let outcome = if there.is_none() { RoundImported::New } else { RoundImported::Extended };
    let there = there.unwrap_or_else(|| catch_up::nothing_of(&round));
    round.head.revision = there.head.revision;
    // Nodes say nothing of which is later when all that differs is how the round ended.
    let only_head = |changes: &[Change]| {
        changes.is_empty()
            && there.head != round.head
            && there.head.updated_at <= round.head.updated_at
    };
    let beyond = catch_up::difference(&round, &there).filter(|changes| !only_head(changes));
    if outcome == RoundImported::Extended && beyond.is_some() {
        return (RoundImported::Unchanged, Vec::new());
    }
    match catch_up::difference(&there, &round) {
        Some(changes) => {
            let commits = catch_up::parts(&changes).max(1);
            (outcome, catch_up::split(changes, &there.head, &round.head, commits, keys))
        }
        None => (RoundImported::Taken, Vec::new()),
    }
}
