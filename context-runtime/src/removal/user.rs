//! Erasing a user.

use std::collections::BTreeSet;

use context_core::base::limits;
use context_core::memory::{MemoryForget, MemoryScope};
use context_core::store::{ChatQuery, Cursor, Maintenance, PageWalk, RoundQuery};
use context_core::{ChatRef, Error, ErrorKind, Result, Store, UserId};

use super::copies::CopySearch;
use super::plan::MAX_RUNS;
use super::texts::Needles;
use super::walk::RemovalWalk;
use super::{RemovalOptions, RemovalReport, memories, reads, rounds};

const OPERATION: &str = "erase_user";

/// Erases a user: deletes all data of the user from the store, including leftovers in its files as
/// far as the store can clear them. A final search of the whole store
/// [counts](RemovalReport::found) what is still found.
///
/// A [dry run](RemovalOptions::dry_run) also searches the data of all other users for what the user
/// said, was answered, and had from tools, if the store lists its users. The erasure itself does
/// not search: the data of all users may be far more than that of one.
///
/// Returns [`ErrorKind::Unsupported`] if the store does not support maintenance.
pub async fn erase_user(
    store: &dyn Store,
    user: &UserId,
    options: &RemovalOptions,
) -> Result<RemovalReport> {
    let maintenance = store.maintenance().ok_or_else(|| {
        Error::new(ErrorKind::Unsupported, OPERATION, "the store does not support maintenance")
            .with("store", store.info().name)
    })?;
    if options.dry_run {
        return plan(store, maintenance, user, options).await;
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

/// Names what an erasure would erase, and copies with other users.
async fn plan(
    store: &dyn Store,
    maintenance: &dyn Maintenance,
    user: &UserId,
    options: &RemovalOptions,
) -> Result<RemovalReport> {
    let mut walk = RemovalWalk::new(options);
    let others = match options.find_copies {
        true => other_users(maintenance, user).await?,
        false => None,
    };
    let (mut blobs, mut needles) = (BTreeSet::new(), Needles::default());
    let mut query = ChatQuery { limit: limits::MAX_PAGE, ..ChatQuery::new(user.clone()) };
    let mut pages = PageWalk::new("list_chats", "chat");
    loop {
        let page = store.history().list_chats(&query).await?;
        let next = pages.next(&page)?;
        for summary in page.items {
            options.cancel.check(OPERATION)?;
            options.cancel.report("chat", walk.report.chats);
            plan_chat(store, &summary.chat.chat, &mut blobs, &mut walk).await?;
            if let Some(others) = &others {
                let messages = reads::messages(store.history(), &summary.chat.chat).await?;
                messages.iter().for_each(|placed| needles.add_said(&placed.node));
                if needles.len() > MAX_RUNS {
                    search(store, others, &needles, &mut walk).await?;
                    needles.clear();
                }
            }
        }
        query.after = next;
        if query.after.is_none() {
            break;
        }
    }
    if let Some(trajectories) = store.trajectories() {
        for head in rounds::heads(trajectories, RoundQuery::of_user(user.clone())).await? {
            walk.report.rounds += u64::from(walk.plan("round", None, &head.round, None));
        }
    }
    if let Some(records) = store.memories() {
        let all = MemoryForget::Scope(MemoryScope::new(user.clone()));
        for record in memories::matching_memories(records, &all).await? {
            walk.report.memories += u64::from(walk.plan_memory(&record));
        }
    }
    if let Some(others) = &others {
        search(store, others, &needles, &mut walk).await?;
    }
    Ok(walk.finish())
}

/// Names a chat with its blobs and streams.
async fn plan_chat(
    store: &dyn Store,
    chat: &ChatRef,
    blobs: &mut BTreeSet<context_core::base::BlobId>,
    walk: &mut RemovalWalk<'_>,
) -> Result<()> {
    let size = store.history().chat_size(chat).await?;
    walk.report.chats += 1;
    walk.report.messages += size.messages;
    walk.plan("chat", None, &chat.chat, Some(size.bytes));
    if let Some(store) = store.blobs() {
        for blob in reads::blobs(store, chat).await? {
            // A blob is stored once for all chats of a user.
            if blobs.insert(blob.id) {
                walk.report.blobs += 1;
                walk.plan("blob", Some(&chat.chat), blob.id, Some(blob.bytes));
            }
        }
    }
    if let Some(store) = store.streams() {
        for stream in reads::streams(store, chat).await? {
            walk.report.streams += 1;
            walk.plan("stream", Some(&chat.chat), stream.id, Some(stream.bytes));
        }
    }
    Ok(())
}

/// Returns the other users. `None` if the store does not list its users.
async fn other_users(maintenance: &dyn Maintenance, user: &UserId) -> Result<Option<Vec<UserId>>> {
    let read = |after: Option<Cursor>| async move {
        maintenance.users(limits::MAX_PAGE, after.as_ref()).await
    };
    match PageWalk::new("users", "user").collect(read).await {
        Ok(mut users) => {
            users.retain(|other| other != user);
            Ok(Some(users))
        }
        Err(error) if error.kind() == ErrorKind::Unsupported => Ok(None),
        Err(error) => Err(error),
    }
}

/// Searches the data of other users.
async fn search(
    store: &dyn Store,
    others: &[UserId],
    needles: &Needles,
    walk: &mut RemovalWalk<'_>,
) -> Result<()> {
    // What goes has the same names as what others have.
    let unplanned = RemovalWalk::new(walk.options);
    let mut copies = CopySearch::new(store, needles, &unplanned).of_others();
    for other in others {
        copies.search(other).await?;
    }
    walk.add_copies(copies.finish());
    Ok(())
}
