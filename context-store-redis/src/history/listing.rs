//! Listing the chats of a user, most recent activity first, page by page.
//!
//! The time of the last write is stored only in the chat, so that an append is one script in one
//! slot. A page reads two small fields of every chat of the user, and then the chats that it shows.
//!
//! There is no list of all users. It would be one key that every creation in a cluster writes to. A
//! page of users scans all keys and reads one chat of each user to get the user's id.

use std::collections::{BTreeSet, HashMap};

use context_core::base::limits;
use context_core::store::{ChatQuery, ChatSummary, Cursor, Page};
use context_core::{ChatRef, UserId};
use redis::cmd;

use crate::error::{Result, bad_cursor};
use crate::history::chats::{SUMMARY, summary};
use crate::history::fields::{Counts, Generation};
use crate::history::look::About;
use crate::keys::Keys;
use crate::memories::scopes::read_scope;
use crate::rounds::fields::read_head;
use crate::shared::Shared;
use crate::upkeep::sweep::sweep;

/// The number of entries without a chat that a page removes.
const SWEEP: usize = 32;

/// The place of a chat in the listing: the time of its last write, and its number.
type Order = (i64, u64);

pub(crate) async fn list(shared: &Shared, query: &ChatQuery) -> Result<Page<ChatSummary>> {
    let after =
        query.after.as_ref().map(|cursor| order_of(cursor).ok_or_else(|| bad_cursor("list_chats")));
    let after = after.transpose()?;
    let names: Vec<String> = shared
        .connection
        .run(cmd("ZRANGE").arg(shared.keys.chats(&query.user)).arg(0).arg(-1))
        .await?;
    let key = |name: &String| shared.keys.chat(&ChatRef::new(query.user.clone(), name.as_str()));
    let keys = names.iter().map(key).collect();
    let mut found: Vec<(Order, String)> = Vec::new();
    let mut gone = Vec::new();
    for (name, values) in
        names.into_iter().zip(shared.connection.fields_of_all(keys, &["a", "o"]).await?)
    {
        let [Some(counts), Some(generation)] = &values[..] else {
            gone.push(name);
            continue;
        };
        let order =
            (Counts::read(counts)?.updated_at.as_micros(), Generation::read(generation)?.number);
        if after.is_none_or(|after| order < after) {
            found.push((order, name));
        }
    }
    let swept = if shared.connection.read_only() { 0 } else { SWEEP };
    for name in gone.iter().take(swept) {
        sweep(shared, &query.user, name).await?;
    }
    found.sort_unstable_by_key(|(order, _)| std::cmp::Reverse(*order));

    let mut items = Vec::new();
    let mut end = None;
    let batch = if query.metadata.is_empty() { query.limit + 1 } else { limits::MAX_PAGE };
    for batch in found.chunks(batch) {
        let keys = batch.iter().map(|(_, name)| key(name)).collect();
        for ((order, _), values) in
            batch.iter().zip(shared.connection.fields_of_all(keys, &SUMMARY).await?)
        {
            // A chat that was deleted meanwhile is not listed.
            let Some(summary) = summary(values)?.filter(|summary| query.matches(&summary.chat))
            else {
                continue;
            };
            if items.len() == query.limit {
                let next = end.map(|(updated, number)| Cursor::new(format!("{updated}:{number}")));
                return Ok(Page { items, next });
            }
            items.push(summary);
            end = Some(*order);
        }
    }
    Ok(Page { items, next: None })
}

/// Lists the users who have a chat, a round or a memory.
pub(crate) async fn users(
    shared: &Shared,
    limit: usize,
    after: Option<&Cursor>,
) -> Result<Page<UserId>> {
    let mut theirs: HashMap<String, Vec<String>> = HashMap::new();
    let keys = &shared.keys;
    for pattern in [keys.pattern_of_counts(), keys.pattern_of_rounds(), keys.pattern_of_chats()] {
        for key in shared.connection.scan(&pattern).await? {
            let Ok(key) = String::from_utf8(key) else { continue };
            if let Some(user) = Keys::user_of(&key) {
                theirs.entry(user.to_owned()).or_default().push(key);
            }
        }
    }
    let mut users = BTreeSet::new();
    // A key that was deleted meanwhile does not tell its user. The next key of the same user may.
    while !theirs.is_empty() {
        let asked: Vec<(String, String)> = theirs
            .iter_mut()
            .filter_map(|(user, keys)| Some((user.clone(), keys.pop()?)))
            .collect();
        theirs.retain(|_, keys| !keys.is_empty());
        let keys = asked.iter().map(|(_, key)| key.clone()).collect();
        // The fields belong to chats, to rounds, and to the counters of a scope of memories.
        let found = shared.connection.fields_of_all(keys, &["m", "h", "scope"]).await?;
        for ((hash, _), values) in asked.iter().zip(found) {
            let user = match &values[..] {
                [Some(about), ..] => About::read(about)?.chat.user,
                [_, Some(head), _] => read_head(head)?.round.agent.user,
                [.., Some(scope)] => read_scope(scope)?.user,
                _ => continue,
            };
            users.insert(user);
            theirs.remove(hash);
        }
    }
    let behind = |user: &UserId| after.is_none_or(|after| user.as_str() > after.as_str());
    let mut items: Vec<UserId> = users.into_iter().filter(behind).take(limit + 1).collect();
    let more = items.len() > limit;
    items.truncate(limit);
    let next = items.last().filter(|_| more).map(|last| Cursor::new(last.as_str()));
    Ok(Page { items, next })
}

fn order_of(cursor: &Cursor) -> Option<Order> {
    let (updated, number) = cursor.as_str().split_once(':')?;
    Some((updated.parse().ok()?, number.parse().ok()?))
}
