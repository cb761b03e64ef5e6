//! Full-text search: the index ranks the hits, the messages provide the rest.

use std::collections::HashMap;

use context_core::store::{Cursor, Page, SearchHit, SearchQuery, SearchScope};
use context_core::{ChatId, ChatRef, Error, UserId};
use context_store_kit::search::Terms;
use sqlx::sqlite::SqliteConnection;
use sqlx::{Connection, Row};

use crate::chat::access::chat_no;
use crate::chat::branches::{find_branch, lineage};
use crate::chat::runs::nodes_at;
use crate::connections::Connections;
use crate::error::{Fault, Result, bad_cursor};
use crate::history::unindexed::{self, IndexHit};
use crate::history::words::Tag;
use crate::sql;
use crate::values::numbers::signed;

const OPERATION: &str = "search";

/// Indexes the messages that are not indexed yet, so that the index ranks them with all others. If
/// another process holds the file, the search compares them one by one.
pub(crate) async fn prepare(connections: &Connections) -> Result<()> {
    if !unindexed::exist(&mut *connections.reader().await?).await? {
        return Ok(());
    }
    match unindexed::settle(connections).await {
        Err(fault) if fault.is_busy() => Ok(()),
        settled => settled,
    }
}

/// Searches messages. All reads see one state of the file.
pub(crate) async fn search(
    connection: &mut SqliteConnection,
    query: &SearchQuery,
) -> Result<Page<SearchHit>> {
    let after = query.after.as_ref().map(place_of).transpose()?;
    let terms = Terms::parse(&query.text, query.prefix);
    let mut transaction = connection.begin().await?;
    let mut found = find(&mut transaction, query, &terms, after).await?;
    let more = found.len() > query.limit;
    found.truncate(query.limit);
    let places: Vec<i64> = found.iter().map(|found| found.place).collect();
    let nodes = if places.is_empty() {
        HashMap::new()
    } else {
        nodes_at(&mut transaction, &places).await?
    };
    transaction.commit().await?;
    let next = found.last().filter(|_| more);
    let next = next.map(|last| Cursor::new(format!("{}:{}", last.score.to_bits(), last.place)));
    let mut items = Vec::with_capacity(found.len());
    for IndexHit { place, score, chat } in found {
        let node = nodes
            .get(&place)
            .ok_or(Fault::Corrupt("a message that the search found is missing", None))?;
        let (Some(role), Ok(message)) = (node.role(), node.message()) else {
            return Err(Fault::Corrupt(
                "the full-text index has words of an entry that is not a message",
                None,
            ));
        };
        let snippet = terms.snippet(&message.readable_text());
        items.push(SearchHit::new(chat, node.id.clone(), (role, node.created_at), -score, snippet));
    }
    Ok(Page { items, next })
}

/// Returns the hits of the page, and one more if there is one.
async fn find(
    connection: &mut SqliteConnection,
    query: &SearchQuery,
    terms: &Terms,
    after: Option<(f64, i64)>,
) -> Result<Vec<IndexHit>> {
    let mut chat_number = None;
    let (statement, branch) = match &query.scope {
        SearchScope::User => (sql::words::HITS_OF_USER, None),
        SearchScope::Chat(chat) => {
            chat_number = Some(number(connection, &query.user, chat).await?);
            (sql::words::HITS_OF_CHAT, None)
        }
        SearchScope::Branch(chat, branch) => {
            let no = number(connection, &query.user, chat).await?;
            if find_branch(connection, no, branch).await?.is_none() {
                return Err(Error::not_found(OPERATION, "branch", branch).into());
            }
            chat_number = Some(no);
            (sql::words::HITS_OF_BRANCH, Some(branch))
        }
        _ => return Err(Error::invalid(OPERATION, "this store does not know the scope").into()),
    };
    if terms.is_empty() {
        return Ok(Vec::new());
    }
    let mut hits = sqlx::query(statement)
        .bind(Tag::of(&query.user).expression(terms, &query.roles))
        .bind(after.map(|(score, _)| score))
        .bind(after.map(|(_, place)| place))
        .bind(query.user.as_str())
        .bind(signed(query.limit.saturating_add(1)));
    if let Some(no) = chat_number {
        hits = hits.bind(no);
    }
    if let Some(branch) = branch {
        hits = hits.bind(branch.as_str());
    }
    let mut found = Vec::new();
    for row in hits.fetch_all(&mut *connection).await? {
        let chat = ChatRef::new(row.try_get::<&str, _>(3)?, row.try_get::<&str, _>(2)?);
        found.push(IndexHit { place: row.try_get(0)?, score: row.try_get(1)?, chat });
    }
    if unindexed::exist(connection).await? {
        let ranges = match (branch, chat_number) {
            (Some(branch), Some(no)) => Some(lineage(connection, no, branch).await?),
            _ => None,
        };
        let newest =
            unindexed::scan(connection, query, terms, chat_number, ranges.as_deref()).await?;
        let behind = |hit: &IndexHit| match after {
            Some((score, place)) => hit.score > score || hit.score == score && hit.place < place,
            None => true,
        };
        found.extend(newest.into_iter().filter(behind));
        found.sort_by(|a, b| a.score.total_cmp(&b.score).then(b.place.cmp(&a.place)));
        found.truncate(query.limit.saturating_add(1));
    }
    Ok(found)
}

async fn number(connection: &mut SqliteConnection, user: &UserId, chat: &ChatId) -> Result<i64> {
    chat_no(connection, OPERATION, &ChatRef::new(user.clone(), chat.clone())).await
}

fn place_of(cursor: &Cursor) -> Result<(f64, i64)> {
    let place = cursor.as_str().split_once(':').and_then(|(score, place)| {
        let score = f64::from_bits(score.parse().ok()?);
        Some((score, place.parse().ok()?)).filter(|_| score.is_finite())
    });
    place.ok_or_else(|| bad_cursor(OPERATION).into())
}
