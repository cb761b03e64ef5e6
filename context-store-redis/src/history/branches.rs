//! Branches: listing, switching, renaming, deleting.

use context_core::base::limits;
use context_core::store::{Branch, BranchDeletion, RefChange};
use context_core::{BranchName, ChatRef, Error, MessageId, Timestamp};

use crate::chat::change::ChatChange;
use crate::chat::fields::{self, REFS};
use crate::chat::snapshot::ChatSnapshot;
use crate::connections::shared::Shared;
use crate::error::Result;
use crate::history::ref_log;

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
        let from = std::mem::replace(&mut tree.active, branch.clone());
        let mut change = ChatChange::at(at);
        if from != *branch {
            let activated = RefChange::BranchActivated { from, to: branch.clone() };
            ref_log::add(&mut change, ref_log::requested(snapshot), at, [activated])?;
        }
        change.set_tree(&tree)?;
        Ok((Some(change), ()))
    };
    shared.change(OPERATION, chat, &[REFS.to_owned()], decide).await
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
        let renamed = RefChange::BranchRenamed { from: branch.clone(), to: to.clone() };
        ref_log::add(&mut change, ref_log::requested(snapshot), at, [renamed])?;
        change.set_tree(&tree)?;
        Ok((Some(change), ()))
    };
    shared.change(OPERATION, chat, &[REFS.to_owned()], decide).await
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
        let (branch, head) = (branch.clone(), tip.head.clone());
        let deleted = RefChange::BranchDeleted { branch, head, messages };
        ref_log::add(&mut change, ref_log::requested(snapshot), at, [deleted])?;
        change.set_tree(&tree)?;
        Ok((Some(change), BranchDeletion::Deleted { messages }))
    };
    shared.change(OPERATION, chat, &[REFS.to_owned()], decide).await
}
