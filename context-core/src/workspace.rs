//! Snapshots of a workspace: the folder whose files an agent reads and changes.
//!
//! A program that attaches an implementation to its engine gets files and conversation back
//! together: a checkpoint takes a snapshot, and going back to the checkpoint restores it. The
//! library has an implementation over git; [`WorkspaceSnapshots`] is the seam for others, such as
//! snapshots of a file system or of a container.

use std::fmt::Debug;

use async_trait::async_trait;
use serde::Serialize;

use crate::base::SnapshotId;
use crate::{Diagnostic, Result, Timestamp};

/// A snapshot to take.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NewSnapshot {
    /// The owner: any text that stands for one chat. [`WorkspaceSnapshots::list`] finds the
    /// snapshots of an owner.
    pub owner: String,
    /// A key that no other snapshot has, by which an interrupted caller finds a snapshot again.
    pub key: String,
    /// The current time.
    pub at: Timestamp,
}

impl NewSnapshot {
    /// Creates the description of a snapshot.
    pub fn new(owner: impl Into<String>, key: impl Into<String>, at: Timestamp) -> Self {
        Self { owner: owner.into(), key: key.into(), at }
    }
}

/// A snapshot of a workspace.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Snapshot {
    /// The id.
    pub id: SnapshotId,
    /// The [key](NewSnapshot::key) that it was taken with.
    pub key: String,
    /// The time when it was taken.
    pub at: Timestamp,
    /// Files that the snapshot leaves out, such as nested repositories. Empty for a snapshot that
    /// was listed.
    pub diagnostics: Vec<Diagnostic>,
}

impl Snapshot {
    /// Creates a snapshot.
    pub fn new(id: impl Into<SnapshotId>, key: impl Into<String>, at: Timestamp) -> Self {
        Self { id: id.into(), key: key.into(), at, diagnostics: Vec::new() }
    }
}

/// A workspace that went back to a snapshot.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Restored {
    /// The snapshot that was taken of the workspace just before.
    pub before: Snapshot,
    /// Number of files that were written.
    pub written: u64,
    /// Number of files that were removed, because the snapshot does not have them.
    pub removed: u64,
}

impl Restored {
    /// Creates the result of a restore that found the workspace as `before`.
    pub fn new(before: Snapshot, written: u64, removed: u64) -> Self {
        Self { before, written, removed }
    }
}

/// Takes and restores snapshots of one workspace.
///
/// # Contract with implementors
///
/// * **Nothing is lost.** [`restore`](Self::restore) takes a snapshot first and changes or removes
///   only files that this snapshot has. If a file was written since that snapshot, the call is
///   refused with [`ErrorKind::Conflict`](crate::ErrorKind::Conflict), and no file is changed.
/// * **Refuse before changing.** A limit or a missing program is an error before anything is
///   written. [`Conflict`](crate::ErrorKind::Conflict), [`Invalid`](crate::ErrorKind::Invalid),
///   [`NotFound`](crate::ErrorKind::NotFound) and [`Unsupported`](crate::ErrorKind::Unsupported)
///   say that [`restore`](Self::restore) changed no file. After every other error it may have
///   changed some, and the caller repeats the call later.
/// * **Repeatable.** Restoring the same snapshot again has the same result.
/// * A future of [`restore`](Self::restore) that is dropped leaves the files restored or not, as a
///   caller that repeats the call cannot tell the difference.
#[async_trait]
pub trait WorkspaceSnapshots: Debug + Send + Sync + 'static {
    /// Takes a snapshot of the workspace as it is now.
    async fn take(&self, new: &NewSnapshot) -> Result<Snapshot>;

    /// Takes a snapshot `before`, then makes the workspace what it was when `id` was taken.
    /// [`NotFound`](crate::ErrorKind::NotFound) if there is no such snapshot of this workspace.
    async fn restore(&self, id: &SnapshotId, before: &NewSnapshot) -> Result<Restored>;

    /// Removes a snapshot. Returns false if there is none. Files of the workspace are not touched.
    async fn remove(&self, id: &SnapshotId) -> Result<bool>;

    /// Lists the snapshots of an owner, oldest first.
    async fn list(&self, owner: &str) -> Result<Vec<Snapshot>>;
}
