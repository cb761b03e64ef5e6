//! Deleting branches and checkpoints with the messages that nothing else reaches.

use std::collections::{HashMap, HashSet};

use context_core::base::CheckpointName;
use context_core::store::{BranchDeletion, HistoryStore};
use context_core::{BranchName, ChatRef, Error, ErrorKind, MessageId, Result, Store};

use super::texts::Needles;
use super::walk::RemovalWalk;
use super::{RemovalOptions, RemovalReport, reads};

/// Deletes a branch, and the messages that no other branch and no checkpoint reaches. Data derived
/// from these messages stays, and copies are not searched for: [`redact_messages`] does that.
///
/// Returns [`ErrorKind::Invalid`] for the active branch, and [`ErrorKind::Conflict`] if another
/// writer keeps writing to the branch.
///
/// [`redact_messages`]: super::redact_messages
pub async fn delete_branch(
    store: &dyn Store,
    chat: &ChatRef,
    branch: &BranchName,
    options: &RemovalOptions,
) -> Result<RemovalReport> {
    const OPERATION: &str = "delete_branch";
    let branches = store.history().branches(chat).await?;
    let found = branches.into_iter().find(|found| found.name == *branch);
    let found = found.ok_or_else(|| Error::not_found(OPERATION, "branch", branch))?;
    if found.active {
        let message = "the active branch cannot be deleted; make another one active first";
        return Err(Error::invalid(OPERATION, message).with("branch", branch));
    }
    let deleted = delete_branch_at(store, chat, branch, found.head.as_ref(), options).await?;
    deleted.ok_or_else(|| {
        let message = "another writer keeps writing to the branch";
        Error::new(ErrorKind::Conflict, OPERATION, message).with("branch", branch)
    })
}

/// Deletes a branch with this head. Returns `None` if it has another one.
pub(crate) async fn delete_branch_at(
    store: &dyn Store,
    chat: &ChatRef,
    branch: &BranchName,
    head: Option<&MessageId>,
    options: &RemovalOptions,
) -> Result<Option<RemovalReport>> {
    let (mut walk, mut needles) = (RemovalWalk::new(options), Needles::default());
    count_branch(store.history(), chat, branch, &mut needles, &mut walk).await?;
    if options.dry_run {
        return Ok(Some(walk.finish()));
    }
    match store.history().delete_branch(chat, branch, head, options.now).await? {
        BranchDeletion::Deleted { messages } => {
            walk.report.messages = messages;
            Ok(Some(walk.finish()))
        }
        _ => Ok(None),
    }
}

/// Counts a branch, and the messages that nothing reaches without it.
pub(super) async fn count_branch(
    history: &dyn HistoryStore,
    chat: &ChatRef,
    branch: &BranchName,
    needles: &mut Needles,
    walk: &mut RemovalWalk<'_>,
) -> Result<()> {
    walk.report.branches = 1;
    walk.plan("branch", Some(&chat.chat), branch, None);
    count_unreached(history, chat, Some(branch), None, needles, walk).await
}

/// Deletes a checkpoint, and the messages that no branch and no other checkpoint reaches. Data
/// derived from these messages stays, and copies are not searched for. A snapshot of files stays
/// too: [`ContextEngine::delete_checkpoint`](crate::ContextEngine::delete_checkpoint) removes it.
pub async fn delete_checkpoint(
    store: &dyn Store,
    chat: &ChatRef,
    name: &CheckpointName,
    options: &RemovalOptions,
) -> Result<RemovalReport> {
    let history = store.history();
    let (mut walk, mut needles) = (RemovalWalk::new(options), Needles::default());
    let mut is_there = history.checkpoints(chat).await?.iter().any(|known| known.name == *name);
    walk.report.checkpoints = 1;
    walk.plan("checkpoint", Some(&chat.chat), name, None);
    count_unreached(history, chat, None, Some(name), &mut needles, &mut walk).await?;
    if is_there && !options.dry_run {
        is_there = history.delete_checkpoint(chat, name, options.now).await?;
    }
    match is_there {
        true => Ok(walk.finish()),
        false => Err(Error::not_found("delete_checkpoint", "checkpoint", name)),
    }
}

/// Counts the messages that nothing reaches without this branch and this checkpoint, as the stores
/// find them. What an earlier part of a plan takes is gone.
async fn count_unreached(
    history: &dyn HistoryStore,
    chat: &ChatRef,
    branch: Option<&BranchName>,
    checkpoint: Option<&CheckpointName>,
    needles: &mut Needles,
    walk: &mut RemovalWalk<'_>,
) -> Result<()> {
    let nodes = reads::messages(history, chat).await?;
    let parents: HashMap<&MessageId, Option<&MessageId>> =
        nodes.iter().map(|placed| (&placed.node.id, placed.parent.as_ref())).collect();
    let (branches, checkpoints) = (history.branches(chat).await?, history.checkpoints(chat).await?);
    let heads = branches
        .iter()
        .filter(|other| branch != Some(&other.name))
        .filter(|other| !walk.planned.is_gone("branch", Some(&chat.chat), other.name.as_ref()))
        .filter_map(|other| other.head.as_ref());
    let marks = checkpoints
        .iter()
        .filter(|other| checkpoint != Some(&other.name))
        .map(|other| &other.message);
    let mut reached: HashSet<&MessageId> = HashSet::with_capacity(nodes.len());
    for end in heads.chain(marks) {
        let mut next = Some(end);
        while let Some(id) = next.filter(|id| reached.insert(*id)) {
            next = parents.get(id).copied().flatten();
        }
    }
    for placed in nodes.iter().filter(|placed| !reached.contains(&placed.node.id)) {
        if walk.planned.is_gone("message", Some(&chat.chat), placed.node.id.as_str()) {
            continue;
        }
        let bytes = walk.count_message(history, chat, &placed.node, needles).await?;
        walk.plan("message", Some(&chat.chat), &placed.node.id, Some(bytes));
    }
    Ok(())
}
