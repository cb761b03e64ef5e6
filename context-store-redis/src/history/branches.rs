//! Branches and checkpoints: naming, renaming, deleting.

use context_core::base::{CheckpointName, limits};
use context_core::store::{Branch, BranchDeletion, Checkpoint};
use context_core::{BranchName, ChatRef, Error, MessageId, Timestamp};

use crate::chat::change::ChatChange;
use crate::chat::fields::{self, Position};
use crate::chat::snapshot::ChatSnapshot;
use crate::chat::tree::CheckpointMark;
use crate::connections::shared::Shared;
use crate::error::Result;

pub(crate) async fn list(shared: &Shared, chat: &ChatRef) -> Result<Vec<Branch>> {
    shared.snapshot("branches", chat, &[]).await?.branches()
}

pub(crate) async fn activate(
    shared: &Shared,
    chat: &ChatRef,
    branch: &BranchName,
    at: Timestamp,
) -> Result<()> {
    const OPERATION: &str = "activate_branch";
    let decide = |snapshot: &ChatSnapshot| {
        snapshot.tip_of(OPERATION, branch)?;
        let mut tree = snapshot.tree.clone();
        tree.active = branch.clone();
        let mut change = ChatChange::at(at);
        change.set_tree(&tree)?;
        Ok((Some(change), ()))
    };
    shared.change(OPERATION, chat, &[], decide).await
}

pub(crate) async fn rename(
    shared: &Shared,
    chat: &ChatRef,
    branch: &BranchName,
    to: &BranchName,
    at: Timestamp,
) -> Result<()> {
    const OPERATION: &str = "rename_branch";
    limits::check_id(OPERATION, "branch", to.as_str())?;
    let decide = |snapshot: &ChatSnapshot| {
        let tip = snapshot.tip_of(OPERATION, branch)?;
        let mut change = ChatChange::at(at);
        if branch == to {
            return Ok((Some(change), ()));
        }
        if snapshot.tree.has(to) {
            let error =
                Error::invalid(OPERATION, "another branch has this name").with("branch", to);
            return Err(error.into());
        }
        let mut tree = snapshot.tree.clone();
        for piece in tree.pieces.iter_mut().filter(|piece| piece.no == tip.piece) {
            piece.name = Some(to.clone());
        }
        if tree.active == *branch {
            tree.active = to.clone();
        }
        change.if_at(branch.as_str(), tip);
        change.remove(fields::branch(branch.as_str()));
        change.set(fields::branch(to.as_str()), tip.write());
        change.set_tree(&tree)?;
        Ok((Some(change), ()))
    };
    shared.change(OPERATION, chat, &[], decide).await
}

pub(crate) async fn delete(
    shared: &Shared,
    chat: &ChatRef,
    branch: &BranchName,
    expected: Option<&MessageId>,
    at: Timestamp,
) -> Result<BranchDeletion> {
    const OPERATION: &str = "delete_branch";
    let decide = |snapshot: &ChatSnapshot| {
        let tip = snapshot.tip_of(OPERATION, branch)?;
        if tip.head.as_ref() != expected {
            return Ok((None, BranchDeletion::Conflict { actual: tip.head.clone() }));
        }
        if snapshot.tree.active == *branch {
            let message = "the active branch cannot be deleted; make another one active first";
            return Err(Error::invalid(OPERATION, message).with("branch", branch).into());
        }
        let mut tree = snapshot.tree.clone();
        tree.unname(tip);
        let mut change = ChatChange::at(at);
        change.if_at(branch.as_str(), tip);
        change.remove(fields::branch(branch.as_str()));
        let cuts = tree.prune(tip.piece)?;
        let messages = change.cut(snapshot.generation, cuts);
        change.set_tree(&tree)?;
        Ok((Some(change), BranchDeletion::Deleted { messages }))
    };
    shared.change(OPERATION, chat, &[], decide).await
}

pub(crate) async fn checkpoints(shared: &Shared, chat: &ChatRef) -> Result<Vec<Checkpoint>> {
    Ok(shared.snapshot("checkpoints", chat, &[]).await?.tree.checkpoints())
}

pub(crate) async fn set_checkpoint(
    shared: &Shared,
    chat: &ChatRef,
    new: Checkpoint,
) -> Result<Checkpoint> {
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

pub(crate) async fn delete_checkpoint(
    shared: &Shared,
    chat: &ChatRef,
    name: &CheckpointName,
) -> Result<bool> {
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
