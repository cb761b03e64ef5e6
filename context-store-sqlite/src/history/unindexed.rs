//! Messages whose words are not in the full-text index yet.
//!
//! FTS5 takes many messages in one transaction at a fifth of what it takes them for one by one, so
//! an append only notes where its messages are. They are indexed when there are many, a few at a
//! time in the background, so that no append waits for FTS5; and always before a search of a handle
//! that writes. A handle that cannot write compares them one by one.

use std::ops::Range;
use std::sync::{Arc, Weak};

use context_core::ChatRef;
use context_core::store::SearchQuery;
use context_store_kit::search::{Count, Ranking, Terms};
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use crate::chat::runs::nodes_at;
use crate::connections::{Connections, Writer};
use crate::error::{Fault, Result};
use crate::history::words::{self, Tag};
use crate::sql;
use crate::values::numbers::signed;

/// The number of messages of a handle that are indexed in the background.
const MANY: i64 = 512;
/// The number of messages after which an append indexes them itself, because nobody else does.
const MOST: i64 = 8 * MANY;
/// The number of appends whose messages one transaction indexes.
const SLICE: i64 = 64;

/// Notes consecutive messages, by the place of the first, that are to be indexed.
pub(crate) async fn add(
    connection: &mut SqliteConnection,
    first: i64,
    messages: i64,
) -> Result<()> {
    sqlx::query(sql::words::ADD_UNINDEXED).bind(first).bind(messages).execute(connection).await?;
    Ok(())
}

/// Returns the number of messages that are not indexed.
pub(crate) async fn count(connection: &mut SqliteConnection) -> Result<i64> {
    Ok(sqlx::query(sql::words::COUNT_UNINDEXED).fetch_one(connection).await?.try_get(0)?)
}

pub(crate) async fn exist(connection: &mut SqliteConnection) -> Result<bool> {
    Ok(!sqlx::query(sql::words::HAS_UNINDEXED).fetch_all(connection).await?.is_empty())
}

/// Consecutive messages that are not indexed, and the chat they belong to.
struct Piece {
    first: i64,
    messages: i64,
    chat_no: i64,
    chat: ChatRef,
}

impl Piece {
    fn places(&self) -> Range<i64> {
        self.first..self.first.saturating_add(self.messages)
    }
}

async fn pieces(connection: &mut SqliteConnection, limit: i64) -> Result<Vec<Piece>> {
    const STRAY: Fault = Fault::Corrupt("messages to be indexed belong to no chat", None);
    let rows = sqlx::query(sql::words::UNINDEXED).bind(limit).fetch_all(connection).await?;
    let piece = |row: &SqliteRow| {
        let name = |column| row.try_get::<Option<&str>, _>(column)?.ok_or(STRAY);
        let (user, chat) = (name(3)?, name(4)?);
        let chat = ChatRef::new(user, chat);
        Ok(Piece {
            first: row.try_get(0)?,
            messages: row.try_get(1)?,
            chat_no: row.try_get(2)?,
            chat,
        })
    };
    rows.iter().map(piece).collect()
}

/// Indexes the next messages. Returns how many, none if there are none left.
async fn index_some(connection: &mut SqliteConnection) -> Result<i64> {
    let pieces = pieces(connection, SLICE).await?;
    let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else { return Ok(0) };
    let range = (first.first, last.first);
    let places: Vec<i64> = pieces.iter().flat_map(Piece::places).collect();
    let nodes = nodes_at(connection, &places).await?;
    let mut rows = Vec::with_capacity(places.len());
    for piece in &pieces {
        let tag = Tag::of(&piece.chat.user);
        for place in piece.places() {
            rows.extend(nodes.get(&place).and_then(|node| tag.row(place, node)));
        }
    }
    words::insert(connection, &rows).await?;
    sqlx::query(sql::words::INDEXED).bind(range.0).bind(range.1).execute(connection).await?;
    Ok(signed(places.len()))
}

/// Indexes all messages, in the transaction of the caller.
pub(crate) async fn index_all(connection: &mut SqliteConnection) -> Result<()> {
    while index_some(connection).await? > 0 {}
    Ok(())
}

/// Indexes the next messages in a transaction of their own. Returns whether there are more.
async fn index_slice(writer: &mut Writer) -> Result<bool> {
    let mut transaction = writer.begin().await?;
    let indexed = index_some(&mut transaction).await?;
    transaction.commit().await?;
    writer.unindexed = if indexed == 0 { 0 } else { (writer.unindexed - indexed).max(0) };
    Ok(indexed > 0)
}

/// Indexes all messages, so that a search finds them. Others may write in between.
pub(crate) async fn settle(connections: &Connections) -> Result<()> {
    while index_slice(&mut *connections.writer().await?).await? {}
    Ok(())
}

/// Sees to messages that were just written: many are indexed in the background, and too many at
/// once. The messages are stored, so an error is left to whoever searches next, and meets it too.
pub(crate) async fn see_to(connections: &Arc<Connections>, writer: &mut Writer) {
    if writer.unindexed < MANY || !writer.full_text {
        return;
    }
    let background = tokio::runtime::Handle::try_current();
    if let (Ok(runtime), false) = (background, writer.unindexed >= MOST) {
        if !std::mem::replace(&mut writer.indexes, true) {
            runtime.spawn(index_in_background(Arc::downgrade(connections)));
        }
    } else {
        let _left_to_others = index_slice(writer).await;
    }
}

/// Indexes slice by slice until fewer than a slice are left, the store is closed, or an error
/// comes, which is left to whoever searches next.
async fn index_in_background(connections: Weak<Connections>) {
    loop {
        let Some(connections) = connections.upgrade() else { return };
        let Ok(mut writer) = connections.writer().await else { return };
        let more = matches!(index_slice(&mut writer).await, Ok(true));
        // What others write meanwhile is not worth a transaction of its own.
        if !more || writer.unindexed < SLICE {
            writer.indexes = false;
            return;
        }
        drop(writer);
        tokio::task::yield_now().await;
    }
}

/// A message that has all words of a search.
pub(crate) struct IndexHit {
    pub(crate) place: i64,
    /// Lower is better.
    pub(crate) score: f64,
    pub(crate) chat: ChatRef,
}

/// Returns the messages that are not indexed and match a search in its scope: a chat's number, or
/// everything of the user, and within that the ranges of places that a branch has. They are scored
/// with the numbers of the index and their own.
pub(crate) async fn scan(
    connection: &mut SqliteConnection,
    query: &SearchQuery,
    terms: &Terms,
    chat: Option<i64>,
    ranges: Option<&[(i64, i64)]>,
) -> Result<Vec<IndexHit>> {
    let mut pieces = pieces(connection, -1).await?;
    pieces.retain(|piece| {
        piece.chat.user == query.user && chat.is_none_or(|chat| chat == piece.chat_no)
    });
    let inside = |place: i64| match ranges {
        Some(ranges) => ranges.iter().any(|(first, last)| (first..=last).contains(&&place)),
        None => true,
    };
    let places: Vec<i64> =
        pieces.iter().flat_map(Piece::places).filter(|place| inside(*place)).collect();
    if places.is_empty() {
        return Ok(Vec::new());
    }
    let nodes = nodes_at(connection, &places).await?;
    let mut ranking = ranking_of_index(connection, query, terms).await?;
    let mut matches = Vec::new();
    for piece in &pieces {
        for place in piece.places() {
            let Some(node) = nodes.get(&place) else { continue };
            let (Some(role), Ok(message)) = (node.role(), node.message()) else { continue };
            let count = terms.count(&message.readable_text());
            if count.words == 0 || !(query.roles.is_empty() || query.roles.contains(&role)) {
                continue;
            }
            ranking.add(&count);
            if count.is_hit() {
                matches.push((place, &piece.chat, count));
            }
        }
    }
    let hit = |(place, chat, count): (i64, &ChatRef, Count)| IndexHit {
        place,
        score: -ranking.score(&count),
        chat: chat.clone(),
    };
    Ok(matches.into_iter().map(hit).collect())
}

/// Returns a ranking that knows the texts of the index.
async fn ranking_of_index(
    connection: &mut SqliteConnection,
    query: &SearchQuery,
    terms: &Terms,
) -> Result<Ranking> {
    let rows = sqlx::query(sql::words::WORD_TOTALS).fetch_all(&mut *connection).await?;
    let totals = rows.first().map(|row| row.try_get::<&[u8], _>(0)).transpose()?;
    let [texts, words @ ..] = totals.and_then(words::counts::<5>).unwrap_or_default();
    let mut matching = Vec::with_capacity(terms.phrases().len());
    let tag = Tag::of(&query.user);
    for phrase in terms.phrases() {
        let count = sqlx::query(sql::words::COUNT_MATCHES).bind(tag.phrase(phrase));
        let count: i64 = count.fetch_one(&mut *connection).await?.try_get(0)?;
        matching.push(usize::try_from(count).unwrap_or(0));
    }
    let length = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    Ok(Ranking::of(length(texts), length(words.iter().sum()), matching))
}
