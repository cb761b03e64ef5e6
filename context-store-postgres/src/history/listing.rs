//! Listing the chats of a user, most recent activity first, and listing users, page by page.

use context_core::base::limits;
use context_core::store::{Chat, ChatQuery, ChatSummary, Cursor, Page};
use context_core::{ChatRef, UserId};
use sqlx::Row;

use crate::chat::rows::chat_of;
use crate::connections::Session;
use crate::error::{Result, bad_cursor};
use crate::sql;
use crate::values::numbers::{count, signed};
use crate::values::rows::text;

/// The position of a chat in the listing: the time of its last write, and its number.
type Position = (i64, i64);

/// Lists chats page by page. Metadata is filtered here and not in SQL, because keys and values must
/// be compared exactly.
pub(crate) async fn list(
    session: &mut Session<'_>,
    query: &ChatQuery,
) -> Result<Page<ChatSummary>> {
    let mut position = match &query.after {
        None => (i64::MAX, i64::MAX),
        Some(cursor) => parse_cursor(cursor).ok_or_else(|| bad_cursor("list_chats"))?,
    };
    let batch = if query.metadata.is_empty() { query.limit + 1 } else { limits::MAX_PAGE };
    let mut items = Vec::new();
    let mut end = None;
    loop {
        let list = session.query(sql::LIST).bind(query.user.as_str().as_bytes());
        let rows = session.all(list.bind(position.0).bind(position.1).bind(signed(batch))).await?;
        for row in &rows {
            position = (row.try_get(6)?, row.try_get(0)?);
            let chat: Chat = chat_of(row, &ChatRef::new(query.user.clone(), text(row, 1)?))?;
            if !query.matches(&chat) {
                continue;
            }
            if items.len() == query.limit {
                let next = end.map(|(updated, no)| Cursor::new(format!("{updated}:{no}")));
                return Ok(Page { items, next });
            }
            items.push(ChatSummary::new(chat, count(row.try_get(10)?)?, count(row.try_get(11)?)?));
            end = Some(position);
        }
        if rows.len() < batch {
            return Ok(Page { items, next: None });
        }
    }
}

/// Lists the users who have a chat, a round or a memory, in the byte order of their ids.
pub(crate) async fn users(
    session: &mut Session<'_>,
    limit: usize,
    after: Option<&Cursor>,
) -> Result<Page<UserId>> {
    let after = after.map_or("", Cursor::as_str).as_bytes();
    let query = session.query(sql::USERS).bind(after).bind(signed(limit + 1));
    let mut items = Vec::new();
    for row in session.all(query).await? {
        items.push(UserId::from(text(&row, 0)?));
    }
    let more = items.len() > limit;
    items.truncate(limit);
    let next = items.last().filter(|_| more).map(|last| Cursor::new(last.as_str()));
    Ok(Page { items, next })
}

fn parse_cursor(cursor: &Cursor) -> Option<Position> {
    let (updated, no) = cursor.as_str().split_once(':')?;
    Some((updated.parse().ok()?, no.parse().ok()?))
}
