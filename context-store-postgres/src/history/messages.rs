//! Messages by id and page by page, and their earlier revisions.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use context_core::base::limits;
use context_core::message::{NodeKind, PlacedNode};
use context_core::store::{Cursor, Page, Revision};
use context_core::{ChatRef, MessageId, Node, Timestamp};
use context_store_kit::pack;
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::chat::access::{chat_no, of_chat, rows_of_chat};
use crate::chat::branches::{Segment, segments};
use crate::connections::Session;
use crate::error::{Fault, Result, bad_cursor};
use crate::values::numbers::count;
use crate::values::place::{branch_of, own_of, place};
use crate::values::rows::{self, blob, message_id, nth, weight};
use crate::{checksums, sql};

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
    session: &mut Session<'_>,
    chat: i64,
    ids: impl Iterator<Item = &MessageId>,
) -> Result<HashMap<MessageId, MessageLocation>> {
    let ids = rows::ids(ids);
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let query = session.query(sql::LOCATIONS).bind(chat).bind(ids);
    session.all(query).await?.iter().map(location).collect()
}

fn location(row: &PgRow) -> Result<(MessageId, MessageLocation)> {
    let id = message_id(row, 0)?.ok_or(Fault::Corrupt("a message has no id", None))?;
    let (place, base): (i64, i64) = (row.try_get(1)?, row.try_get(2)?);
    let parent = if own_of(place) == 1 { row.try_get(3)? } else { Some(place - 1) };
    Ok((id, MessageLocation { place, parent, depth: base + own_of(place) - 1 }))
}

/// Returns the nodes at these places.
pub(crate) async fn nodes_at(
    session: &mut Session<'_>,
    places: &[i64],
) -> Result<HashMap<i64, Arc<Node>>> {
    let query = session.query(sql::RUNS_AT).bind(places);
    let rows = session.all(query).await?;
    let mut runs = BTreeMap::new();
    for row in rows {
        runs.insert(row.try_get::<i64, _>(0)?, blob(row, 1)?);
    }
    let node_at = |&place: &i64| {
        let run = runs.range(..=place).next_back();
        let (first, data) = run.ok_or(Fault::Corrupt("a message belongs to no run", None))?;
        Ok((place, nth(data, place - first)?))
    };
    places.iter().map(node_at).collect()
}

pub(crate) async fn messages(
    session: &mut Session<'_>,
    chat: &ChatRef,
    ids: &[MessageId],
) -> Result<Vec<Option<PlacedNode>>> {
    let chat = chat_no(session, "messages", chat).await?;
    placed(session, chat, ids).await
}

/// Returns messages by id: one slot for each id.
pub(crate) async fn placed(
    session: &mut Session<'_>,
    chat: i64,
    ids: &[MessageId],
) -> Result<Vec<Option<PlacedNode>>> {
    let locations = find(session, chat, ids.iter()).await?;
    let places: Vec<i64> = locations.values().flat_map(MessageLocation::and_parent).collect();
    let nodes = nodes_at(session, &places).await?;
    let placed = |id: &MessageId| {
        let Some(location) = locations.get(id) else { return Ok(None) };
        let parent =
            location.parent.and_then(|parent| nodes.get(&parent)).map(|parent| parent.id.clone());
        let node = nodes.get(&location.place).filter(|node| node.id == *id);
        let node = node.ok_or(Fault::Corrupt("a message is not at its indexed place", None))?;
        Ok(Some(PlacedNode::new(Arc::clone(node), parent, count(location.depth)?)))
    };
    ids.iter().map(placed).collect()
}

/// Returns one page of all messages. The cursor is a place.
pub(crate) async fn all_messages(
    session: &mut Session<'_>,
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
    let chat = chat_no(session, OPERATION, chat).await?;
    let segments = segments(session, chat).await?;
    let mut items = Vec::new();
    let mut last = after;
    for segment in segments.iter().filter(|segment| segment.end() > after) {
        let from = place(segment.no, 1).max(after + 1);
        if items.len() < limit && from <= segment.end() {
            last =
                from - 1 + messages_of_segment(session, segment, from, limit, &mut items).await?;
        }
    }
    let more = segments.iter().any(|segment| segment.own > 0 && segment.end() > last);
    Ok(Page { items, next: more.then(|| Cursor::new(last.to_string())) })
}

/// Adds the messages of a branch from a place on, until there are `limit`. Returns how many it
/// added.
async fn messages_of_segment(
    session: &mut Session<'_>,
    segment: &Segment,
    from: i64,
    limit: usize,
    items: &mut Vec<PlacedNode>,
) -> Result<i64> {
    let before = if own_of(from) == 1 { segment.parent } else { Some(from - 1) };
    let mut parent = match before {
        None => None,
        Some(before) => nodes_at(session, &[before]).await?.remove(&before),
    };
    let mut next = from;
    while items.len() < limit && next <= segment.end() {
        let begun = next;
        for (first, data) in runs_from(session, next, segment.end()).await? {
            if items.len() == limit {
                break;
            }
            let nodes = pack::unpack(&data)?;
            let skip = usize::try_from(next - first);
            let skip =
                skip.map_err(|_| Fault::Corrupt("messages of a branch are missing", None))?;
            for node in nodes.into_iter().skip(skip).take(limit - items.len()) {
                let id = parent.as_ref().map(|parent: &Arc<Node>| parent.id.clone());
                items.push(PlacedNode::new(
                    Arc::clone(&node),
                    id,
                    count(segment.base + own_of(next) - 1)?,
                ));
                parent = Some(node);
                next += 1;
            }
        }
        if next == begun {
            return Err(Fault::Corrupt("messages of a branch are missing", None));
        }
    }
    Ok(next - from)
}

/// Returns the next few runs, beginning with the run that holds a place.
pub(crate) async fn runs_from(
    session: &mut Session<'_>,
    from: i64,
    to: i64,
) -> Result<Vec<(i64, Bytes)>> {
    let query = session.query(sql::RUNS_FROM).bind(from).bind(to);
    let rows = session.all(query).await?;
    let run = |row: PgRow| Ok((row.try_get(0)?, blob(row, 1)?));
    let runs: Vec<(i64, Bytes)> = rows.into_iter().map(run).collect::<Result<_>>()?;
    // Runs of another branch are dropped.
    Ok(runs.into_iter().filter(|(first, _)| branch_of(*first) == branch_of(to)).collect())
}

pub(crate) async fn revisions(
    session: &mut Session<'_>,
    chat: &ChatRef,
    message: &MessageId,
) -> Result<Vec<Revision>> {
    let query = of_chat(session, sql::REVISIONS, chat).bind(message.as_str().as_bytes());
    let mut revisions = Vec::new();
    for row in rows_of_chat(session, "revisions", chat, query).await? {
        if let Some(at) = row.try_get(1)? {
            revisions.push(revision(row, message, Timestamp::from_micros(at))?);
        }
    }
    Ok(revisions)
}

/// Returns an earlier revision of a message from a row that begins with its record.
pub(crate) fn revision(
    row: PgRow,
    message: &MessageId,
    replaced_at: Timestamp,
) -> Result<Revision> {
    const DAMAGED: &str = "the checksum of a revision does not match";
    let record =
        checksums::open(checksums::revision(message, replaced_at), &blob(row, 0)?, DAMAGED)?;
    Ok(Revision::new(nth(&record, 0)?, replaced_at))
}

/// Replaces the body of a stored message. The old revision is kept with the time `replaced`, or not
/// at all: then earlier revisions are deleted as well.
pub(crate) async fn amend(
    session: &mut Session<'_>,
    chat: i64,
    place: i64,
    by: &Node,
    replaced: Option<Timestamp>,
) -> Result<()> {
    let query = session.query(sql::RUN_AT).bind(place);
    let row =
        session.first(query).await?.ok_or(Fault::Corrupt("a message belongs to no run", None))?;
    let first: i64 = row.try_get(0)?;
    let run = blob(row, 1)?;
    let skip = usize::try_from(place - first).unwrap_or(0);
    let (front, rest) = pack::split_at(&run, skip)?;
    let (record, back) = pack::split_at(&rest, 1)?;
    let old = nth(&record, 0)?;
    if old.id != by.id {
        return Err(Fault::Corrupt("a message is not at its indexed place", None));
    }
    let new = old.amended(by);
    let mut data = Vec::with_capacity(run.len() + by.body().bytes().len());
    data.extend_from_slice(&front);
    pack::pack(&new, &mut data);
    data.extend_from_slice(&back);
    let id = by.id.as_str().as_bytes();
    let revision = match replaced {
        Some(at) => {
            let keep = session.query(sql::ADD_REVISION).bind(chat).bind(id);
            keep.bind(checksums::revision(&by.id, at).seal(record.to_vec())).bind(at.as_micros())
        }
        None => session.query(sql::FORGET_REVISIONS).bind(chat).bind(vec![id]),
    };
    session.execute(revision).await?;
    let data = Bytes::from(data);
    let heavy = weight(&pack::unpack(&data)?);
    let rewrite = session.query(sql::REWRITE_RUN).bind(first).bind(&data[..]).bind(heavy);
    session.execute(rewrite).await?;
    if old.kind != new.kind {
        let boundary = match new.kind {
            NodeKind::Boundary => session.query(sql::ADD_BOUNDARIES).bind(vec![place]),
            _ => session.query(sql::REMOVE_BOUNDARY).bind(place),
        };
        session.execute(boundary).await?;
    }
    Ok(())
}
