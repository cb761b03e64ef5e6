//! Deleting chats with everything derived from them.

use std::collections::BTreeSet;

use context_core::base::limits;
use context_core::store::PageWalk;
use context_core::trajectory::RoundRef;
use context_core::{ChatRef, MessageId, Result, Store, Timestamp};

use super::texts::Needles;
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
    const OPERATION: &str = "delete_chat";
    let mut report = RemovalReport::default();
    let mut needles = Needles::default();
    let is_there = store.history().chat(chat).await?.is_some();
    let linked = if is_there {
        let nodes = reads::messages(store.history(), chat).await?;
        report.messages = nodes.len() as u64;
        for placed in
            nodes.iter().filter(|placed| options.find_copies && placed.node.role().is_some())
        {
            if let Ok(message) = placed.node.message() {
                needles.add_message(message);
            }
        }
        let ids: Vec<MessageId> = nodes.into_iter().map(|placed| placed.node.id.clone()).collect();
        (report.blobs, report.streams) = contents(store, chat).await?;
        linked_rounds(store, chat, &ids).await?
    } else {
        match store.trajectories() {
            Some(trajectories) => {
                rounds::rounds_of_missing_chat(trajectories, chat, options).await?
            }
            None => BTreeSet::new(),
        }
    };
    options.cancel.check(OPERATION)?;
    let is_deleted = is_there && store.history().delete_chat(chat, idle_since).await?;
    if is_there && !is_deleted {
        // The chat was written to in the meantime and stays.
        return Ok(RemovalReport::default());
    }
    report.chats = u64::from(is_deleted);
    rounds::remove_of_chat(store, chat, linked, options, &mut report).await?;
    memories::forget_chat(store, chat, &mut report).await?;
    if options.find_copies {
        report.remaining.extend(copies::find(store, &chat.user, &needles, options).await?);
    }
    report.remaining.sort();
    report.remaining.dedup();
    Ok(report)
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

/// Counts the blobs that a chat refers to, and its streams.
async fn contents(store: &dyn Store, chat: &ChatRef) -> Result<(u64, u64)> {
    let (mut blobs, mut streams) = (0, 0);
    if let Some(store) = store.blobs() {
        let mut after = None;
        let mut walk = PageWalk::new("blobs", "blob");
        loop {
            let page = store.blobs(chat, limits::MAX_PAGE, after.as_ref()).await?;
            let next = walk.next(&page)?;
            blobs += page.items.len() as u64;
            after = next;
            if after.is_none() {
                break;
            }
        }
    }
    if let Some(store) = store.streams() {
        streams = reads::streams(store, chat).await?.len() as u64;
    }
    Ok((blobs, streams))
}
