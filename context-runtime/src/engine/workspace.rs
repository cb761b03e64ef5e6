//! Snapshots of the files beside the conversation, and moves of both.
//!
//! A move restores the files first, since that may be refused. A rewind moves the conversation in
//! the commit that records what was left, a switch of branch just before it. A record in the chat's
//! metadata marks the time between, so that a move that a crash interrupts is seen and done again.

use std::fmt;

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

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Message(message) => write!(f, "message {message}"),
            Self::Branch(branch) => write!(f, "branch {branch}"),
        }
    }
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
    /// The snapshots whose records the patch replaces.
    replaced: Vec<SnapshotId>,
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
    /// The snapshot is taken first, then the checkpoint is set, then the snapshot is recorded.
    /// After a crash before the last step, the snapshot is one that
    /// [`sweep_snapshots`](Self::sweep_snapshots) removes. The checkpoint has the earlier snapshot
    /// if it is at the same message as before, and otherwise none.
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
        let (history, now) = (self.parts.history(), self.parts.clock.now());
        let deleted = history.delete_checkpoint(&self.chat, name, now).await?;
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

    /// Removes the snapshots of this chat that its records do not name, or whose messages or
    /// checkpoints are gone, if they are older than a time. An interrupted call leaves such
    /// snapshots, and so do a deleted branch, and a checkpoint that a program without the workspace
    /// moved or deleted. Returns the number of removed snapshots.
    pub async fn sweep_snapshots(&mut self, older_than: Timestamp) -> Result<u64> {
        let Some(workspace) = self.workspace.clone() else { return Ok(0) };
        let chat = self.chat().await?;
        let old = |(key, value): (&'_ str, &Json)| {
            let record: SnapshotRecord = value.parse().ok()?;
            (record.at < older_than).then(|| (key.to_owned(), record.message))
        };
        let of = |prefix| chat.metadata.iter().filter(move |(key, _)| key.starts_with(prefix));
        let (keys, ids): (Vec<_>, Vec<_>) = of(OF_MESSAGE).filter_map(old).unzip();
        let found = self.parts.history().messages(&self.chat, &ids).await?;
        let gone = keys.into_iter().zip(found).filter(|(_, message)| message.is_none());
        let mut remove: Vec<_> = gone.map(|(key, _)| key).collect();
        let checkpoints = self.parts.history().checkpoints(&self.chat).await?;
        let is_set = |(key, message): &(String, MessageId)| {
            checkpoints.iter().any(|set| {
                key[OF_CHECKPOINT.len()..] == *set.name.as_str() && set.message == *message
            })
        };
        let gone = of(OF_CHECKPOINT).filter_map(old).filter(|record| !is_set(record));
        remove.extend(gone.map(|(key, _)| key));
        let chat = match remove.is_empty() {
            true => chat,
            false => self.update_chat(&ChatPatch { remove, ..ChatPatch::default() }).await?,
        };
        let named: Vec<_> = named(&chat).collect();
        // The files of before an interrupted move are found by its key.
        let under_way = pending_move(&chat).map(|moving| moving.key);
        let mut removed = 0;
        for snapshot in workspace.snapshots().list(&owner_of(&chat)).await? {
            let is_named =
                named.contains(&snapshot.id) || under_way.as_ref() == Some(&snapshot.key);
            if snapshot.at < older_than && !is_named {
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
            self.abandon_move().await?;
        }
        moved.map(Some)
    }

    /// Gives up an interrupted move of files and conversation. Neither is changed. If there is a
    /// snapshot of the files before the move, it becomes that of the message that was left. Returns
    /// false if there is no such move.
    pub async fn abandon_move(&mut self) -> Result<bool> {
        let chat = self.chat().await?;
        let Some(given_up) = pending_move(&chat) else { return Ok(false) };
        let mut set = Metadata::default();
        if let (Some(workspace), Some(left)) = (&self.workspace, &given_up.left) {
            let all = workspace.snapshots().list(&owner_of(&chat)).await?;
            if let Some(before) = all.iter().find(|one| one.key == given_up.key) {
                set = record(&format!("{OF_MESSAGE}{left}"), before, left)?;
            }
        }
        self.forget_move(set).await?;
        Ok(true)
    }

    /// Removes the record of a move that is under way.
    async fn forget_move(&mut self, set: Metadata) -> Result<()> {
        let remove = vec![MOVE.to_owned()];
        let _chat = self.update_chat(&ChatPatch { set, remove, ..ChatPatch::default() }).await?;
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
        let is_other = |earlier: &&MoveRecord| {
            earlier.to != to || snapshot.as_ref().is_some_and(|files| *files != earlier.snapshot)
        };
        if let Some(earlier) = earlier.as_ref().filter(is_other) {
            let text = "an interrupted move is not finished: go there first, or abandon it";
            let error = Error::new(ErrorKind::Conflict, OPERATION, text);
            return Err(error.with("to", &earlier.to).with("snapshot", &earlier.snapshot));
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
        let (before, restored) = match &goal {
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
        let mut places = vec![(left, before.clone())];
        if let Some(earlier) = &earlier {
            // The files of before are those of before the first attempt. What was worked on since
            // has a place of its own, if it has a message.
            let all = workspace.snapshots().list(&owner_of(&chat)).await?;
            if let Some(first) = all.into_iter().find(|one| one.key == earlier.key) {
                places[0].1 = first;
            }
            places.push((self.view().await?.head().cloned(), before.clone()));
        }
        let mut patch = ChatPatch { remove: vec![MOVE.to_owned()], ..ChatPatch::default() };
        let mut replaced = Vec::new();
        for (left, before) in places {
            let Some(left) = left.filter(|left| Some(left) != head) else { continue };
            let key = format!("{OF_MESSAGE}{left}");
            if patch.set.get(&key).is_none() {
                replaced.extend(record_of(&chat, &key).map(|record| record.snapshot));
                patch.set.insert(key, json(&snapshot_record(&before, &left))?);
            }
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
            let _ = match is_repeated {
                true => self.abandon_move().await.map(drop),
                false => self.forget_move(Metadata::default()).await,
            };
        } else if !self.opened_with.iter().any(is_of_move) {
            self.opened_with.extend(interrupted(moving));
        }
    }

    /// Ends a move whose commit removed its record. Removes the snapshots that it replaced by
    /// newer ones.
    pub(super) async fn end_move(&mut self, moved: Option<&MovedFiles>) -> Result<()> {
        if moved.is_some() {
            self.opened_with.retain(|diagnostic| !is_of_move(diagnostic));
        }
        let Some(workspace) = &self.workspace else { return Ok(()) };
        for replaced in moved.iter().flat_map(|moved| &moved.replaced) {
            workspace.snapshots().remove(replaced).await?;
        }
        Ok(())
    }

    /// Takes the snapshot of a turn that begins, if the workspace wants one. The question is stored
    /// by then, so a failure is reported and does not end the turn.
    #[cfg(feature = "agents")]
    pub(crate) async fn snapshot_turn(
        &mut self,
        cancel: &context_core::CancelSignal,
    ) -> Option<Diagnostic> {
        use crate::cancellable::unless_cancelled;

        let _kept = self.workspace.as_ref()?.kept()?;
        // Another process may be at work in the folder for long.
        let taken = unless_cancelled(cancel, "snapshot_workspace", self.snapshot_workspace()).await;
        let error = taken.and_then(|taken| taken).err()?;
        let (code, text) =
            (DiagnosticCode::NotInSnapshot, format!("no snapshot of the turn: {error}"));
        Some(Diagnostic::new(code, Severity::Warning, "workspace", text))
    }

    fn new_snapshot(&self, chat: &Chat) -> NewSnapshot {
        NewSnapshot::new(owner_of(chat), self.parts.ids.next_id(), self.parts.clock.now())
    }
}

/// Returns the diagnostic of a chat whose files and conversation may not fit together.
pub(super) fn interrupted(chat: &Chat) -> Option<Diagnostic> {
    let record = pending_move(chat)?;
    let (code, place) = (DiagnosticCode::RewindInterrupted, record.to.to_string());
    let text = "files may have gone back and the conversation has not: call `finish_move`";
    Some(Diagnostic::new(code, Severity::Warning, place, text))
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
    Ok(Metadata::default().with(key, json(&snapshot_record(snapshot, message))?))
}

fn snapshot_record(snapshot: &Snapshot, message: &MessageId) -> SnapshotRecord {
    SnapshotRecord { snapshot: snapshot.id.clone(), message: message.clone(), at: snapshot.at }
}

fn json(record: &impl Serialize) -> Result<Json> {
    Json::from_serialize(record).map_err(|error| {
        Error::invalid("snapshot_workspace", "a record has no JSON form").with_source(error)
    })
}
