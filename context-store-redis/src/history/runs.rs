//! Runs of packed messages: reading by position, rewriting, and packing new messages.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use context_core::{Chain, ChatRef, Node};
use context_store_kit::pack::{self, PackedRun};
use redis::Value;

use crate::chat::fields::{BLOCK, Position, RUN_BYTES};
use crate::connections::shared::Shared;
use crate::error::{Fault, Result};
use crate::scripts::RANGES;
use crate::scripts::reply::Reply;
use crate::values::read_number;

pub(crate) const MISSING: Fault = Fault::Corrupt("messages of a branch are missing", None);

/// The messages of one piece from `first` to `last`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) piece: u64,
    pub(crate) first: u64,
    pub(crate) last: u64,
}

/// Runs by the position of their first message.
pub(crate) type Runs = BTreeMap<Position, Vec<Arc<Node>>>;

/// Returns the packed messages of a run, which follow the byte with their number.
pub(crate) fn packed(run: &Bytes) -> Result<Bytes> {
    if run.is_empty() {
        return Err(Fault::Corrupt("a run of messages is empty", None));
    }
    Ok(run.slice(1..))
}

/// Unpacks the messages of a run and compares their number with the stored one.
pub(crate) fn unpack(run: &Bytes) -> Result<Vec<Arc<Node>>> {
    let nodes = pack::unpack(&packed(run)?)?;
    if run.first().map(|count| usize::from(*count)) != Some(nodes.len()) {
        return Err(Fault::Corrupt("a run does not hold as many messages as it states", None));
    }
    Ok(nodes)
}

/// A run, the number of its messages to leave out, and the number of those to take after them.
pub(crate) struct RunPart {
    pub(crate) run: Bytes,
    pub(crate) leave: u64,
    pub(crate) take: u64,
}

/// Returns the chain of these parts, behind `skipped` other messages.
pub(crate) fn chain_of(skipped: u64, parts: Vec<RunPart>) -> Result<Chain> {
    let (mut runs, mut expected) = (Vec::with_capacity(parts.len()), 0);
    for RunPart { run, leave, take } in parts {
        let (leave, take) = (length(leave)?, length(take)?);
        let mut bytes = packed(&run)?;
        if leave > 0 {
            bytes = pack::split_at(&bytes, leave)?.1;
        }
        expected += take;
        runs.push(PackedRun { bytes, take, is_whole: false });
    }
    let chain = pack::chain(skipped, runs)?;
    if chain.len() == expected { Ok(chain) } else { Err(MISSING) }
}

fn length(number: u64) -> Result<usize> {
    usize::try_from(number).map_err(|_| MISSING)
}

/// Returns the run of these messages, at most a block.
pub(crate) fn write(nodes: &[Arc<Node>]) -> Result<Vec<u8>> {
    let count = u8::try_from(nodes.len()).map_err(|_| MISSING)?;
    let mut run = vec![count];
    nodes.iter().for_each(|node| pack::pack(node, &mut run));
    Ok(run)
}

/// Packs new messages after the first `own` of a piece into runs. Returns the position of each run.
pub(crate) fn split(piece: u64, own: u64, nodes: &[Arc<Node>]) -> Result<Vec<(Position, Vec<u8>)>> {
    let mut runs = Vec::new();
    let (mut first, mut from, mut bytes) = (own + 1, 0, 0);
    for (i, (node, pos)) in nodes.iter().zip(own + 1..).enumerate() {
        let size = node.body().bytes().len();
        if i > from && (bytes + size > RUN_BYTES || (pos - 1) % BLOCK == 0) {
            runs.push((Position { piece, pos: first }, write(&nodes[from..i])?));
            (first, from, bytes) = (pos, i, 0);
        }
        bytes += size;
    }
    if from < nodes.len() {
        runs.push((Position { piece, pos: first }, write(&nodes[from..])?));
    }
    Ok(runs)
}

/// Returns the runs that hold these ranges, or `None` if the chat has another version by now.
pub(crate) async fn read(
    shared: &Shared,
    chat: &ChatRef,
    version: &[u8],
    ranges: &[Range],
) -> Result<Option<Runs>> {
    if ranges.is_empty() {
        return Ok(Some(Runs::new()));
    }
    let mut call = RANGES.key(shared.keys.chat(chat));
    call.arg(version);
    for range in ranges {
        call.arg(range.piece).arg(range.first).arg(range.last);
    }
    let mut reply = Reply::of(shared.connection.ask::<Value>(&call).await?)?;
    match reply.number()? {
        0 => return Ok(None),
        1 => {}
        _ => return Err(MISSING),
    }
    let mut runs = Runs::new();
    while !reply.is_empty() {
        let piece = read_number(&reply.bytes()?)?;
        let pos = reply.number()?;
        runs.insert(Position { piece, pos }, unpack(&reply.bytes()?)?);
    }
    Ok(Some(runs))
}

/// Returns the runs that hold these positions.
pub(crate) async fn read_at(
    shared: &Shared,
    chat: &ChatRef,
    version: &[u8],
    positions: impl IntoIterator<Item = Position>,
) -> Result<Option<Runs>> {
    let positions: BTreeSet<Position> = positions.into_iter().collect();
    let mut blocks: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    for position in positions {
        // Within a block, the last position decides how far to read.
        blocks.insert((position.piece, position.block()), position.pos);
    }
    let range = |((piece, first), last)| Range { piece, first, last };
    let ranges: Vec<_> = blocks.into_iter().map(range).collect();
    read(shared, chat, version, &ranges).await
}

/// Returns the message at a position, and the position where its run begins.
pub(crate) fn find(runs: &Runs, position: Position) -> Result<(Position, &Arc<Node>)> {
    let (first, nodes) = runs.range(..=position).next_back().ok_or(MISSING)?;
    let node = (first.piece == position.piece)
        .then(|| usize::try_from(position.pos - first.pos).ok().and_then(|nth| nodes.get(nth)))
        .flatten();
    Ok((*first, node.ok_or(MISSING)?))
}

/// Returns the messages at these positions, or `None` if the chat has another version by now.
pub(crate) async fn nodes_at(
    shared: &Shared,
    chat: &ChatRef,
    version: &[u8],
    positions: &[Position],
) -> Result<Option<HashMap<Position, Arc<Node>>>> {
    let Some(runs) = read_at(shared, chat, version, positions.iter().copied()).await? else {
        return Ok(None);
    };
    let node = |position: &Position| Ok((*position, Arc::clone(find(&runs, *position)?.1)));
    positions.iter().map(node).collect::<Result<_>>().map(Some)
}

#[cfg(test)]
mod tests {
    use context_core::message::NodeKind;
    use context_core::{Encoded, Role, Timestamp};
    use proptest::prelude::*;

    use super::*;

    fn node(i: usize, bytes: usize) -> Arc<Node> {
        let body = Encoded::new("x", 1, vec![b'x'; bytes]);
        let kind = NodeKind::Message(Role::User);
        Arc::new(Node::from_encoded(format!("m{i}").into(), kind, Timestamp::default(), body))
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None,
            ..ProptestConfig::default() })]

        #[test]
        fn runs_follow_each_other_within_their_blocks(own in 0u64..200,
            sizes in prop::collection::vec(0usize..90_000, 0..150)) {
            let nodes: Vec<_> = sizes.iter().enumerate().map(|(i, size)| node(i, *size)).collect();
            let mut next = own + 1;
            let mut read = Vec::new();
            for (position, run) in split(1, own, &nodes).unwrap() {
                prop_assert_eq!(position.pos, next);
                let nodes = unpack(&run.into()).unwrap();
                next += nodes.len() as u64;
                prop_assert!(!nodes.is_empty() && position.block() + BLOCK >= next);
                read.extend(nodes);
            }
            prop_assert_eq!(read, nodes);
        }
    }
}
