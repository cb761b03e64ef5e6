//! Importing rounds that are already complete.

use context_core::IdGenerator;
use context_core::store::{RecordOutcome, RoundCommit};
use context_core::trajectory::{Change, RoundRecord};

use crate::{RecordError, Trajectories, catch_up};

/// The outcome of importing a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RoundImported {
    /// The round did not exist and was written.
    New,
    /// The stored round was a prefix of the imported one and was extended.
    Extended,
    /// The stored round already contains the imported one. Nothing was written.
    Unchanged,
    /// The number belongs to a different round. Nothing was written.
    Taken,
}

impl Trajectories {
    /// Writes a complete round to every channel, with its times and versions. A stored earlier
    /// state of the round is extended; any other stored round is left as it is. Importing is
    /// idempotent, also after an import that was interrupted. The revision of the imported round is
    /// not kept, because revisions count commits.
    ///
    /// Do not import into a round that is being recorded: its recorder is then
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

/// Returns the commits to write.
fn plan(
    there: Option<RoundRecord>,
    mut round: RoundRecord,
    keys: &dyn IdGenerator,
) -> (RoundImported, Vec<RoundCommit>) {
    let outcome = if there.is_none() { RoundImported::New } else { RoundImported::Extended };
    let there = there.unwrap_or_else(|| catch_up::nothing_of(&round));
    round.head.revision = there.head.revision;
    // If only the end state of the round differs, the nodes do not tell which record is later.
    let only_head = |changes: &[Change]| {
        changes.is_empty()
            && there.head != round.head
            && there.head.updated_at <= round.head.updated_at
    };
    // Removed nodes stay counted in `next`; without that, an earlier state looks like a later one
    // whose last nodes were removed.
    let beyond = catch_up::difference(&round, &there)
        .filter(|changes| there.head.next >= round.head.next && !only_head(changes));
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
