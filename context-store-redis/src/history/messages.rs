//! Messages by id and page by page, and their earlier revisions.

use std::sync::Arc;

use bytes::Bytes;
use context_core::base::limits;
use context_core::message::PlacedNode;
use context_core::store::{Cursor, Page, Revision};
use context_core::{ChatRef, MessageId, Timestamp};
use context_store_kit::pack;

use crate::chat::fields::{self, Position};
use crate::chat::snapshot::ChatSnapshot;
use crate::checksums;
use crate::connections::shared::{ATTEMPTS, Shared};
use crate::error::{Fault, Result, bad_cursor};
use crate::history::runs::{self, MISSING, Range};
use crate::values;

pub(crate) async fn messages(
    shared: &Shared,
    chat: &ChatRef,
    ids: &[MessageId],
) -> Result<Vec<Option<PlacedNode>>> {
    let asked: Vec<String> = ids.iter().map(fields::id).collect();
    for _ in 0..ATTEMPTS {
        let snapshot = shared.snapshot("messages", chat, &asked).await?;
        let position =
            |position: &Option<Bytes>| position.as_deref().map(Position::read).transpose();
        let positions = snapshot.requested.iter().map(position).collect::<Result<Vec<_>>>()?;
        let stored: Vec<_> = ids
            .iter()
            .zip(&positions)
            .filter_map(|(id, position)| Some((id, (*position)?)))
            .collect();
        let Some(found) = placed(shared, chat, &snapshot, &stored).await? else { continue };
        let mut found = found.into_iter();
        return Ok(positions.iter().map(|position| position.and_then(|_| found.next())).collect());
    }
    Err(Fault::Contended)
}

/// Returns the messages at these positions. `None` if the chat has changed since the read.
pub(crate) async fn placed(
    shared: &Shared,
    chat: &ChatRef,
    snapshot: &ChatSnapshot,
    messages: &[(&MessageId, Position)],
) -> Result<Option<Vec<PlacedNode>>> {
    let mut positions = Vec::new();
    for (_, position) in messages {
        positions.extend([Some(*position), snapshot.tree.before(*position)?].into_iter().flatten());
    }
    let Some(nodes) = runs::nodes_at(shared, chat, &snapshot.version, &positions).await? else {
        return Ok(None);
    };
    let placed = |(id, position): &(&MessageId, Position)| {
        let before = snapshot.tree.before(*position)?;
        let parent = before.and_then(|before| nodes.get(&before)).map(|parent| parent.id.clone());
        let node = nodes.get(position).filter(|node| node.id == **id);
        let node = node.ok_or(Fault::Corrupt(
            "the stored position of a message leads to another message",
            None,
        ))?;
        Ok(PlacedNode::new(Arc::clone(node), parent, snapshot.tree.depth(*position)?))
    };
    messages.iter().map(placed).collect::<Result<_>>().map(Some)
}

/// Returns one page of all messages, piece by piece. A piece forks from an older one, so parents
/// come first. The cursor is a position.
pub(crate) async fn all(
    shared: &Shared,
    chat: &ChatRef,
    limit: usize,
    after: Option<&Cursor>,
) -> Result<Page<PlacedNode>> {
    const OPERATION: &str = "all_messages";
    limits::check_page(OPERATION, limit)?;
    let after =
        after.map(|cursor| position_of(cursor).ok_or_else(|| bad_cursor(OPERATION))).transpose()?;
    for _ in 0..ATTEMPTS {
        let snapshot = shared.snapshot(OPERATION, chat, &[]).await?;
        let (ranges, more) = page(&snapshot, limit, after);
        // The parent of a range's first message is in another range.
        let firsts = ranges.iter().map(|range| Position { piece: range.piece, pos: range.first });
        let parents =
            firsts.map(|first| snapshot.tree.before(first)).collect::<Result<Vec<_>>>()?;
        let single = |position: &Position| Range {
            piece: position.piece,
            first: position.pos,
            last: position.pos,
        };
        let wanted: Vec<_> =
            ranges.iter().copied().chain(parents.iter().flatten().map(single)).collect();
        let Some(runs) = runs::read(shared, chat, &snapshot.version, &wanted).await? else {
            continue;
        };
        let mut items = Vec::new();
        for (range, parent) in ranges.iter().zip(parents) {
            let parent = parent.map(|parent| runs::find(&runs, parent)).transpose()?;
            let mut parent = parent.map(|(_, node)| node.id.clone());
            for pos in range.first..=range.last {
                let position = Position { piece: range.piece, pos };
                let node = runs::find(&runs, position)?.1;
                items.push(PlacedNode::new(
                    Arc::clone(node),
                    parent,
                    snapshot.tree.depth(position)?,
                ));
                parent = Some(node.id.clone());
            }
        }
        let next = ranges.last().filter(|_| more);
        let next = next.map(|range| Cursor::new(format!("{}:{}", range.piece, range.last)));
        return Ok(Page { items, next });
    }
    Err(Fault::Contended)
}

/// Returns the ranges of messages on a page, and whether there are more.
fn page(snapshot: &ChatSnapshot, limit: usize, after: Option<Position>) -> (Vec<Range>, bool) {
    let mut left = limit as u64;
    let mut ranges = Vec::new();
    for piece in &snapshot.tree.pieces {
        let own = snapshot.own(piece);
        let first = match after {
            Some(after) if after.piece > piece.no => continue,
            Some(after) if after.piece == piece.no => after.pos.saturating_add(1),
            _ => 1,
        };
        if first > own {
            continue;
        }
        if left == 0 {
            return (ranges, true);
        }
        let last = own.min(first - 1 + left);
        left -= last + 1 - first;
        ranges.push(Range { piece: piece.no, first, last });
        if last < own {
            return (ranges, true);
        }
    }
    (ranges, false)
}

fn position_of(cursor: &Cursor) -> Option<Position> {
    let (piece, pos) = cursor.as_str().split_once(':')?;
    Some(Position { piece: piece.parse().ok()?, pos: pos.parse().ok()? })
}

pub(crate) async fn revisions(
    shared: &Shared,
    chat: &ChatRef,
    message: &MessageId,
) -> Result<Vec<Revision>> {
    const OPERATION: &str = "revisions";
    for _ in 0..ATTEMPTS {
        let snapshot = shared.snapshot(OPERATION, chat, &[fields::revisions(message)]).await?;
        let Some(count) = snapshot.requested.iter().flatten().next() else { return Ok(Vec::new()) };
        let asked: Vec<_> =
            (0..values::read_number(count)?).map(|nth| fields::revision(nth, message)).collect();
        let again = shared.snapshot(OPERATION, chat, &asked).await?;
        if again.version != snapshot.version {
            continue;
        }
        let missing = Fault::Corrupt("a revision is missing", None);
        let values: Option<Vec<Bytes>> = again.requested.into_iter().collect();
        return values.ok_or(missing)?.iter().map(read_revision).collect();
    }
    Err(Fault::Contended)
}

/// Reads a stored revision: the time it was replaced, and its content.
pub(crate) fn read_revision(value: &Bytes) -> Result<Revision> {
    let value = checksums::open("r", value)?;
    let at = value.first_chunk().map(|at| i64::from_le_bytes(*at)).ok_or(MISSING)?;
    let node = pack::unpack(&value.slice(8..))?.pop();
    let node = node.ok_or(Fault::Corrupt("a revision has no message", None))?;
    Ok(Revision::new(node, Timestamp::from_micros(at)))
}
