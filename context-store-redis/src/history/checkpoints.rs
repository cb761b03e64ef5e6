//! Checkpoints: named places in a chat.

use context_core::base::CheckpointName;
use context_core::store::{Checkpoint, RefChange};
use context_core::{ChatRef, Error, Timestamp};

use crate::chat::change::ChatChange;
use crate::chat::fields::{self, Position, REFS};
use crate::chat::snapshot::ChatSnapshot;
use crate::chat::tree::CheckpointMark;
use crate::connections::shared::Shared;
use crate::error::Result;
use crate::history::ref_log;

pub(crate) async fn list(shared: &Shared, chat: &ChatRef) -> Result<Vec<Checkpoint>> {
    Ok(shared.snapshot("checkpoints", chat, &[]).await?.tree.checkpoints())
}

pub(crate) async fn set(shared: &Shared, chat: &ChatRef, new: Checkpoint) -> Result<Checkpoint> {
    const OPERATION: &str = "set_checkpoint";
    let asked = [fields::id(&new.message), REFS.to_owned()];
    let decide = |snapshot: &ChatSnapshot| {
        let [Some(position), refs] = &snapshot.requested[..] else {
            return Err(Error::not_found(OPERATION, "message", &new.message).into());
        };
        let position = Position::read(position)?;
        let mut tree = snapshot.tree.clone();
        let (name, message, at) = (new.name.clone(), new.message.clone(), new.created_at);
        let before = tree.set_mark(CheckpointMark { name, message, position, at });
        let mut change = ChatChange::at(at);
        let mut messages = 0;
        if let Some(before) = &before {
            let cuts = tree.prune(before.position.piece)?;
            messages = change.cut(snapshot.generation, cuts);
        }
        let from = before.map(|before| before.message);
        if from.as_ref() != Some(&new.message) {
            let (checkpoint, to) = (new.name.clone(), new.message.clone());
            let set = RefChange::CheckpointSet { checkpoint, from, to, messages };
            ref_log::add(&mut change, refs.as_ref(), at, [set])?;
        }
        change.set_tree(&tree)?;
        Ok((Some(change), new.clone()))
    };
    shared.change(OPERATION, chat, &asked, decide).await
}

pub(crate) async fn delete(
    shared: &Shared,
    chat: &ChatRef,
    name: &CheckpointName,
    at: Timestamp,
) -> Result<bool> {
    const OPERATION: &str = "delete_checkpoint";
    let decide = |snapshot: &ChatSnapshot| {
        let mut change = ChatChange::at(at);
        let Some(mark) = snapshot.tree.mark(name) else { return Ok((Some(change), false)) };
        let mut tree = snapshot.tree.clone();
        tree.checkpoints.retain(|mark| mark.name != *name);
        let cuts = tree.prune(mark.position.piece)?;
        let messages = change.cut(snapshot.generation, cuts);
        let (checkpoint, from) = (name.clone(), mark.message.clone());
        let deleted = RefChange::CheckpointDeleted { checkpoint, from, messages };
        ref_log::add(&mut change, ref_log::requested(snapshot), at, [deleted])?;
        change.set_tree(&tree)?;
        Ok((Some(change), true))
    };
    shared.change(OPERATION, chat, &[REFS.to_owned()], decide).await
}
