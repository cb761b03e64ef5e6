//! The fast path of a commit: messages at the end of a branch, as one statement.
//!
//! The statement finds the chat and the branch, compares the head, and writes. The fast path makes
//! no decisions: every other case is left to the transaction in [`commit`](crate::history::commit).

pub(crate) mod group;

use std::sync::Arc;

use context_core::Node;
use context_core::message::NodeKind;
use context_core::store::{Commit, Committed};
use context_store_kit::{PlainAppend, pack, plain_append};
use sqlx::Row;

use crate::connections::together::{Queue, is_alone, together};
use crate::connections::{Flush, Pool, Session, Work};
use crate::error::Result;
use crate::history::append::group::QueuedAppend;
use crate::history::branch_lengths::BranchLengths;
use crate::history::words::{self, WordColumns};
use crate::sql;
use crate::values::numbers::signed;
use crate::values::place::place;
use crate::values::rows::{ids, message_id, weight};

/// The maximum number of messages in a run.
const RUN: i64 = 64;
/// The number of messages that are first merged into one run.
const SMALL_RUN: i64 = 16;
/// The maximum number of bytes packed into a run of several messages. A larger message has a run of
/// its own.
const RUN_BYTES: usize = 256 << 10;

/// Writes a commit that only appends a few new messages to a branch. Returns `None` for any other
/// commit, or if the statement did not apply.
pub(crate) async fn append(
    pool: &Pool,
    queue: &Queue<QueuedAppend>,
    lengths: &BranchLengths,
    full_text: bool,
    commit: &Commit,
) -> Result<Option<Committed>> {
    let small = signed(commit.nodes.len()) <= RUN;
    let Some(append) = plain_append(commit).filter(|_| small) else { return Ok(None) };
    let PlainAppend { branch, seen, grafts, .. } = append;
    let data = pack::pack_all(&commit.nodes);
    if commit.nodes.len() > 1 && data.len() > RUN_BYTES {
        return Ok(None);
    }
    let at = (commit.chat.clone(), branch.clone());
    let head = commit.nodes.last().map(|node| node.id.clone());
    let data = if is_alone(pool, queue) {
        data
    } else {
        let call = QueuedAppend::of(commit, &append, data, full_text);
        match together(pool, queue, call).await? {
            Some(own) => {
                lengths.set(at, own);
                let onto = seen.cloned().filter(|_| grafts);
                return Ok(Some(Committed::new(Some(branch.clone()), head).with_onto(onto)));
            }
            None => pack::pack_all(&commit.nodes),
        }
    };
    let fills = |own| full_block(own, own + signed(commit.nodes.len())).is_some();
    let merges = lengths.get(&at).is_none_or(fills);
    let statement = statement(merges, full_text, Flush::of(commit.durability));
    let mut session = pool.begin(Work::Append, Some(&commit.chat.user)).await?;
    let written = {
        let query = session
            .query(statement)
            .bind(commit.chat.user.as_str().as_bytes())
            .bind(commit.chat.chat.as_str().as_bytes())
            .bind(branch.as_str().as_bytes())
            .bind(seen.map(|seen| seen.as_str().as_bytes()))
            .bind(ids(commit.nodes.iter().map(|node| &node.id)))
            .bind(data)
            .bind(weight(&commit.nodes))
            .bind(commit.at.as_micros())
            .bind(grafts);
        // Places from 1. The statement adds the end of the branch.
        let query = if full_text {
            WordColumns::of(&commit.chat.user, 1, &commit.nodes).bind(query)
        } else {
            query
        };
        session.first(query).await
    };
    match session.end(written).await {
        Ok(Some(row)) => {
            let onto = message_id(&row, 1)?;
            if onto.as_ref() == seen {
                lengths.set(at, row.try_get(0)?);
            } else {
                // Others write to the branch, so a length would be stale when it is used.
                lengths.forget(&at);
            }
            let onto = onto.filter(|_| grafts);
            Ok(Some(Committed::new(Some(branch.clone()), head).with_onto(onto)))
        }
        Ok(None) => Ok(None),
        Err(fault) if fault.is_refusal() => Ok(None),
        Err(fault) => Err(fault),
    }
}

fn statement(merges: bool, full_text: bool, flush: Flush) -> &'static str {
    match (merges, full_text, flush) {
        (false, false, Flush::Configured) => sql::APPEND,
        (false, true, Flush::Configured) => sql::APPEND_WORDS,
        (true, false, Flush::Configured) => sql::APPEND_MERGING,
        (true, true, Flush::Configured) => sql::APPEND_MERGING_WORDS,
        (false, false, Flush::Awaited) => sql::APPEND_FLUSHED,
        (false, true, Flush::Awaited) => sql::APPEND_WORDS_FLUSHED,
        (true, false, Flush::Awaited) => sql::APPEND_MERGING_FLUSHED,
        (true, true, Flush::Awaited) => sql::APPEND_MERGING_WORDS_FLUSHED,
        (false, false, Flush::Later) => sql::APPEND_UNFLUSHED,
        (false, true, Flush::Later) => sql::APPEND_WORDS_UNFLUSHED,
        (true, false, Flush::Later) => sql::APPEND_MERGING_UNFLUSHED,
        (true, true, Flush::Later) => sql::APPEND_MERGING_WORDS_UNFLUSHED,
    }
}

/// The end of a branch in a locked chat.
#[derive(Debug)]
pub(crate) struct BranchEnd {
    pub(crate) chat: i64,
    pub(crate) branch: i64,
    pub(crate) own: i64,
}

/// Appends the new messages of any commit to a branch.
pub(crate) async fn add_nodes(
    session: &mut Session<'_>,
    end: BranchEnd,
    commit: &Commit,
    full_text: bool,
) -> Result<()> {
    let Some(head) = commit.nodes.last() else { return Ok(()) };
    let first = place(end.branch, end.own + 1);
    let ids = ids(commit.nodes.iter().map(|node| &node.id));
    let add = session.query(sql::ADD_NODES).bind(end.chat).bind(ids).bind(first);
    session.execute(add).await?;
    let boundaries =
        commit.nodes.iter().zip(first..).filter(|(node, _)| node.kind == NodeKind::Boundary);
    let boundaries: Vec<i64> = boundaries.map(|(_, place)| place).collect();
    if !boundaries.is_empty() {
        let add = session.query(sql::ADD_BOUNDARIES).bind(boundaries);
        session.execute(add).await?;
    }
    let runs = Runs::of(end.own, first, &commit.nodes);
    let add = session.query(sql::ADD_RUNS).bind(&runs.places).bind(&runs.weights).bind(&runs.data);
    session.execute(add).await?;
    if let Some(block) = full_block(end.own, runs.first_end) {
        let merge = session.query(sql::MERGE).bind(place(end.branch, block)).bind(first);
        session.execute(merge).await?;
    }
    if full_text {
        words::index(session, &commit.chat.user, first, &commit.nodes).await?;
    }
    let own = end.own + signed(commit.nodes.len());
    let update = session
        .query(sql::MOVE_BRANCH)
        .bind(end.branch)
        .bind(own)
        .bind(head.id.as_str().as_bytes());
    session.execute(update).await?;
    Ok(())
}

/// New messages as runs that end where blocks do, in the form of arrays to bind.
struct Runs {
    places: Vec<i64>,
    weights: Vec<i64>,
    data: Vec<Vec<u8>>,
    /// The number of messages of the branch including the first run.
    first_end: i64,
}

impl Runs {
    /// Packs messages that follow the `own`th message of a branch, the first of them at a place.
    fn of(own: i64, first: i64, nodes: &[Arc<Node>]) -> Self {
        let mut runs =
            Self { places: Vec::new(), weights: Vec::new(), data: Vec::new(), first_end: own };
        let mut begun = 0;
        let mut bytes = 0;
        for (i, node) in nodes.iter().enumerate() {
            bytes += node.body().bytes().len();
            let next = nodes.get(i + 1).map_or(0, |next| next.body().bytes().len());
            let end = own + signed(i) + 1;
            if end % RUN == 0 || bytes + next > RUN_BYTES || i + 1 == nodes.len() {
                let run = &nodes[begun..=i];
                if begun == 0 {
                    runs.first_end = end;
                }
                runs.places.push(first + signed(begun));
                runs.weights.push(weight(run));
                runs.data.push(pack::pack_all(run));
                (begun, bytes) = (i + 1, 0);
            }
        }
        runs
    }
}

/// Returns the first message of the block that is now full, if a branch has grown from `before` own
/// messages to `after`. The runs that begin in the block become one run.
fn full_block(before: i64, after: i64) -> Option<i64> {
    let full = |block: i64| (after / block > before / block).then(|| before / block * block + 1);
    full(RUN).or_else(|| full(SMALL_RUN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merges_when_a_block_fills_up() {
        assert_eq!(full_block(14, 15), None);
        assert_eq!(full_block(15, 16), Some(1));
        assert_eq!(full_block(14, 18), Some(1));
        assert_eq!(full_block(16, 17), None);
        assert_eq!(full_block(40, 50), Some(33));
        assert_eq!(full_block(255, 256), Some(193));
    }
}
