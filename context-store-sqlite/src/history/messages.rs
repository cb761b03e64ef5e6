//! Messages by id and page by page, and their earlier revisions.

use std::collections::HashMap;
use std::sync::Arc;

use context_core::base::limits;
use context_core::message::PlacedNode;
use context_core::store::{Cursor, Page, Revision};
use context_core::{ChatRef, MessageId, Node, Timestamp};
use context_store_kit::pack;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{Connection, Row};

use crate::chat::access::chat_no;
use crate::chat::branches::{Segment, segments};
use crate::chat::runs::{NO_RUN, nodes_at, runs_from};
use crate::chat::tails;
use crate::checksums::{BRANCH, REVISION};
use crate::counts::{self, ChatCount, ListPart};
use crate::error::{Fault, Result, bad_cursor};
use crate::sql;
use crate::values::numbers::{count, signed};
use crate::values::place::{own_of, place};
use crate::values::rows::{blob, json_ids, message_id, nth};

pub(crate) const MISPLACED: &str = "a message is not at the place that the index of ids names";
pub(crate) const NOT_INDEXED: &str = "messages are not in the index of ids";

/// The location of a stored message.
#[derive(Clone, Debug)]
pub(crate) struct MessageLocation {
    pub(crate) place: i64,
    /// The place of the message before it.
    pub(crate) parent: Option<i64>,
    pub(crate) depth: i64,
}

impl MessageLocation {
    fn and_parent(&self) -> impl Iterator<Item = i64> + use<> {
        [Some(self.place), self.parent].into_iter().flatten()
    }
}

/// Finds messages by id. The map has no entry for messages that do not exist.
pub(crate) async fn find(
    connection: &mut SqliteConnection,
    chat: i64,
    ids: impl Iterator<Item = &MessageId> + Clone,
) -> Result<HashMap<MessageId, MessageLocation>> {
    let mut rows = Vec::new();
    match json_ids(ids.clone()) {
        _ if ids.clone().next().is_none() => {}
        Some(json) => {
            rows =
                sqlx::query(sql::SPOTS).bind(chat).bind(json).fetch_all(&mut *connection).await?;
        }
        None => {
            for id in ids {
                let spot = sqlx::query(sql::SPOT).bind(chat).bind(id.as_str());
                rows.extend(spot.fetch_all(&mut *connection).await?);
            }
        }
    }
    rows.iter().map(spot).collect()
}

fn spot(row: &SqliteRow) -> Result<(MessageId, MessageLocation)> {
    let id = message_id(row, 0)?.ok_or(Fault::Corrupt("a message has no id", None))?;
    BRANCH.check(row, 2)?;
    let (place, base): (i64, i64) = (row.try_get(1)?, row.try_get(6)?);
    let parent = if own_of(place) == 1 { row.try_get(5)? } else { Some(place - 1) };
    Ok((id, MessageLocation { place, parent, depth: base.saturating_add(own_of(place)) - 1 }))
}

pub(crate) async fn messages(
    connection: &mut SqliteConnection,
    chat: &ChatRef,
    ids: &[MessageId],
) -> Result<Vec<Option<PlacedNode>>> {
    let mut transaction = connection.begin().await?;
    let chat = chat_no(&mut transaction, "messages", chat).await?;
    let placed = placed(&mut transaction, chat, ids).await?;
    transaction.commit().await?;
    Ok(placed)
}

/// Returns messages by id: one slot for each id.
pub(crate) async fn placed(
    connection: &mut SqliteConnection,
    chat: i64,
    ids: &[MessageId],
) -> Result<Vec<Option<PlacedNode>>> {
    let spots = find(connection, chat, ids.iter()).await?;
    let places: Vec<i64> = spots.values().flat_map(MessageLocation::and_parent).collect();
    let nodes = nodes_at(connection, &places).await?;
    confirm_parents(connection, chat, &spots, &nodes).await?;
    let absent: Vec<&MessageId> = ids.iter().filter(|id| !spots.contains_key(*id)).collect();
    if !absent.is_empty() {
        confirm_absence(connection, chat, &absent).await?;
    }
    let placed = |id: &MessageId| {
        let Some(spot) = spots.get(id) else { return Ok(None) };
        let parent =
            spot.parent.and_then(|parent| nodes.get(&parent)).map(|parent| parent.id.clone());
        let node = nodes.get(&spot.place).filter(|node| node.id == *id);
        let node = node.ok_or(Fault::Corrupt(MISPLACED, None))?;
        Ok(Some(PlacedNode::new(Arc::clone(node), parent, count(spot.depth)?)))
    };
    ids.iter().map(placed).collect()
}

/// Checks that the parents of the messages that were found are filed at the places where they were
/// read. A run that is stored at the wrong place would show other messages there.
async fn confirm_parents(
    connection: &mut SqliteConnection,
    chat: i64,
    spots: &HashMap<MessageId, MessageLocation>,
    nodes: &HashMap<i64, Arc<Node>>,
) -> Result<()> {
    let parents: Vec<&Arc<Node>> = spots
        .values()
        .filter_map(|spot| spot.parent)
        .filter_map(|parent| nodes.get(&parent))
        .collect();
    let filed = find(connection, chat, parents.iter().map(|parent| &parent.id)).await?;
    for spot in spots.values() {
        let Some(place) = spot.parent else { continue };
        let parent = nodes.get(&place).and_then(|parent| filed.get(&parent.id));
        if parent.is_none_or(|parent| parent.place != place) {
            return Err(Fault::Corrupt(MISPLACED, None));
        }
    }
    Ok(())
}

/// Checks that messages that were not found by their ids really do not exist.
async fn confirm_absence(
    connection: &mut SqliteConnection,
    chat: i64,
    ids: &[&MessageId],
) -> Result<()> {
    let all = segments(connection, chat).await?.iter().map(|segment| segment.own).sum();
    let filed = sqlx::query(sql::COUNT_NODES).bind(chat);
    counts::compare(connection, all, ListPart::Middle, NOT_INDEXED, filed).await?;
    tails::check(connection, chat).await?;
    for id in ids {
        let hidden = sqlx::query(sql::NODE_HIDDEN).bind(chat).bind(id.as_str());
        counts::check_neighbours(connection, hidden).await?;
        let beside = sqlx::query(sql::NODES_BESIDE).bind(chat).bind(id.as_str());
        for row in beside.fetch_all(&mut *connection).await? {
            let place: i64 = row.try_get(1)?;
            let node = nodes_at(connection, &[place]).await?.remove(&place);
            if node.map(|node| node.id.clone()) != message_id(&row, 0)? {
                return Err(counts::WRONG_ENTRY);
            }
        }
    }
    Ok(())
}

/// Returns one page of all messages. The cursor is a place.
pub(crate) async fn all_messages(
    connection: &mut SqliteConnection,
    chat: &ChatRef,
    limit: usize,
    after: Option<&Cursor>,
) -> Result<Page<PlacedNode>> {
    const OPERATION: &str = "all_messages";
    limits::check_page(OPERATION, limit)?;
    let after: i64 = match after {
        None => 0,
        Some(cursor) => cursor.as_str().parse().map_err(|_| bad_cursor(OPERATION))?,
    };
    let mut transaction = connection.begin().await?;
    let chat = chat_no(&mut transaction, OPERATION, chat).await?;
    let segments = segments(&mut transaction, chat).await?;
    let mut items = Vec::new();
    let mut last = after;
    for segment in segments.iter().filter(|segment| segment.end() > after) {
        let from = place(segment.no, 1).max(after + 1);
        if items.len() < limit && from <= segment.end() {
            last =
                from - 1 + of_segment(&mut transaction, segment, from, limit, &mut items).await?;
        }
    }
    let more = segments.iter().any(|segment| segment.own > 0 && segment.end() > last);
    transaction.commit().await?;
    Ok(Page { items, next: more.then(|| Cursor::new(last.to_string())) })
}

/// Adds the messages of a branch from a place on, until there are `limit`. Returns how many it
/// added.
async fn of_segment(
    connection: &mut SqliteConnection,
    segment: &Segment,
    from: i64,
    limit: usize,
    items: &mut Vec<PlacedNode>,
) -> Result<i64> {
    let before = if own_of(from) == 1 { segment.parent } else { Some(from - 1) };
    let mut parent = match before {
        None => None,
        Some(before) => nodes_at(connection, &[before]).await?.remove(&before),
    };
    let mut next = from;
    while items.len() < limit && next <= segment.end() {
        let begun = next;
        for (first, data) in runs_from(connection, next, segment.end()).await? {
            if items.len() == limit {
                break;
            }
            let nodes = pack::unpack(&data)?;
            let skip =
                usize::try_from(next - first).ok().filter(|skip| *skip == 0 || next == begun);
            let skip = skip.ok_or(Fault::Corrupt("messages of a branch are missing", None))?;
            for node in nodes.into_iter().skip(skip).take(limit - items.len()) {
                let id = parent.as_ref().map(|parent: &Arc<Node>| parent.id.clone());
                items.push(PlacedNode::new(
                    Arc::clone(&node),
                    id,
                    count(segment.base + own_of(next) - 1)?,
                ));
                parent = Some(node);
                next += 1;
                let is_last = next > segment.end();
                let is_head = parent.as_ref().map(|node| &node.id) == segment.head.as_ref();
                if next > segment.end() + 1 || (is_last && segment.name.is_some() && !is_head) {
                    return Err(Fault::Corrupt("a branch does not end with its head", None));
                }
            }
        }
        if next == begun {
            return Err(Fault::Corrupt("messages of a branch are missing", None));
        }
    }
    Ok(next - from)
}

pub(crate) async fn revisions(
    connection: &mut SqliteConnection,
    chat: &ChatRef,
    message: &MessageId,
) -> Result<Vec<Revision>> {
    let mut transaction = connection.begin().await?;
    let chat = chat_no(&mut transaction, "revisions", chat).await?;
    let query = sqlx::query(sql::REVISIONS).bind(chat).bind(message.as_str());
    let rows = query.fetch_all(&mut *transaction).await?;
    ChatCount::Revisions.compare(&mut transaction, chat, ListPart::Middle).await?;
    let beside = sqlx::query(sql::REVISIONS_BESIDE)
        .bind(chat)
        .bind(message.as_str())
        .bind(signed(rows.len()));
    counts::check_neighbours(&mut transaction, beside).await?;
    transaction.commit().await?;
    let revision = |row: SqliteRow| {
        REVISION.check(&row, 0)?;
        let replaced_at = Timestamp::from_micros(row.try_get(4)?);
        let node = nth(&blob(row, 3)?, 0)?;
        if node.id != *message {
            return Err(Fault::Corrupt("a revision is of another message", None));
        }
        Ok(Revision::new(node, replaced_at))
    };
    rows.into_iter().map(revision).collect()
}

/// Replaces the body of a stored message. The old revision is kept with the time `replaced`, or not
/// at all: then earlier revisions are deleted as well.
pub(crate) async fn amend(
    connection: &mut SqliteConnection,
    chat: i64,
    place: i64,
    by: &Node,
    replaced: Option<Timestamp>,
) -> Result<()> {
    let row = sqlx::query(sql::RUN_AT).bind(place).fetch_all(&mut *connection).await?.pop();
    let row = row.ok_or(NO_RUN)?;
    let first: i64 = row.try_get(0)?;
    let run = blob(row, 1)?;
    let skip = usize::try_from(place - first).unwrap_or(0);
    let (front, rest) = pack::split_at(&run, skip)?;
    let (record, back) = pack::split_at(&rest, 1)?;
    let old = nth(&record, 0)?;
    if old.id != by.id {
        return Err(Fault::Corrupt(MISPLACED, None));
    }
    let new = old.amended(by);
    let mut data = Vec::with_capacity(run.len() + by.body().bytes().len());
    data.extend_from_slice(&front);
    pack::pack(&new, &mut data);
    data.extend_from_slice(&back);
    let revision = match replaced {
        Some(at) => {
            let keep = sqlx::query(sql::ADD_REVISION).bind(chat).bind(by.id.as_str());
            keep.bind(&record[..]).bind(at.as_micros())
        }
        None => sqlx::query(sql::FORGET_REVISIONS).bind(chat).bind(by.id.as_str()),
    };
    revision.execute(&mut *connection).await?;
    let of = [("chat", chat.into()), ("id", by.id.as_str().into())];
    REVISION.seal(connection, &of).await?;
    sqlx::query(sql::REWRITE_RUN).bind(first).bind(data).execute(&mut *connection).await?;
    if old.kind != new.kind {
        let boundary = match new.kind {
            context_core::message::NodeKind::Boundary => sql::ADD_BOUNDARY,
            _ => sql::REMOVE_BOUNDARY,
        };
        sqlx::query(boundary).bind(place).execute(connection).await?;
    }
    Ok(())
}
