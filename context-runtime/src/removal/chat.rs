//! Deleting chats with everything derived from them.

use std::collections::BTreeSet;

use context_core::trajectory::RoundRef;
use context_core::{ChatRef, MessageId, Result, Store, Timestamp};

use super::copies::CopySearch;
use super::texts::Needles;
use super::walk::RemovalWalk;
use super::{RemovalOptions, RemovalReport, memories, reads, rounds};

/// Deletes a chat and everything derived from it: its rounds of trajectories, memories with the
/// chat as their source, and memories that are filed under it as a session. A session of rounds
/// that belongs to this chat alone is deleted. In a session that several chats share, the nodes for
/// messages of this chat are emptied. A blob that other chats refer to is kept for them.
///
/// If the chat was written to after `idle_since`, nothing is removed, and
/// [`chats`](RemovalReport::chats) is 0. It is also 0 if the chat does not exist, but leftovers of
/// an interrupted call are removed then.
pub async fn delete_chat(
    store: &dyn Store,
    chat: &ChatRef,
    idle_since: Option<Timestamp>,
    options: &RemovalOptions,
) -> Result<RemovalReport> {
    let (mut walk, mut needles) = (RemovalWalk::new(options), Needles::default());
    if !delete(store, chat, idle_since, &mut needles, &mut walk).await? {
        return Ok(RemovalReport::default());
    }
    if options.find_copies {
        let mut copies = CopySearch::new(store, &needles, &walk);
        copies.search(&chat.user).await?;
        let found: Vec<_> = copies.finish().collect();
        walk.add_copies(found.into_iter());
    }
    Ok(walk.finish())
}

/// Deletes a chat, without a search for copies of its `needles`. Returns false if it was written to
/// after `idle_since`.
pub(super) async fn delete(
    store: &dyn Store,
    chat: &ChatRef,
    idle_since: Option<Timestamp>,
    needles: &mut Needles,
    walk: &mut RemovalWalk<'_>,
) -> Result<bool> {
    const OPERATION: &str = "delete_chat";
    let options = walk.options;
    let found = store.history().chat(chat).await?;
    let linked = match &found {
        Some(found) => {
            if idle_since.is_some_and(|idle| found.updated_at > idle) {
                return Ok(false);
            }
            let ids = count_contents(store, chat, needles, walk).await?;
            linked_rounds(store, chat, &ids).await?
        }
        None => match store.trajectories() {
            Some(trajectories) => {
                rounds::rounds_of_missing_chat(trajectories, chat, options).await?
            }
            None => BTreeSet::new(),
        },
    };
    options.cancel.check(OPERATION)?;
    if found.is_some() {
        walk.report.chats = 1;
        let bytes = walk.report.bytes;
        let is_planned = walk.plan("chat", None, &chat.chat, Some(bytes));
        if !is_planned && !store.history().delete_chat(chat, idle_since).await? {
            // The chat was written to in the meantime and stays.
            return Ok(false);
        }
    }
    rounds::remove_of_chat(store, chat, linked, walk).await?;
    memories::forget_chat(store, chat, walk).await?;
    Ok(true)
}

async fn linked_rounds(
    store: &dyn Store,
    chat: &ChatRef,
    ids: &[MessageId],
) -> Result<BTreeSet<RoundRef>> {
    match store.trajectories() {
        Some(trajectories) => rounds::linked_rounds(trajectories, chat, ids).await,
        None => Ok(BTreeSet::new()),
    }
}

/// Counts what goes with a chat, and returns the ids of its messages.
async fn count_contents(
    store: &dyn Store,
    chat: &ChatRef,
    needles: &mut Needles,
    walk: &mut RemovalWalk<'_>,
) -> Result<Vec<MessageId>> {
    let history = store.history();
    let nodes = reads::messages(history, chat).await?;
    for placed in &nodes {
        walk.count_message(history, chat, &placed.node, needles).await?;
    }
    walk.report.branches = history.branches(chat).await?.len() as u64;
    walk.report.checkpoints = history.checkpoints(chat).await?.len() as u64;
    walk.report.fragments = store.fragments().fragments(chat).await?.len() as u64;
    if let Some(blobs) = store.blobs() {
        for blob in reads::blobs(blobs, chat).await? {
            walk.report.blobs += 1;
            walk.plan("blob", Some(&chat.chat), blob.id, Some(blob.bytes));
        }
    }
    if let Some(streams) = store.streams() {
        for stream in reads::streams(streams, chat).await? {
            walk.report.streams += 1;
            walk.plan("stream", Some(&chat.chat), stream.id, Some(stream.bytes));
        }
    }
    Ok(nodes.into_iter().map(|placed| placed.node.id.clone()).collect())
}
