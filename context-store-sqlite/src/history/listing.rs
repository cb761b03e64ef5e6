//! Listing the chats of a user, most recent activity first, page by page.
//!
//! The row of most chats holds the time of their last write, so the next of those chats are the
//! next entries of an index. A chat to which messages were appended more than once within a minute
//! is *moved*: the exact time is only in its branches. The page computes the exact time of the
//! moved chats of the minute it begins in, and of as many further minutes as it needs. There are
//! few moved chats, because creating chats and branches settles some of them. A page is merged from
//! the two lists.

use std::cmp::Reverse;

use context_core::base::limits;
use context_core::store::{Chat, ChatQuery, ChatSummary, Cursor, KeyOrder, Page};
use context_core::{ChatRef, UserId};
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{Connection, Row};

use crate::chat::rows::chat_of;
use crate::counts::{self, ListPart, UserCount};
use crate::error::{Fault, Result, bad_cursor};
use crate::sql;
use crate::values::numbers::{agreed, signed};

/// The place of a chat in the listing: the time of its last write, and its number.
type ListingKey = (i64, i64);

/// Lists chats page by page. Metadata is filtered here and not in SQL, because keys and values must
/// be compared exactly.
pub(crate) async fn list(
    connection: &mut SqliteConnection,
    query: &ChatQuery,
) -> Result<Page<ChatSummary>> {
    let mut key = match &query.after {
        None => (i64::MAX, i64::MAX),
        Some(cursor) => key_of(cursor).ok_or_else(|| bad_cursor("list_chats"))?,
    };
    // Most recent first: each chat comes after the one before.
    let mut order =
        KeyOrder::after("list_chats", "chat", query.after.is_some().then_some(Reverse(key)));
    let batch = if query.metadata.is_empty() { query.limit + 1 } else { limits::MAX_PAGE };
    let mut items = Vec::new();
    let mut end = None;
    let mut seen = 0;
    let mut transaction = connection.begin().await?;
    loop {
        let rows = following(&mut transaction, query, key, batch).await?;
        for (at, row) in &rows {
            seen += 1;
            key = *at;
            order.next(Reverse(key))?;
            let chat = ChatRef::new(query.user.clone(), row.try_get::<&str, _>(1)?);
            let chat: Chat = chat_of(row, &chat)?;
            if !query.matches(&chat) {
                continue;
            }
            if items.len() == query.limit {
                UserCount::ListedChats
                    .compare(&mut transaction, &query.user, ListPart::Middle)
                    .await?;
                transaction.commit().await?;
                let next = end.map(|(updated, no)| Cursor::new(format!("{updated}:{no}")));
                return Ok(Page { items, next });
            }
            let (messages, branches) = (agreed(row.try_get(7)?)?, agreed(row.try_get(8)?)?);
            items.push(ChatSummary::new(chat, messages, branches));
            end = Some(key);
        }
        if rows.len() < batch {
            let seen = ListPart::page(query.after.is_none(), false, seen);
            UserCount::ListedChats.compare(&mut transaction, &query.user, seen).await?;
            transaction.commit().await?;
            return Ok(Page { items, next: None });
        }
    }
}

/// Lists the users who have a chat, a round or a memory.
pub(crate) async fn users(
    connection: &mut SqliteConnection,
    limit: usize,
    after: Option<&Cursor>,
) -> Result<Page<UserId>> {
    let mut transaction = connection.begin().await?;
    let query =
        sqlx::query(sql::USERS).bind(after.map_or("", Cursor::as_str)).bind(signed(limit + 1));
    let rows = query.fetch_all(&mut *transaction).await?;
    // Some users have only marks of forgotten memories. They are counted but not listed.
    counts::users(
        &mut transaction,
        if rows.len() > limit { ListPart::Middle } else { ListPart::End },
    )
    .await?;
    transaction.commit().await?;
    let mut items = Vec::new();
    let mut order = KeyOrder::after("users", "user", after.map(|after| after.as_str().to_owned()));
    for row in rows {
        if !row.try_get::<bool, _>(1)? {
            return Err(Fault::Corrupt(
                "the counts of a user differ from the rows of the user",
                None,
            ));
        }
        order.next(row.try_get::<String, _>(0)?)?;
        items.push(UserId::from(row.try_get::<&str, _>(0)?));
    }
    let more = items.len() > limit;
    items.truncate(limit);
    let next = items.last().filter(|_| more).map(|last| Cursor::new(last.as_str()));
    Ok(Page { items, next })
}

/// Returns the next chats after a place, at most `batch`. Fewer means that the list ends.
async fn following(
    connection: &mut SqliteConnection,
    query: &ChatQuery,
    (updated, no): ListingKey,
    batch: usize,
) -> Result<Vec<(ListingKey, SqliteRow)>> {
    let mut found = Vec::new();
    for statement in [sql::LIST_SETTLED, sql::LIST_MOVED] {
        let list = sqlx::query(statement)
            .bind(query.user.as_str())
            .bind(updated)
            .bind(no)
            .bind(signed(batch));
        for row in list.fetch_all(&mut *connection).await? {
            found.push(((row.try_get(6)?, row.try_get(0)?), row));
        }
    }
    // The input is two sorted lists, which the stable sort detects and merges.
    found.sort_by_key(|(key, _)| std::cmp::Reverse(*key));
    found.truncate(batch);
    Ok(found)
}

fn key_of(cursor: &Cursor) -> Option<ListingKey> {
    let (updated, no) = cursor.as_str().split_once(':')?;
    Some((updated.parse().ok()?, no.parse().ok()?))
}
