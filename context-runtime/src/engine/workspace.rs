//! Snapshots of the files beside the conversation, and moves of both.
//!
//! A move restores the files first, since that may be refused, and moves the conversation in the
//! same commit that records what was left. A record in the chat's metadata marks the time between,
//! so that a move that a crash interrupts is seen and done again.

use context_core::base::{CheckpointName, DiagnosticCode, Severity, SnapshotId};
use context_core::store::{Chat, ChatPatch, Checkpoint};
use context_core::workspace::{NewSnapshot, Restored, Snapshot};
use context_core::{
    BranchName, Diagnostic, Error, ErrorKind, Json, MessageId, Metadata, Result, Timestamp,
};
use serde::{Deserialize, Serialize};

use super::{ContextEngine, Moved};
use crate::workspace::{MOVE, OF_CHECKPOINT, OF_MESSAGE, Workspace, named, owner_of};

/// A checkpoint that was set, and the snapshot that was taken for it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Checkpointed {
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// The snapshot of the files. `None` without a [workspace](crate::workspace::Workspace).
    pub snapshot: Option<Snapshot>,
}

/// The record of a snapshot.
#[derive(Serialize, Deserialize)]
struct SnapshotRecord {
    snapshot: SnapshotId,
    /// The newest message at that time.
    message: MessageId,
    at: Timestamp,
}

/// The destination of a move.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Destination {
    /// A new branch that ends with this message.
    Message(MessageId),
    /// This branch.
    Branch(BranchName),
}

/// The record of a move that is under way.
#[derive(Serialize, Deserialize)]
struct MoveRecord {
    to: Destination,
    snapshot: SnapshotId,
    /// The key of the snapshot that is taken before.
    key: String,
    /// The newest message of the branch that is left.
    left: Option<MessageId>,
}

/// Files that moved already, and the change of the chat with which the conversation follows.
pub(super) struct MovedFiles {
    pub(super) restored: Option<Restored>,
    pub(super) patch: ChatPatch,
    /// The snapshot whose record the patch replaces.
    pub(super) replaced: Option<SnapshotId>,
}

impl ContextEngine {
    /// Attaches a workspace, or detaches it: `None` moves the conversation alone from now on.
    pub fn set_workspace(&mut self, workspace: impl Into<Option<Workspace>>) -> &mut Self {
        self.workspace = workspace.into();
        self
    }

    /// Takes a snapshot of the workspace for the newest saved message, in place of an earlier one
    /// for that message. [`rewind`](Self::rewind) to the message brings the files back.
    ///
    /// Returns [`Invalid`](ErrorKind::Invalid) without a workspace, or on a branch without
    /// messages.
    pub async fn snapshot_workspace(&mut self) -> Result<Snapshot> {
        const OPERATION: &str = "snapshot_workspace";
        let head = self.require_head(OPERATION).await?;
        let workspace = self.workspace.clone().ok_or_else(|| {
            Error::invalid(OPERATION, "the engine has no workspace: attach one first")
        })?;
        let chat = self.chat().await?;
        let snapshot = workspace.snapshots().take(&self.new_snapshot(&chat)).await?;
        let key = format!("{OF_MESSAGE}{head}");
        let mut stale: Vec<_> = record_of(&chat, &key).into_iter().collect();
        let mut patch = ChatPatch { set: record(&key, &snapshot, &head)?, ..ChatPatch::default() };
        if let Some(keep) = workspace.kept() {
            let all = chat.metadata.iter().filter(|(of, _)| of.starts_with(OF_MESSAGE));
            let others = all.filter(|(of, _)| *of != key);
            let mut others: Vec<(&str, SnapshotRecord)> =
                others.filter_map(|(of, value)| Some((of, value.parse().ok()?))).collect();
            others.sort_by_key(|(_, record)| std::cmp::Reverse(record.at));
            for (of, record) in others.into_iter().skip(keep.saturating_sub(1)) {
                patch.remove.push(of.to_owned());
                stale.push(record);
            }
        }
        let _chat = self.update_chat(&patch).await?;
        for record in stale {
            workspace.snapshots().remove(&record.snapshot).await?;
        }
        self.left_out.clone_from(&snapshot.diagnostics);
        Ok(snapshot)
    }

    /// Sets a checkpoint as [`checkpoint`](Self::checkpoint) does, and also returns the snapshot of
    /// the files.
    ///
    /// The snapshot is taken first. After a crash between the two, the checkpoint is where it was,
    /// and the snapshot is one that [`sweep_snapshots`](Self::sweep_snapshots) removes.
    pub async fn checkpoint_workspace(
        &mut self,
        name: impl Into<CheckpointName>,
    ) -> Result<Checkpointed> {
        let (name, head) = (name.into(), self.require_head("checkpoint").await?);
        let now = self.parts.clock.now();
        let Some(workspace) = self.workspace.clone() else {
            let checkpoint =
                self.parts.history().set_checkpoint(&self.chat, &name, &head, now).await?;
            return Ok(Checkpointed { checkpoint, snapshot: None });
        };
        let chat = self.chat().await?;
        let snapshot = workspace.snapshots().take(&self.new_snapshot(&chat)).await?;
        let checkpoint = self.parts.history().set_checkpoint(&self.chat, &name, &head, now).await?;
        let key = format!("{OF_CHECKPOINT}{name}");
        let set = record(&key, &snapshot, &head)?;
        let _chat = self.update_chat(&ChatPatch { set, ..ChatPatch::default() }).await?;
        if let Some(replaced) = record_of(&chat, &key) {
            workspace.snapshots().remove(&replaced.snapshot).await?;
        }
        self.left_out.clone_from(&snapshot.diagnostics);
        Ok(Checkpointed { checkpoint, snapshot: Some(snapshot) })
    }

    /// Deletes a checkpoint, and its snapshot if there is one. Returns false if there is no such
    /// checkpoint.
    pub async fn delete_checkpoint(&mut self, name: &CheckpointName) -> Result<bool> {
        let deleted = self.parts.history().delete_checkpoint(&self.chat, name).await?;
        let key = format!("{OF_CHECKPOINT}{name}");
        let record = match &self.workspace {
            Some(_) => record_of(&self.chat().await?, &key),
            None => None,
        };
        if let (Some(workspace), Some(record)) = (self.workspace.clone(), record) {
            let patch = ChatPatch { remove: vec![key], ..ChatPatch::default() };
            let _chat = self.update_chat(&patch).await?;
            workspace.snapshots().remove(&record.snapshot).await?;
        }
        Ok(deleted)
    }

    /// Removes the snapshots of this chat that its records do not name, or whose messages are gone,
    /// if they are older than a time. An interrupted call leaves such snapshots, and so does a
    /// deleted branch. Returns the number of removed snapshots.
    pub async fn sweep_snapshots(&mut self, older_than: Timestamp) -> Result<u64> {
        let Some(workspace) = self.workspace.clone() else { return Ok(0) };
        let chat = self.chat().await?;
        let records = chat.metadata.iter().filter(|(key, _)| key.starts_with(OF_MESSAGE));
        let (keys, ids): (Vec<_>, Vec<_>) = records
            .filter_map(|(key, value)| Some((key, value.parse::<SnapshotRecord>().ok()?.message)))
            .unzip();
        let found = self.parts.history().messages(&self.chat, &ids).await?;
        let gone = keys.iter().zip(found).filter(|(_, message)| message.is_none());
        let remove: Vec<_> = gone.map(|(key, _)| (*key).to_owned()).collect();
        let chat = match remove.is_empty() {
            true => chat,
            false => self.update_chat(&ChatPatch { remove, ..ChatPatch::default() }).await?,
        };
        let named: Vec<_> = named(&chat).collect();
        let mut removed = 0;
        for snapshot in workspace.snapshots().list(&owner_of(&chat)).await? {
            if snapshot.at < older_than && !named.contains(&snapshot.id) {
                removed += u64::from(workspace.snapshots().remove(&snapshot.id).await?);
            }
        }
        Ok(removed)
    }

    /// Finishes a move of files and conversation that was interrupted between the two: restores the
    /// files again, and moves the conversation. `None` if there is none. Resolving reports one as
    /// [`RewindInterrupted`](DiagnosticCode::RewindInterrupted).
    ///
    /// Returns [`NotFound`](ErrorKind::NotFound) if the destination or its snapshot is gone
    /// meanwhile. Then the move is given up, and the files are as the interruption left them.
    pub async fn finish_move(&mut self) -> Result<Option<Moved>> {
        let chat = self.chat().await?;
        let record = pending_move(&chat).filter(|_| self.workspace.is_some());
        let Some(record) = record else { return Ok(None) };
        let moved = match record.to {
            Destination::Message(message) => self.rewind(&message).await,
            Destination::Branch(branch) => self.switch_branch(branch).await,
        };
        if moved.as_ref().is_err_and(Error::is_not_found) {
            self.forget_move().await?;
        }
        moved.map(Some)
    }

    /// Removes the record of a move that is under way.
    async fn forget_move(&mut self) -> Result<()> {
        let patch = ChatPatch { remove: vec![MOVE.to_owned()], ..ChatPatch::default() };
        let _chat = self.update_chat(&patch).await?;
        self.opened_with.retain(|diagnostic| !is_of_move(diagnostic));
        Ok(())
    }

    /// Returns the snapshot of a checkpoint, if there is one of the message it points to.
    pub(super) async fn snapshot_of_checkpoint(
        &self,
        checkpoint: &Checkpoint,
    ) -> Result<Option<SnapshotId>> {
        if self.workspace.is_none() {
            return Ok(None);
        }
        let chat = self.chat().await?;
        let record = record_of(&chat, &format!("{OF_CHECKPOINT}{}", checkpoint.name));
        let fits = record.filter(|record| record.message == checkpoint.message);
        Ok(fits.map(|record| record.snapshot))
    }

    /// Moves the files, before the conversation moves. `head` is the newest message of the
    /// destination, `snapshot` a known snapshot of it. `None` without a workspace.
    pub(super) async fn move_files(
        &mut self,
        to: Destination,
        head: Option<&MessageId>,
        snapshot: Option<SnapshotId>,
    ) -> Result<Option<MovedFiles>> {
        const OPERATION: &str = "move_files";
        let Some(workspace) = self.workspace.clone() else { return Ok(None) };
        let chat = self.chat().await?;
        let earlier = pending_move(&chat);
        if let Some(earlier) = earlier.as_ref().filter(|earlier| earlier.to != to) {
            let text = "an interrupted move is not finished: call `finish_move` first";
            let error = Error::new(ErrorKind::Conflict, OPERATION, text);
            return Err(error.with("snapshot", &earlier.snapshot));
        }
        let of_message = || Some(record_of(&chat, &format!("{OF_MESSAGE}{}", head?))?.snapshot);
        let goal = earlier.as_ref().map(|earlier| earlier.snapshot.clone());
        let goal = goal.or(snapshot).or_else(of_message);
        let left = match &earlier {
            Some(earlier) => earlier.left.clone(),
            None => self.view().await?.head().cloned(),
        };
        if goal.is_none() && left.as_ref().is_none_or(|left| Some(left) == head) {
            // There is nothing to restore and no other place to come back to.
            return Ok(None);
        }
        let new = self.new_snapshot(&chat);
        let (mut before, restored) = match &goal {
            None => (workspace.snapshots().take(&new).await?, None),
            Some(goal) => {
                let mut moving = chat.clone();
                if earlier.is_none() {
                    let (key, left) = (new.key.clone(), left.clone());
                    let record = MoveRecord { to, snapshot: goal.clone(), key, left };
                    let set = Metadata::default().with(MOVE, json(&record)?);
                    moving = self.update_chat(&ChatPatch { set, ..Default::default() }).await?;
                }
                let restored = match workspace.snapshots().restore(goal, &new).await {
                    Ok(restored) => restored,
                    Err(error) => {
                        self.end_failed_move(&error, earlier.is_some(), &moving).await;
                        return Err(error);
                    }
                };
                (restored.before.clone(), Some(restored))
            }
        };
        if let Some(earlier) = &earlier {
            // The files of before are those of before the first attempt.
            let all = workspace.snapshots().list(&owner_of(&chat)).await?;
            before = all.into_iter().find(|one| one.key == earlier.key).unwrap_or(before);
        }
        let mut patch = ChatPatch { remove: vec![MOVE.to_owned()], ..ChatPatch::default() };
        let mut replaced = None;
        if let Some(left) = left.filter(|left| Some(left) != head) {
            let key = format!("{OF_MESSAGE}{left}");
            replaced = record_of(&chat, &key).map(|record| record.snapshot);
            patch.set = record(&key, &before, &left)?;
        }
        self.left_out = before.diagnostics;
        Ok(Some(MovedFiles { restored, patch, replaced }))
    }

    /// Forgets a move whose restore failed, if the files are as they were before its first attempt.
    /// Otherwise it stays to be finished.
    async fn end_failed_move(&mut self, error: &Error, is_repeated: bool, moving: &Chat) {
        let is_over = match error.kind() {
            // There is nothing to finish it with.
            ErrorKind::NotFound => true,
            // Of all other errors, the contract does not say that no file was changed.
            ErrorKind::Conflict | ErrorKind::Invalid | ErrorKind::Unsupported => !is_repeated,
            _ => false,
        };
        if is_over {
            // If the record stays, the next move to the same place begins with it.
            let _ = self.forget_move().await;
        } else if !self.opened_with.iter().any(is_of_move) {
            self.opened_with.extend(interrupted(moving));
        }
    }

    /// Ends a move whose commit removed its record. Removes the snapshot that it replaced by a
    /// newer one.
    pub(super) async fn end_move(&mut self, moved: Option<&MovedFiles>) -> Result<()> {
        if moved.is_some() {
            self.opened_with.retain(|diagnostic| !is_of_move(diagnostic));
        }
        let replaced = moved.and_then(|moved| moved.replaced.as_ref());
        if let (Some(workspace), Some(replaced)) = (&self.workspace, replaced) {
            workspace.snapshots().remove(replaced).await?;
        }
        Ok(())
    }

    /// Whether a snapshot is taken when a turn begins.
    #[cfg(feature = "agents")]
    pub(crate) fn snapshots_turns(&self) -> bool {
        self.workspace.as_ref().is_some_and(|workspace| workspace.kept().is_some())
    }

    fn new_snapshot(&self, chat: &Chat) -> NewSnapshot {
        NewSnapshot::new(owner_of(chat), self.parts.ids.next_id(), self.parts.clock.now())
    }
}

/// Returns the diagnostic of a chat whose files and conversation may not fit together.
pub(super) fn interrupted(chat: &Chat) -> Option<Diagnostic> {
    let record = pending_move(chat)?;
    let place = match &record.to {
        Destination::Message(message) => format!("message {message}"),
        Destination::Branch(branch) => format!("branch {branch}"),
    };
    let text = "files may have gone back and the conversation has not: call `finish_move`";
    Some(Diagnostic::new(DiagnosticCode::RewindInterrupted, Severity::Warning, place, text))
}

/// Whether a diagnostic is the one that [`interrupted`] returns.
fn is_of_move(diagnostic: &Diagnostic) -> bool {
    diagnostic.code == DiagnosticCode::RewindInterrupted
}

fn pending_move(chat: &Chat) -> Option<MoveRecord> {
    chat.metadata.get(MOVE)?.parse().ok()
}

fn record_of(chat: &Chat, key: &str) -> Option<SnapshotRecord> {
    chat.metadata.get(key)?.parse().ok()
}

fn record(key: &str, snapshot: &Snapshot, message: &MessageId) -> Result<Metadata> {
    let (id, message) = (snapshot.id.clone(), message.clone());
    let record = SnapshotRecord { snapshot: id, message, at: snapshot.at };
    Ok(Metadata::default().with(key, json(&record)?))
}

fn json(record: &impl Serialize) -> Result<Json> {
    Json::from_serialize(record).map_err(|error| {
        Error::invalid("snapshot_workspace", "a record has no JSON form").with_source(error)
    })
}
