//! Messages by id and page by page, and their earlier revisions.

use std::sync::Arc;

use bytes::Bytes;
use context_core::base::limits;
use context_core::message::Placed;
use context_core::store::{Cursor, Page, Revision};
use context_core::{ChatRef, MessageId, Timestamp};
use context_store_kit::pack;

use crate::error::{Fault, Result, bad_cursor};
use crate::history::fields::{self, Place};
use crate::history::look::Look;
use crate::history::runs::{self, MISSING, Range};
use crate::seals;
use crate::shared::{ATTEMPTS, Shared};

pub(crate) async fn messages(
    shared: &Shared,
    chat: &ChatRef,
    ids: &[MessageId],
) -> Result<Vec<Option<Placed>>> {
    let asked: Vec<String> = ids.iter().map(fields::id).collect();
    for _ in 0..ATTEMPTS {
        let look = shared.look_at("messages", chat, &asked).await?;
        let place = |place: &Option<Bytes>| place.as_deref().map(Place::read).transpose();
        let places = look.asked.iter().map(place).collect::<Result<Vec<_>>>()?;
        let stored: Vec<_> =
            ids.iter().zip(&places).filter_map(|(id, place)| Some((id, (*place)?))).collect();
        let Some(found) = placed(shared, chat, &look, &stored).await? else { continue };
        let mut found = found.into_iter();
        return Ok(places.iter().map(|place| place.and_then(|_| found.next())).collect());
    }
    Err(Fault::Beaten)
}

/// Returns the messages at these places. `None` if the chat has changed since the read.
pub(crate) async fn placed(
    shared: &Shared,
    chat: &ChatRef,
    look: &Look,
    messages: &[(&MessageId, Place)],
) -> Result<Option<Vec<Placed>>> {
    let mut places = Vec::new();
    for (_, place) in messages {
        places.extend([Some(*place), look.shape.before(*place)?].into_iter().flatten());
    }
    let Some(nodes) = runs::nodes_at(shared, chat, &look.version, &places).await? else {
        return Ok(None);
    };
    let placed = |(id, place): &(&MessageId, Place)| {
        let before = look.shape.before(*place)?;
        let parent = before.and_then(|before| nodes.get(&before)).map(|parent| parent.id.clone());
        let node = nodes.get(place).filter(|node| node.id == **id);
        let node = node.ok_or(Fault::Corrupt("a message is not where it is filed", None))?;
        Ok(Placed::new(Arc::clone(node), parent, look.shape.depth(*place)?))
    };
    messages.iter().map(placed).collect::<Result<_>>().map(Some)
}

/// Returns one page of all messages, piece by piece. A piece forks from an older one, so parents
/// come first. The cursor is a place.
pub(crate) async fn all(
    shared: &Shared,
    chat: &ChatRef,
    limit: usize,
    after: Option<&Cursor>,
) -> Result<Page<Placed>> {
    const OPERATION: &str = "all_messages";
    limits::check_page(OPERATION, limit)?;
    let after =
        after.map(|cursor| place_of(cursor).ok_or_else(|| bad_cursor(OPERATION))).transpose()?;
    for _ in 0..ATTEMPTS {
        let look = shared.look_at(OPERATION, chat, &[]).await?;
        let (ranges, more) = page(&look, limit, after);
        // The parent of a range's first message is in another range.
        let firsts = ranges.iter().map(|range| Place { piece: range.piece, pos: range.first });
        let parents = firsts.map(|first| look.shape.before(first)).collect::<Result<Vec<_>>>()?;
        let single =
            |place: &Place| Range { piece: place.piece, first: place.pos, last: place.pos };
        let wanted: Vec<_> =
            ranges.iter().copied().chain(parents.iter().flatten().map(single)).collect();
        let Some(runs) = runs::read(shared, chat, &look.version, &wanted).await? else { continue };
        let mut items = Vec::new();
        for (range, parent) in ranges.iter().zip(parents) {
            let parent = parent.map(|parent| runs::find(&runs, parent)).transpose()?;
            let mut parent = parent.map(|(_, node)| node.id.clone());
            for pos in range.first..=range.last {
                let place = Place { piece: range.piece, pos };
                let node = runs::find(&runs, place)?.1;
                items.push(Placed::new(Arc::clone(node), parent, look.shape.depth(place)?));
                parent = Some(node.id.clone());
            }
        }
        let next = ranges.last().filter(|_| more);
        let next = next.map(|range| Cursor::new(format!("{}:{}", range.piece, range.last)));
        return Ok(Page { items, next });
    }
    Err(Fault::Beaten)
}

/// Returns the ranges of messages on a page, and whether there are more.
fn page(look: &Look, limit: usize, after: Option<Place>) -> (Vec<Range>, bool) {
    let mut left = limit as u64;
    let mut ranges = Vec::new();
    for piece in &look.shape.pieces {
        let own = look.own(piece);
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

fn place_of(cursor: &Cursor) -> Option<Place> {
    let (piece, pos) = cursor.as_str().split_once(':')?;
    Some(Place { piece: piece.parse().ok()?, pos: pos.parse().ok()? })
}

pub(crate) async fn revisions(
    shared: &Shared,
    chat: &ChatRef,
    message: &MessageId,
) -> Result<Vec<Revision>> {
    const OPERATION: &str = "revisions";
    for _ in 0..ATTEMPTS {
        let look = shared.look_at(OPERATION, chat, &[fields::revisions(message)]).await?;
        let Some(count) = look.asked.iter().flatten().next() else { return Ok(Vec::new()) };
        let asked: Vec<_> =
            (0..fields::read_number(count)?).map(|nth| fields::revision(nth, message)).collect();
        let again = shared.look_at(OPERATION, chat, &asked).await?;
        if again.version != look.version {
            continue;
        }
        let missing = Fault::Corrupt("a revision is missing", None);
        let values: Option<Vec<Bytes>> = again.asked.into_iter().collect();
        return values.ok_or(missing)?.iter().map(read_revision).collect();
    }
    Err(Fault::Beaten)
}

/// Reads a stored revision: the time it was replaced, and its content.
pub(crate) fn read_revision(value: &Bytes) -> Result<Revision> {
    let value = seals::open("r", value)?;
    let at = value.first_chunk().map(|at| i64::from_le_bytes(*at)).ok_or(MISSING)?;
    let node = pack::unpack(&value.slice(8..))?.pop();
    let node = node.ok_or(Fault::Corrupt("a revision has no message", None))?;
    Ok(Revision::new(node, Timestamp::from_micros(at)))
}
