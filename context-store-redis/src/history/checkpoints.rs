//! Checkpoints: named places in a chat.

use context_core::base::CheckpointName;
use context_core::store::Checkpoint;
use context_core::{ChatRef, Error};

use crate::chat::change::ChatChange;
use crate::chat::fields::{self, Position};
use crate::chat::snapshot::ChatSnapshot;
use crate::chat::tree::CheckpointMark;
use crate::connections::shared::Shared;
use crate::error::Result;

pub(crate) async fn list(shared: &Shared, chat: &ChatRef) -> Result<Vec<Checkpoint>> {
    Ok(shared.snapshot("checkpoints", chat, &[]).await?.tree.checkpoints())
}

pub(crate) async fn set(shared: &Shared, chat: &ChatRef, new: Checkpoint) -> Result<Checkpoint> {
    const OPERATION: &str = "set_checkpoint";
    let asked = [fields::id(&new.message)];
    let decide = |snapshot: &ChatSnapshot| {
        let Some(position) = snapshot.requested.iter().flatten().next() else {
            return Err(Error::not_found(OPERATION, "message", &new.message).into());
        };
        let position = Position::read(position)?;
        let mut tree = snapshot.tree.clone();
        let (name, message, at) = (new.name.clone(), new.message.clone(), new.created_at);
        let before = tree.set_mark(CheckpointMark { name, message, position, at });
        let mut change = ChatChange::at(at);
        if let Some(before) = before {
            let cuts = tree.prune(before.piece)?;
            change.cut(snapshot.generation, cuts);
        }
        change.set_tree(&tree)?;
        Ok((Some(change), new.clone()))
    };
    shared.change(OPERATION, chat, &asked, decide).await
}

pub(crate) async fn delete(shared: &Shared, chat: &ChatRef, name: &CheckpointName) -> Result<bool> {
    const OPERATION: &str = "delete_checkpoint";
    let decide = |snapshot: &ChatSnapshot| {
        let Some(mark) = snapshot.tree.mark(name) else { return Ok((None, false)) };
        let mut tree = snapshot.tree.clone();
        tree.checkpoints.retain(|mark| mark.name != *name);
        let mut change = ChatChange::default();
        let cuts = tree.prune(mark.position.piece)?;
        change.cut(snapshot.generation, cuts);
        change.set_tree(&tree)?;
        Ok((Some(change), true))
    };
    shared.change(OPERATION, chat, &[], decide).await
}
