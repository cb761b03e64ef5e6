//! Deleting chats with everything derived from them.

use std::collections::BTreeSet;

use context_core::trajectory::RoundRef;
use context_core::{ChatRef, MessageId, Result, Store, Timestamp};

use super::texts::Needles;
use super::walk::RemovalWalk;
use super::{RemovalOptions, RemovalReport, copies, memories, reads, rounds};

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
    delete(store, chat, idle_since, &mut RemovalWalk::new(options)).await
}

/// Plans the deletion of several chats, one after the other, as [`delete_chat`] does it with
/// [`dry_run`](RemovalOptions::dry_run): a copy that goes with an earlier chat does not remain.
pub async fn plan_deletion(
    store: &dyn Store,
    chats: &[ChatRef],
    options: &RemovalOptions,
) -> Result<Vec<RemovalReport>> {
    let options = options.clone().dry_run(true);
    let mut walk = RemovalWalk::new(&options);
    let mut plans = Vec::with_capacity(chats.len());
    for chat in chats {
        plans.push(delete(store, chat, None, &mut walk).await?);
    }
    Ok(plans)
}

async fn delete(
    store: &dyn Store,
    chat: &ChatRef,
    idle_since: Option<Timestamp>,
    walk: &mut RemovalWalk<'_>,
) -> Result<RemovalReport> {
    const OPERATION: &str = "delete_chat";
    let options = walk.options;
    let mut needles = Needles::default();
    let found = store.history().chat(chat).await?;
    let linked = match &found {
        Some(found) => {
            if idle_since.is_some_and(|idle| found.updated_at > idle) {
                return Ok(RemovalReport::default());
            }
            let ids = count_contents(store, chat, &mut needles, walk).await?;
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
            return Ok(RemovalReport::default());
        }
    }
    rounds::remove_of_chat(store, chat, linked, walk).await?;
    memories::forget_chat(store, chat, walk).await?;
    if options.find_copies {
        copies::find(store, chat, &needles, walk).await?;
    }
    Ok(walk.finish())
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
        let (revisions, _) = walk.count_message(history, chat, &placed.node).await?;
        if walk.options.find_copies {
            let earlier = revisions.iter().map(|revision| &revision.node);
            for node in std::iter::once(&placed.node).chain(earlier) {
                if let Some(Ok(message)) = node.role().map(|_| node.message()) {
                    needles.add_message(message);
                }
            }
        }
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
