//! Erasing a user.

use std::collections::BTreeSet;

use context_core::base::limits;
use context_core::store::{ChatQuery, PageWalk, RoundQuery};
use context_core::{Error, ErrorKind, Result, Store, UserId};

use super::walk::RemovalWalk;
use super::{RemovalOptions, RemovalReport, memories, reads, rounds};

/// Erases a user: deletes all data of the user from the store, including leftovers in its files as
/// far as the store can clear them. A final search of the whole store
/// [counts](RemovalReport::found) what is still found. Copies in the data of other users are not
/// searched for.
///
/// Returns [`ErrorKind::Unsupported`] if the store does not support maintenance.
pub async fn erase_user(
    store: &dyn Store,
    user: &UserId,
    options: &RemovalOptions,
) -> Result<RemovalReport> {
    let maintenance = store.maintenance().ok_or_else(|| {
        Error::new(ErrorKind::Unsupported, "erase_user", "the store does not support maintenance")
            .with("store", store.info().name)
    })?;
    if options.dry_run {
        return plan(store, user, options).await;
    }
    let erased = maintenance.erase_user(user, &options.cancel).await?;
    Ok(RemovalReport {
        chats: erased.chats,
        messages: erased.messages,
        blobs: erased.blobs,
        streams: erased.streams,
        rounds: erased.rounds,
        memories: erased.memories,
        found: erased.remaining,
        ..RemovalReport::default()
    })
}

/// Counts what an erasure would erase, and names the chats.
async fn plan(store: &dyn Store, user: &UserId, options: &RemovalOptions) -> Result<RemovalReport> {
    let mut walk = RemovalWalk::new(options);
    let mut blobs = BTreeSet::new();
    let mut query = ChatQuery { limit: limits::MAX_PAGE, ..ChatQuery::new(user.clone()) };
    let mut pages = PageWalk::new("list_chats", "chat");
    loop {
        let page = store.history().list_chats(&query).await?;
        let next = pages.next(&page)?;
        for summary in page.items {
            options.cancel.check("erase_user")?;
            let chat = &summary.chat.chat;
            let size = store.history().chat_size(chat).await?;
            walk.report.chats += 1;
            walk.report.messages += size.messages;
            walk.plan("chat", None, &chat.chat, Some(size.bytes));
            if let Some(store) = store.blobs() {
                blobs.extend(reads::blobs(store, chat).await?.into_iter().map(|blob| blob.id));
            }
            if let Some(store) = store.streams() {
                walk.report.streams += reads::streams(store, chat).await?.len() as u64;
            }
        }
        query.after = next;
        if query.after.is_none() {
            break;
        }
    }
    // A blob is stored once for all chats of a user.
    walk.report.blobs = blobs.len() as u64;
    if let Some(trajectories) = store.trajectories() {
        let heads = rounds::heads(trajectories, RoundQuery::of_user(user.clone())).await?;
        walk.report.rounds = heads.len() as u64;
    }
    if let Some(records) = store.memories() {
        walk.report.memories = memories::count(records, user).await?;
    }
    Ok(walk.finish())
}
