//! Reading a damaged store through its traits, around what it refuses to read.

use context_core::base::limits;
use context_core::memory::MemoryScope;
use context_core::store::{ChatQuery, Cursor, Finding, MemoryList, Page, PageWalk, RoundQuery};
use context_core::{CancelSignal, Error, ErrorKind, Result, Store, UserId};
use context_store_kit::salvage::{Loss, LostKind, SalvageSink, SalvagedPiece};

use super::{OPERATION, seam_chat};

/// Returns the reason of an error that is damage, or the error.
pub(super) fn problem(error: Error) -> Result<String> {
    match error.kind() {
        ErrorKind::Corrupt | ErrorKind::Bug | ErrorKind::NotFound | ErrorKind::Invalid => {
            Ok(error.message().to_owned())
        }
        _ => Err(error),
    }
}

/// Reads all items of a listing, or those in front of the damaged one, with the problem.
pub(super) async fn all<T>(
    call: &'static str,
    mut next: impl AsyncFnMut(usize, Option<Cursor>) -> Result<Page<T>>,
) -> Result<(Vec<T>, Option<String>)> {
    let (mut items, mut after, mut limit) = (Vec::new(), None, limits::MAX_PAGE);
    let mut walk = PageWalk::new(call, "item");
    loop {
        let page = match next(limit, after.clone()).await {
            Ok(page) => page,
            // A smaller page may end in front of the damage.
            Err(error) if limit > 1 => {
                problem(error)?;
                limit /= 4;
                limit = limit.max(1);
                continue;
            }
            Err(error) => return Ok((items, Some(problem(error)?))),
        };
        let following = match walk.next(&page) {
            Ok(following) => following,
            Err(error) => return Ok((items, Some(problem(error)?))),
        };
        items.extend(page.items);
        if following.is_none() {
            return Ok((items, None));
        }
        after = following;
    }
}

/// Returns what the check of a store finds, or why it finds nothing.
pub(super) async fn findings(store: &dyn Store, cancel: &CancelSignal) -> Result<Vec<Finding>> {
    let Some(maintenance) = store.maintenance() else { return Ok(Vec::new()) };
    match maintenance.check(cancel).await {
        Ok(report) => Ok(report.findings),
        Err(error) if error.kind() == ErrorKind::Unsupported => Ok(Vec::new()),
        Err(error) => Ok(vec![Finding::new(None, "the check", problem(error)?)]),
    }
}

/// Reads the users of a store, and `more`.
pub(super) async fn read(
    store: &dyn Store,
    more: &[UserId],
    sink: &mut dyn SalvageSink,
    cancel: &CancelSignal,
) -> Result<()> {
    let mut users = Vec::new();
    if let Some(maintenance) = store.maintenance() {
        let listed =
            all("users", async |limit, after| maintenance.users(limit, after.as_ref()).await).await;
        match listed {
            Ok((listed, problem)) => {
                users = listed;
                if let Some(why) = problem {
                    sink.lose(Loss::new(LostKind::User, "", format!("the list of users: {why}")));
                }
            }
            Err(error) if error.kind() == ErrorKind::Unsupported => {}
            Err(error) => return Err(error),
        }
    }
    let others: Vec<_> = more.iter().filter(|user| !users.contains(user)).cloned().collect();
    for user in users.into_iter().chain(others) {
        cancel.check(OPERATION)?;
        chats(store, &user, sink, cancel).await?;
        rounds(store, &user, sink).await?;
        memories(store, &user, sink).await?;
    }
    Ok(())
}

async fn chats(
    store: &dyn Store,
    user: &UserId,
    sink: &mut dyn SalvageSink,
    cancel: &CancelSignal,
) -> Result<()> {
    let query = ChatQuery::new(user.clone());
    let (chats, problem) = all("list_chats", async |limit, after| {
        let mut query = query.clone();
        (query.limit, query.after) = (limit, after);
        store.history().list_chats(&query).await
    })
    .await?;
    if let Some(why) = problem {
        let why = format!("the list of chats, behind {} of them: {why}", chats.len());
        sink.lose(Loss::new(LostKind::User, user, why).of_user(user));
    }
    // The oldest first, as they were written.
    for summary in chats.into_iter().rev() {
        cancel.check(OPERATION)?;
        seam_chat::read(store, summary.chat, sink).await?;
    }
    Ok(())
}

async fn rounds(store: &dyn Store, user: &UserId, sink: &mut dyn SalvageSink) -> Result<()> {
    let Some(trajectories) = store.trajectories() else { return Ok(()) };
    let query = RoundQuery::of_user(user.clone());
    let (heads, problem_of_list) = all("rounds", async |limit, after| {
        trajectories.rounds(&query.clone().limit(limit).after(after)).await
    })
    .await?;
    if let Some(why) = problem_of_list {
        let why = format!("the list of rounds, behind {} of them: {why}", heads.len());
        sink.lose(Loss::new(LostKind::Round, "", why).of_user(user));
    }
    // Listings have the newest first. A round may refer to earlier ones.
    for head in heads.into_iter().rev() {
        let round = head.round;
        let loaded = trajectories.load_rounds(&round.agent, round.round..=round.round).await;
        let why = match loaded.map(|mut rounds| rounds.pop()) {
            Ok(Some(record)) => {
                sink.take(SalvagedPiece::Round(Box::new(record))).await?;
                continue;
            }
            Ok(None) => "it is listed and not there".to_owned(),
            Err(error) => problem(error)?,
        };
        sink.lose(Loss::new(LostKind::Round, &round, why).of_user(user));
    }
    Ok(())
}

async fn memories(store: &dyn Store, user: &UserId, sink: &mut dyn SalvageSink) -> Result<()> {
    let Some(memories) = store.memories() else { return Ok(()) };
    let (stats, problem_of_list) = all("memory_stats", async |limit, after| {
        memories.memory_stats(user, limit, after.as_ref()).await
    })
    .await?;
    if let Some(why) = problem_of_list {
        let why = format!("the list of scopes: {why}");
        sink.lose(Loss::new(LostKind::Memory, "", why).of_user(user));
    }
    let scopes: Vec<MemoryScope> = stats.into_iter().map(|stats| stats.scope).collect();
    let mut found = Vec::new();
    for scope in scopes {
        let list = MemoryList::new(vec![scope], 1);
        let (records, problem_of_list) = all("list_memories", async |limit, after| {
            let mut list = list.clone();
            (list.limit, list.after) = (limit, after);
            memories.list_memories(&list).await
        })
        .await?;
        if let Some(why) = problem_of_list {
            let why = format!("those behind {} of a scope: {why}", records.len());
            sink.lose(Loss::new(LostKind::Memory, "", why).of_user(user));
        }
        found.extend(records);
    }
    found.sort_by_key(|stored| stored.place);
    for stored in found {
        let record = Box::new(stored.record);
        // Neither words nor vectors can be read through the traits.
        sink.take(SalvagedPiece::Memory { record, words: None, vector: None }).await?;
    }
    Ok(())
}
