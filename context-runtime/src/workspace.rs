//! The files that an agent works on, which go back together with the conversation.
//!
//! A [`Workspace`] is attached to an engine. Then a checkpoint also takes a snapshot of the files,
//! and [`restore`](crate::ContextEngine::restore), [`rewind`](crate::ContextEngine::rewind) and
//! [`switch_branch`](crate::ContextEngine::switch_branch) bring back the files of the place that
//! they go to, if there is a snapshot of it. What the files were at the place that is left is kept
//! too, in place of an earlier snapshot of that place, so that going forth again brings them back.
//! A move to a place with the same newest message has no other place to come back to: the snapshot
//! of the files before is the one of [`Moved::restored`](crate::Moved::restored), until a
//! [sweep](crate::ContextEngine::sweep_snapshots).
//!
//! [`WorkspaceSnapshots`] is the seam. `GitSnapshots` (feature `git`) implements it with the git
//! program.

#[cfg(feature = "git")]
mod git;

use std::sync::Arc;

use context_core::base::SnapshotId;
use context_core::store::Chat;
pub use context_core::workspace::{NewSnapshot, Restored, Snapshot, WorkspaceSnapshots};
use context_core::{Metadata, Result};
#[cfg(feature = "git")]
pub use git::{GitSnapshots, SnapshotLimits};

/// The files of a chat, and the program's policy for their snapshots.
///
/// The ids of snapshots are in the chat's metadata, under keys that begin with `workspace:`. The
/// snapshots themselves are where the implementation keeps them. Deleting a chat does not reach
/// them: [`discard`](Self::discard) does. Redaction does not reach them either: a secret in a file
/// is in its snapshots, and after their removal until the implementation clears what they held. Git
/// keeps objects for two weeks, if not told otherwise. Records do not go along to copies, forks and
/// exports.
#[derive(Clone, Debug)]
pub struct Workspace {
    snapshots: Arc<dyn WorkspaceSnapshots>,
    turns: Option<usize>,
}

impl Workspace {
    /// Creates a workspace whose snapshots are taken at checkpoints, and of a place that is left.
    /// Each message that was left adds a record to the chat's metadata, which have a
    /// [limit](context_core::base::limits::MAX_METADATA_BYTES): [`each_turn`](Self::each_turn) also
    /// bounds their number.
    pub fn new(snapshots: impl WorkspaceSnapshots) -> Self {
        Self::shared(Arc::new(snapshots))
    }

    /// Creates a workspace whose snapshots other parts use too.
    pub fn shared(snapshots: Arc<dyn WorkspaceSnapshots>) -> Self {
        Self { snapshots, turns: None }
    }

    /// Also takes a snapshot when a [turn](crate::Agents) begins, and keeps the newest `keep` of
    /// those that belong to messages. If it cannot be taken, the turn's report says so. Programs
    /// with a loop of their own call
    /// [`snapshot_workspace`](crate::ContextEngine::snapshot_workspace) where they want one.
    #[must_use]
    pub fn each_turn(mut self, keep: usize) -> Self {
        self.turns = Some(keep);
        self
    }

    /// The snapshots.
    pub fn snapshots(&self) -> &dyn WorkspaceSnapshots {
        &*self.snapshots
    }

    /// Removes all snapshots of a chat, and returns how many there were. Call it before the chat is
    /// deleted, whose record it needs. A chat that stays still names them: moves to their places
    /// are [`NotFound`](context_core::ErrorKind::NotFound) while it has a workspace.
    pub async fn discard(&self, chat: &Chat) -> Result<u64> {
        let mut removed = 0;
        for snapshot in self.snapshots.list(&owner_of(chat)).await? {
            removed += u64::from(self.snapshots.remove(&snapshot.id).await?);
        }
        Ok(removed)
    }

    /// Returns how many snapshots of messages are kept, if every turn takes one.
    pub(crate) fn kept(&self) -> Option<usize> {
        self.turns
    }
}

/// Returns the owner of a chat's snapshots. It names no one, and a chat that is created again under
/// the same name has another one.
pub(crate) fn owner_of(chat: &Chat) -> String {
    let mut hash = blake3::Hasher::new();
    for part in [chat.chat.user.as_str(), chat.chat.chat.as_str()] {
        hash.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
    }
    hash.update(&chat.created_at.as_micros().to_le_bytes());
    hash.finalize().to_hex().to_string()
}

/// The first part of every key of a chat's metadata that is about its workspace.
const PREFIX: &str = "workspace:";
/// The first part of the keys of snapshots of messages.
pub(crate) const OF_MESSAGE: &str = "workspace:message:";
/// The first part of the keys of snapshots of checkpoints.
pub(crate) const OF_CHECKPOINT: &str = "workspace:checkpoint:";
/// The key of a move that is under way.
pub(crate) const MOVE: &str = "workspace:move";

/// Returns metadata without the records of snapshots, which are of one chat.
pub(crate) fn without_records(metadata: &Metadata) -> Metadata {
    let others = metadata.iter().filter(|(key, _)| !key.starts_with(PREFIX));
    others.map(|(key, value)| (key.to_owned(), value.clone())).collect()
}

/// Returns the ids of the snapshots that the metadata of a chat name.
pub(crate) fn named(chat: &Chat) -> impl Iterator<Item = SnapshotId> {
    let entries = chat.metadata.iter().filter(|(key, _)| key.starts_with(PREFIX));
    entries.filter_map(|(_, value)| value.parse::<Named>().ok()).map(|named| named.snapshot)
}

/// The part of every record that names its snapshot.
#[derive(serde::Deserialize)]
struct Named {
    snapshot: SnapshotId,
}
