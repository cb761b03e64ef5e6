//! Calls of different chats that wait for a connection, and are answered by one statement.
//!
//! On a server, most of the cost of a short call is in beginning and ending its statement. While no
//! connection is idle, calls of the same kind queue, and the first to get a connection serves all.
//! While it does, the next calls gather, unless they are many already.

use context_store_kit::{AnswerOr, CallQueue, Fit, QueuedCall, answer_or, yield_now};
use sqlx::Row;
use sqlx::postgres::PgRow;
use tokio::sync::Mutex;
use tokio::sync::oneshot::error::TryRecvError;

use super::{Pool, Session, Work};
use crate::error::Result;

/// The maximum number of calls that one statement answers.
const MOST: usize = 64;
/// The maximum number of bytes that one statement writes.
const MOST_BYTES: usize = 4 << 20;

/// The number of waiting calls that do not wait for the end of another group.
const CROWD: usize = 16;

/// A kind of calls that one statement can answer.
pub(crate) trait Together: Send + Sized {
    /// The answer to one call.
    type Answer: Send;

    /// The work that a connection is needed for.
    const WORK: Work;

    /// Returns the number of bytes that the call writes.
    fn bytes(&self) -> usize {
        0
    }

    /// Whether the call cannot be in one statement with another one.
    fn excludes(&self, _other: &Self) -> bool {
        false
    }

    /// Answers calls. Those that get no answer are left to their callers.
    fn answer(
        session: Session<'_>,
        group: Vec<QueuedCall<Self, Self::Answer>>,
    ) -> impl Future<Output = ()> + Send;
}

/// The calls of one kind that wait for a connection.
pub(crate) struct Queue<T: Together> {
    calls: CallQueue<T, T::Answer>,
    /// Held while a group is served, so that the next group gathers meanwhile.
    turn: Mutex<()>,
}

impl<T: Together> Default for Queue<T> {
    fn default() -> Self {
        Self { calls: CallQueue::default(), turn: Mutex::default() }
    }
}

/// Whether a call need not queue, because it has a connection to itself.
pub(crate) fn is_alone<T: Together>(pool: &Pool, queue: &Queue<T>) -> bool {
    // Row-level security lets a transaction see one user.
    pool.row_security() || !queue.calls.has_several() && pool.has_idle()
}

/// Queues a call, and serves the queue until the call has its answer. Returns `None` if the call is
/// left to its caller.
pub(crate) async fn together<T: Together>(
    pool: &Pool,
    queue: &Queue<T>,
    call: T,
) -> Result<Option<T::Answer>> {
    let several = queue.calls.has_several();
    let mut answer = queue.calls.put(call);
    if several {
        // Other tasks that are ready now can queue their calls first.
        yield_now().await;
    }
    loop {
        let turn = async {
            let is_crowded = queue.calls.waiting_calls() >= CROWD;
            let turn = if is_crowded { None } else { Some(queue.turn.lock().await) };
            (turn, pool.begin(T::WORK, None).await)
        };
        let (_turn, session) = match answer_or(&mut answer, turn).await {
            AnswerOr::Answer(answer) => return Ok(answer),
            AnswerOr::Resource((turn, session)) => (turn, session?),
        };
        let group = queue.calls.take(fits);
        if group.is_empty() {
            // Another group has taken the call, and is being served.
            session.end(Ok(())).await?;
            return Ok(answer.await.ok());
        }
        T::answer(session, group).await;
        match answer.try_recv() {
            Err(TryRecvError::Empty) => {}
            answered => return Ok(answered.ok()),
        }
    }
}

/// Returns the second column of each call's row, found by the number of the call, from 1, in the
/// first. A call without a row has `None`.
pub(crate) fn numbered(rows: &[PgRow], calls: usize) -> Vec<Option<i64>> {
    let mut values = vec![None; calls];
    for row in rows {
        let number = row.try_get(0).ok().and_then(|n: i64| usize::try_from(n - 1).ok());
        if let Some(value) = number.and_then(|number| values.get_mut(number)) {
            *value = row.try_get(1).ok();
        }
    }
    values
}

fn fits<T: Together>(group: &[QueuedCall<T, T::Answer>], next: &T) -> Fit {
    let bytes: usize = group.iter().map(|queued| queued.call.bytes()).sum();
    if group.len() == MOST || bytes + next.bytes() > MOST_BYTES && !group.is_empty() {
        Fit::Ends
    } else if group.iter().any(|queued| next.excludes(&queued.call)) {
        Fit::Leaves
    } else {
        Fit::Joins
    }
}
