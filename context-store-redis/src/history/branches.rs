//! Branches and checkpoints: naming, renaming, deleting.

use context_core::base::{CheckpointName, limits};
use context_core::store::{Branch, BranchDeletion, Checkpoint};
use context_core::{BranchName, ChatRef, Error, MessageId, Timestamp};

use crate::error::Result;
use crate::history::change::Change;
use crate::history::fields::{self, Place};
use crate::history::look::Look;
use crate::history::shape::Mark;
use crate::shared::Shared;

pub(crate) async fn list(shared: &Shared, chat: &ChatRef) -> Result<Vec<Branch>> {
    shared.look_at("branches", chat, &[]).await?.branches()
}

pub(crate) async fn activate(
    shared: &Shared,
    chat: &ChatRef,
    branch: &BranchName,
    at: Timestamp,
) -> Result<()> {
    const OPERATION: &str = "activate_branch";
    let decide = |look: &Look| {
        look.tip_of(OPERATION, branch)?;
        let mut shape = look.shape.clone();
        shape.active = branch.clone();
        let mut change = Change::at(at);
        change.shape(&shape)?;
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
    let decide = |look: &Look| {
        let tip = look.tip_of(OPERATION, branch)?;
        let mut change = Change::at(at);
        if branch == to {
            return Ok((Some(change), ()));
        }
        if look.shape.has(to) {
            let error =
                Error::invalid(OPERATION, "another branch has this name").with("branch", to);
            return Err(error.into());
        }
        let mut shape = look.shape.clone();
        for piece in shape.pieces.iter_mut().filter(|piece| piece.no == tip.piece) {
            piece.name = Some(to.clone());
        }
        if shape.active == *branch {
            shape.active = to.clone();
        }
        change.if_at(branch.as_str(), tip);
        change.remove(fields::branch(branch.as_str()));
        change.set(fields::branch(to.as_str()), tip.write());
        change.shape(&shape)?;
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
    let decide = |look: &Look| {
        let tip = look.tip_of(OPERATION, branch)?;
        if tip.head.as_ref() != expected {
            return Ok((None, BranchDeletion::Conflict { actual: tip.head.clone() }));
        }
        if look.shape.active == *branch {
            let message = "the active branch cannot be deleted; make another one active first";
            return Err(Error::invalid(OPERATION, message).with("branch", branch).into());
        }
        let mut shape = look.shape.clone();
        shape.unname(tip);
        let mut change = Change::at(at);
        change.if_at(branch.as_str(), tip);
        change.remove(fields::branch(branch.as_str()));
        let cuts = shape.prune(tip.piece)?;
        let messages = change.cut(look.generation, cuts);
        change.shape(&shape)?;
        Ok((Some(change), BranchDeletion::Deleted { messages }))
    };
    shared.change(OPERATION, chat, &[], decide).await
}

pub(crate) async fn checkpoints(shared: &Shared, chat: &ChatRef) -> Result<Vec<Checkpoint>> {
    Ok(shared.look_at("checkpoints", chat, &[]).await?.shape.checkpoints())
}

pub(crate) async fn set_checkpoint(
    shared: &Shared,
    chat: &ChatRef,
    new: Checkpoint,
) -> Result<Checkpoint> {
    const OPERATION: &str = "set_checkpoint";
    let asked = [fields::id(&new.message)];
    let decide = |look: &Look| {
        let Some(place) = look.asked.iter().flatten().next() else {
            return Err(Error::not_found(OPERATION, "message", &new.message).into());
        };
        let place = Place::read(place)?;
        let mut shape = look.shape.clone();
        let (name, message, at) = (new.name.clone(), new.message.clone(), new.created_at);
        let before = shape.set_mark(Mark { name, message, place, at });
        let mut change = Change::at(at);
        if let Some(before) = before {
            let cuts = shape.prune(before.piece)?;
            change.cut(look.generation, cuts);
        }
        change.shape(&shape)?;
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
    let decide = |look: &Look| {
        let Some(mark) = look.shape.mark(name) else { return Ok((None, false)) };
        let mut shape = look.shape.clone();
        shape.checkpoints.retain(|mark| mark.name != *name);
        let mut change = Change::default();
        let cuts = shape.prune(mark.place.piece)?;
        change.cut(look.generation, cuts);
        change.shape(&shape)?;
        Ok((Some(change), true))
    };
    shared.change(OPERATION, chat, &[], decide).await
}
