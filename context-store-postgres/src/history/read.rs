//! Reading chains and windows, with one statement each, whatever the number of messages.

use bytes::Bytes;
use context_core::store::{ChainEnd, Window};
use context_core::{Chain, ChatRef, Error};
use context_store_kit::pack;
use context_store_kit::pack::PackedRun;
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::chat::access::chat_no;
use crate::connections::Session;
use crate::error::{Fault, Result};
use crate::sql;
use crate::values::numbers::{count, signed, signed_count};
use crate::values::place::{branch_of, own_of, place};
use crate::values::rows::{MISSING, blob, length};

const OPERATION: &str = "chain";

/// Returns the window of a chain.
pub(crate) async fn chain(
    session: &mut Session<'_>,
    chat: &ChatRef,
    end: &ChainEnd,
    window: &Window,
) -> Result<Chain> {
    match window {
        Window::Tokens(budget) => by_tokens(session, chat, end, *budget).await,
        Window::Whole | Window::Last(_) | Window::Boundary | Window::After { .. } => {
            window_of(session, chat, end, window).await
        }
    }
}

/// Reads a window by tokens. Each run stores its weight, so the statement returns the needed runs
/// or slightly more. It returns too few only if a run continues beyond the place of a fork. The
/// whole chain is read in that case.
async fn by_tokens(
    session: &mut Session<'_>,
    chat: &ChatRef,
    end: &ChainEnd,
    budget: u64,
) -> Result<Chain> {
    let window = Window::Tokens(budget);
    let chain = window_of(session, chat, end, &window).await?;
    let cut = window.of(&chain);
    if cut.len() < chain.len() || chain.is_whole() {
        return Ok(cut);
    }
    Ok(window.of(&window_of(session, chat, end, &Window::Whole).await?))
}

async fn window_of(
    session: &mut Session<'_>,
    chat: &ChatRef,
    end: &ChainEnd,
    window: &Window,
) -> Result<Chain> {
    let (name, is_branch) = match end {
        ChainEnd::Branch(name) => (name.as_str(), true),
        ChainEnd::Message(id) => (id.as_str(), false),
    };
    let statement = match (window, is_branch) {
        (Window::Last(_), true) => sql::LAST,
        (Window::Last(_), false) => sql::LAST_OF,
        (Window::Boundary, true) => sql::BOUNDARY,
        (Window::Boundary, false) => sql::BOUNDARY_OF,
        (Window::Tokens(_), true) => sql::TOKENS,
        (Window::Tokens(_), false) => sql::TOKENS_OF,
        (Window::After { .. }, true) => sql::AFTER,
        (Window::After { .. }, false) => sql::AFTER_OF,
        (_, true) => sql::WHOLE,
        (_, false) => sql::WHOLE_OF,
    };
    let query = session.query(statement);
    let query = query
        .bind(chat.user.as_str().as_bytes())
        .bind(chat.chat.as_str().as_bytes())
        .bind(name.as_bytes());
    let query = match window {
        Window::Last(n) => query.bind(signed(*n)),
        Window::Tokens(budget) => query.bind(signed_count(*budget)),
        Window::After { message, generation } => {
            query.bind(message.as_str().as_bytes()).bind(signed_count(*generation))
        }
        _ => query,
    };
    let rows = session.all(query).await?;
    if rows.is_empty() {
        chat_no(session, OPERATION, chat).await?;
        return Err(Error::not_found(
            OPERATION,
            if is_branch { "branch" } else { "message" },
            name,
        )
        .into());
    }
    assemble(rows)
}

/// A run of a segment of a chain.
struct ChainRun {
    place: i64,
    /// The last place of the chain in the segment.
    cut: i64,
    /// The first requested place, if the segment has it.
    start: Option<i64>,
    data: Bytes,
}

/// Orders the runs and checks that none is missing.
pub(crate) fn assemble(rows: Vec<PgRow>) -> Result<Chain> {
    let windowed = rows.first().is_some_and(|row| row.len() > 4);
    let amended: i64 = rows.first().map_or(Ok(0), |row| row.try_get(3))?;
    let mut found = Vec::with_capacity(rows.len());
    let mut skipped = 0;
    for row in rows {
        let cut: i64 = row.try_get(0)?;
        let start: Option<i64> = if windowed { row.try_get(4)? } else { None };
        if let Some(start) = start {
            let base: i64 = row.try_get(5)?;
            skipped = count(base + own_of(start) - 1)?;
        }
        match row.try_get::<Option<i64>, _>(1)? {
            Some(place) => found.push(ChainRun { place, cut, start, data: blob(row, 2)? }),
            None if own_of(cut) == 0 || start.is_some_and(|start| start > cut) => {}
            None => return Err(Fault::Corrupt(MISSING, None)),
        }
    }
    // Places order a chain from its root. The statement returns the newest segment first.
    found.sort_unstable_by_key(|found| found.place);
    let mut expected = 0;
    let mut runs = Vec::with_capacity(found.len());
    for i in 0..found.len() {
        let ChainRun { place: first, cut, start, ref data } = found[i];
        let next = found.get(i + 1).map(|next| next.place).filter(|next| *next <= cut);
        let mut take = next.unwrap_or(cut + 1) - first;
        let mut bytes = data.clone();
        let is_first = i == 0 || branch_of(found[i - 1].place) != branch_of(first);
        if is_first {
            let wanted = start.unwrap_or(place(branch_of(cut), 1));
            if first > wanted || branch_of(first) != branch_of(cut) {
                return Err(Fault::Corrupt(MISSING, None));
            }
            if first < wanted {
                bytes = pack::split_at(&bytes, length(wanted - first)?)?.1;
                take -= wanted - first;
            }
        }
        let take = length(take)?;
        expected += take;
        runs.push(PackedRun { bytes, take, is_whole: false });
    }
    let chain = context_store_kit::pack::chain(skipped, runs)?.with_generation(count(amended)?);
    if chain.len() != expected {
        return Err(Fault::Corrupt(MISSING, None));
    }
    Ok(chain)
}
