//! Reading chains and windows, with one statement each, whatever the number of messages.

use bytes::Bytes;
use context_core::message::NodeKind;
use context_core::store::{ChainEnd, Window};
use context_core::{Chain, ChatRef, Error, MessageId};
use context_store_kit::pack;
use context_store_kit::pack::PackedRun;
use serde::Deserialize;
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use crate::chat::access::chat_no;
use crate::chat::tails::{is_plain, position};
use crate::checksums::{BRANCH, CHAT_NAME, Value};
use crate::counts::WRONG_ENTRY;
use crate::error::{Fault, Result};
use crate::history::messages::{MISPLACED, NOT_INDEXED};
use crate::sql::{self, run};
use crate::values::numbers::{count, signed};
use crate::values::place::{branch_of, own_of, place};
use crate::values::rows::{MISSING, blob, length, message_id, nth};

const OPERATION: &str = "chain";

/// The number of nodes that a read by tokens requests first. Each further request takes four times
/// as many.
const FIRST_LOOK: usize = 64;

/// Returns the window of a chain.
pub(crate) async fn chain(
    connection: &mut SqliteConnection,
    chat: &ChatRef,
    end: &ChainEnd,
    window: &Window,
) -> Result<Chain> {
    match window {
        Window::Tokens(budget) => by_tokens(connection, chat, end, *budget).await,
        Window::Whole | Window::Last(_) | Window::Boundary | Window::After { .. } => {
            window_of(connection, chat, end, window).await
        }
    }
}

/// Reads a window by tokens. Each request is a read of its own that sees one consistent state. Only
/// the last one is used.
async fn by_tokens(
    connection: &mut SqliteConnection,
    chat: &ChatRef,
    end: &ChainEnd,
    budget: u64,
) -> Result<Chain> {
    let window = Window::Tokens(budget);
    let mut look = FIRST_LOOK;
    loop {
        let chain = window_of(connection, chat, end, &Window::Last(look)).await?;
        let cut = window.of(&chain);
        if cut.len() < chain.len() || chain.is_whole() {
            return Ok(cut);
        }
        look = look.saturating_mul(4);
    }
}

async fn window_of(
    connection: &mut SqliteConnection,
    chat: &ChatRef,
    end: &ChainEnd,
    window: &Window,
) -> Result<Chain> {
    let (name, of_branch) = match end {
        ChainEnd::Branch(name) => (name.as_str(), true),
        ChainEnd::Message(id) => (id.as_str(), false),
    };
    let statement = match (window, of_branch) {
        (Window::Last(_), true) => sql::LAST,
        (Window::Last(_), false) => sql::LAST_OF,
        (Window::Boundary, true) => sql::BOUNDARY,
        (Window::Boundary, false) => sql::BOUNDARY_OF,
        (Window::After { .. }, true) => sql::AFTER,
        (Window::After { .. }, false) => sql::AFTER_OF,
        (_, true) => sql::WHOLE,
        (_, false) => sql::WHOLE_OF,
    };
    let query = |statement| {
        let query =
            sqlx::query(statement).bind(chat.user.as_str()).bind(chat.chat.as_str()).bind(name);
        match window {
            Window::Last(n) => query.bind(signed(*n)),
            Window::After { message, generation } => {
                query.bind(message.as_str()).bind(i64::try_from(*generation).unwrap_or(i64::MAX))
            }
            _ => query,
        }
    };
    // The newest messages are in the row of the branch, and a reader knows most of the others.
    if let Window::After { message, .. } = window
        && of_branch
        && is_plain(message)
    {
        let rows = run(connection, query(sql::OWN_TAIL)).await?;
        if !rows.is_empty() {
            return assemble(rows, chat, end, window, Some(message));
        }
    }
    // Most chains lie on one branch. The short statement reads those, and returns no row for
    // others.
    let short = match window {
        Window::Whole if of_branch => Some(sql::OWN),
        Window::After { .. } if of_branch => Some(sql::OWN_AFTER),
        _ => None,
    };
    if let Some(statement) = short {
        let rows = run(connection, query(statement)).await?;
        if !rows.is_empty() {
            return assemble(rows, chat, end, window, None);
        }
    }
    let rows = run(connection, query(statement)).await?;
    if rows.is_empty() {
        chat_no(connection, OPERATION, chat).await?;
        return Err(Error::not_found(
            OPERATION,
            if of_branch { "branch" } else { "message" },
            name,
        )
        .into());
    }
    assemble(rows, chat, end, window, None)
}

/// A run of a segment of a chain.
struct ChainRun {
    place: i64,
    /// The last place of the segment.
    cut: i64,
    /// The first requested place, if it is on this segment.
    start: Option<i64>,
    data: Bytes,
}

/// The stored facts about a chain, to be compared with its runs.
#[derive(Default)]
struct ChainFacts {
    generation: i64,
    /// The last message.
    end: Option<MessageId>,
    /// The number of messages up to the end.
    length: i64,
    /// The place after which the oldest segment forks.
    root: Option<i64>,
    start: Option<i64>,
}

const OTHER_END: &str = "a chain does not end with its last message";

/// The facts that a statement returns about a segment of a chain, in the order of its list.
#[derive(Deserialize)]
struct SegmentFacts {
    generation: i64,
    start: Option<i64>,
    base: i64,
    /// The place after which the segment forks.
    parent: Option<i64>,
    created_at: i64,
    /// The checksum of the branch.
    sum: i64,
    /// The checksum of the chat's names.
    name_sum: i64,
    /// The number of the first message in the branch's tail.
    tail_from: Option<i64>,
}

impl SegmentFacts {
    fn of(row: &SqliteRow) -> Result<Option<Self>> {
        let text: Option<&str> = row.try_get(3)?;
        let read = text.map(serde_json::from_str).transpose();
        read.map_err(|_| Fault::Corrupt("the facts about a branch cannot be read", None))
    }
}

/// Orders the runs and checks that none is missing. Rows of branches are compared with their
/// checksums, runs must follow each other, and the last message must be the stored head. A window
/// may begin behind a message in the tail of the first row.
fn assemble(
    rows: Vec<SqliteRow>,
    chat: &ChatRef,
    end: &ChainEnd,
    window: &Window,
    in_tail: Option<&MessageId>,
) -> Result<Chain> {
    let mut expected_chain = ChainFacts::default();
    let mut found = Vec::with_capacity(rows.len());
    let (mut skipped, mut segment) = (0, None);
    for row in rows {
        let cut: i64 = row.try_get(0)?;
        if segment != Some(cut) {
            let facts = SegmentFacts::of(&row)?.ok_or(Fault::Corrupt(MISSING, None))?;
            if segment.is_some() && expected_chain.root != Some(cut) {
                return Err(Fault::Corrupt(MISSING, None));
            }
            if segment.is_none() {
                expected_chain.generation = facts.generation;
                let names = [
                    branch_of(facts.generation).into(),
                    chat.user.as_str().into(),
                    chat.chat.as_str().into(),
                ];
                CHAT_NAME.check_sum(names, facts.name_sum)?;
                expected_chain.end = match end {
                    ChainEnd::Branch(name)
                        if row.try_get::<Option<&str>, _>(5)? != Some(name.as_str()) =>
                    {
                        return Err(WRONG_ENTRY);
                    }
                    ChainEnd::Branch(_) => message_id(&row, 4)?,
                    ChainEnd::Message(id) => Some(id.clone()),
                };
                expected_chain.length = facts.base.saturating_add(own_of(cut));
            }
            let branch: [Value<'_>; 6] = [
                branch_of(cut).into(),
                branch_of(expected_chain.generation).into(),
                Value::of(&row, 5)?,
                facts.parent.into(),
                facts.base.into(),
                facts.created_at.into(),
            ];
            BRANCH.check_sum(branch, facts.sum)?;
            let tail = row.try_get::<Option<&[u8]>, _>(6)?.map(Bytes::copy_from_slice);
            let tail = tail.zip(facts.tail_from.map(|own| place(branch_of(cut), own)));
            let mut start = facts.start;
            if let (Some(message), Some((tail, first))) = (in_tail, &tail) {
                let at = position(tail, message)?.ok_or(Fault::Corrupt(NOT_INDEXED, None))?;
                start = Some(first.saturating_add(signed(at)) + 1);
            }
            if let Some((data, first)) = tail.filter(|(_, first)| *first <= cut) {
                found.push(ChainRun { place: first, cut, start, data });
            }
            (expected_chain.root, expected_chain.start) = (facts.parent, start);
            if let Some(start) = start {
                skipped = facts.base.saturating_add(own_of(start)) - 1;
            }
            segment = Some(cut);
        }
        let start = expected_chain.start;
        // A run that is missing leaves fewer messages than the chain must have.
        if let Some(place) = row.try_get::<Option<i64>, _>(1)? {
            found.push(ChainRun { place, cut, start, data: blob(row, 2)? });
        }
    }
    if expected_chain.root.is_some() && expected_chain.start.is_none() {
        return Err(Fault::Corrupt(MISSING, None));
    }
    // Places order a chain from its root. The statement returns the newest piece first.
    found.sort_unstable_by_key(|found| found.place);
    let mut expected = 0;
    let mut runs = Vec::with_capacity(found.len());
    let mut last = None;
    for i in 0..found.len() {
        let ChainRun { place: first, cut, start, ref data } = found[i];
        let next = found.get(i + 1).map(|next| next.place).filter(|next| *next <= cut);
        let mut take = next.unwrap_or(cut.saturating_add(1)) - first;
        let mut bytes = data.clone();
        let is_first = i == 0 || branch_of(found[i - 1].place) != branch_of(first);
        if is_first {
            let wanted = start.unwrap_or(place(branch_of(cut), 1));
            if first > wanted || branch_of(first) != branch_of(cut) {
                return Err(Fault::Corrupt(MISSING, None));
            }
            if first < wanted {
                let (front, rest) = pack::split_at(&bytes, length(wanted - first)?)?;
                if let (Window::After { message, .. }, true) = (window, start.is_some()) {
                    let before = nth(&front, wanted - first - 1)?;
                    if before.id != *message {
                        return Err(Fault::Corrupt(MISPLACED, None));
                    }
                    last = Some(before.id.clone());
                }
                bytes = rest;
                take -= wanted - first;
            }
        }
        let take = length(take)?;
        expected += take;
        // A run that the same branch continues has no messages beyond the piece.
        runs.push(PackedRun { bytes, take, is_whole: next.is_some() });
    }
    let newest = runs.iter().rev().find(|run| run.take > 0).cloned();
    let chain = context_store_kit::pack::chain(count(skipped)?, runs)?
        .with_generation(count(expected_chain.generation)?);
    if chain.len() != expected || skipped.saturating_add(signed(expected)) != expected_chain.length
    {
        return Err(Fault::Corrupt(MISSING, None));
    }
    if let Some(run) = newest {
        last = Some(pack::id_of(&run.bytes, run.take - 1)?);
    }
    // If the window is empty, there is no last message to compare.
    if last != expected_chain.end && (last.is_some() || expected_chain.start.is_none()) {
        return Err(Fault::Corrupt(OTHER_END, None));
    }
    if let Window::After { message, generation } = window
        && count(expected_chain.generation)? == *generation
        && expected_chain.start.is_none()
        && chain.iter().any(|node| node.id == *message)
    {
        return Err(Fault::Corrupt(NOT_INDEXED, None));
    }
    if matches!(window, Window::Boundary) {
        let boundaries = chain.iter().filter(|node| node.kind == NodeKind::Boundary).count();
        let begins = chain.iter().next().is_some_and(|node| node.kind == NodeKind::Boundary);
        if boundaries != usize::from(expected_chain.start.is_some())
            || begins != expected_chain.start.is_some()
        {
            return Err(Fault::Corrupt(
                "the index of boundaries disagrees with the messages",
                None,
            ));
        }
    }
    Ok(chain)
}
