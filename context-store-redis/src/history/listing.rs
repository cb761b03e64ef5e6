//! Listing the chats of a user, most recent activity first, page by page.
//!
//! The time of the last write is stored only in the chat, so that an append is one script in one
//! slot. A page reads two small fields of every chat of the user, and then the chats that it shows.

use context_core::ChatRef;
use context_core::base::limits;
use context_core::store::{ChatQuery, ChatSummary, Cursor, Page};
use redis::cmd;

use crate::chat::entries::sweep;
use crate::chat::fields::{ChatCounts, Generation};
use crate::connections::shared::Shared;
use crate::error::{Result, bad_cursor};
use crate::history::chats::{SUMMARY, summary};

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
        let order = (
            ChatCounts::read(counts)?.updated_at.as_micros(),
            Generation::read(generation)?.number,
        );
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

fn order_of(cursor: &Cursor) -> Option<Order> {
    let (updated, number) = cursor.as_str().split_once(':')?;
    Some((updated.parse().ok()?, number.parse().ok()?))
}
