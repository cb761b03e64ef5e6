//! The queued turns, and the outcomes of the finished ones.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use context_core::memory::CapturedTurn;
use context_core::{Error, ErrorKind, Result, Retry};
use tokio::sync::Notify;

/// The limits of the queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) turns: usize,
    pub(super) bytes: usize,
}

/// The queue of turns.
pub(super) struct TurnQueue {
    limits: Limits,
    state: Mutex<State>,
    /// Notified when a turn is stored, postponed or queued.
    changed: Notify,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<QueuedTurn>,
    bytes: usize,
    /// The number of turns ever queued.
    taken: u64,
    /// Whether a task is running.
    is_running: bool,
    /// Whether the first turn has used up its attempts and waits for a flush.
    is_postponed: bool,
    /// The last error of the first turn.
    last_error: Option<Arc<Error>>,
    /// The number of turns dropped since the last flush, and the last reason.
    dropped: Option<(usize, Arc<Error>)>,
}

struct QueuedTurn {
    turn: Arc<CapturedTurn>,
    bytes: usize,
}

impl TurnQueue {
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, state: Mutex::default(), changed: Notify::new() }
    }

    /// A panic while the lock is held leaves a consistent queue, since no change takes two steps.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn waiting(&self) -> usize {
        self.state().waiting.len()
    }

    /// Queues a turn. Returns whether a task has to be started.
    pub(super) fn take(&self, turn: &CapturedTurn) -> Result<bool> {
        let bytes = turn
            .messages
            .iter()
            .map(|captured| captured.message.encode().bytes().len())
            .sum::<usize>()
            + 256;
        let mut state = self.state();
        let is_full = state.waiting.len() >= self.limits.turns
            || (!state.waiting.is_empty() && state.bytes.saturating_add(bytes) > self.limits.bytes);
        if is_full {
            let reason = "the queue of captures is full; capture the same messages again later";
            return Err(Error::new(ErrorKind::Unavailable, "capture", reason)
                .with("waiting", state.waiting.len())
                .with("limit", self.limits.turns)
                .with("limit_bytes", self.limits.bytes));
        }
        state.bytes += bytes;
        state.taken += 1;
        state.waiting.push_back(QueuedTurn { turn: Arc::new(turn.clone()), bytes });
        // Turns behind a postponed one wait with it.
        let starts = !state.is_running && !state.is_postponed;
        state.is_running |= starts;
        Ok(starts)
    }

    /// Allows the first turn to be retried. Returns whether a task has to be started, and how many
    /// turns were ever queued.
    pub(super) fn wake(&self) -> (bool, u64) {
        let mut state = self.state();
        state.is_postponed = false;
        let starts = !state.is_running && !state.waiting.is_empty();
        state.is_running |= starts;
        (starts, state.taken)
    }

    /// Returns the first turn for the task. Without one, returns `None` and the task ends.
    pub(super) fn first(&self) -> Option<Arc<CapturedTurn>> {
        let mut state = self.state();
        let first = state.waiting.front().map(|waiting| Arc::clone(&waiting.turn));
        if first.is_none() {
            state.is_running = false;
            drop(state);
            self.changed.notify_waiters();
        }
        first
    }

    /// Removes the first turn, which was stored or, with an error, dropped.
    pub(super) fn done(&self, dropped: Option<Error>) {
        let mut state = self.state();
        if let Some(gone) = state.waiting.pop_front() {
            state.bytes -= gone.bytes;
        }
        state.last_error = None;
        if let Some(error) = dropped {
            let before = state.dropped.as_ref().map_or(0, |(count, _)| *count);
            state.dropped = Some((before + 1, Arc::new(error)));
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// Postpones the first turn until a flush. The task ends.
    pub(super) fn postpone(&self, error: Error) {
        let mut state = self.state();
        state.is_running = false;
        state.is_postponed = true;
        state.last_error = Some(Arc::new(error));
        drop(state);
        self.changed.notify_waiters();
    }

    /// Waits until the first `taken` turns are finished, or the remaining ones are postponed.
    pub(super) async fn settled(&self, taken: u64) -> Result<()> {
        loop {
            let changed = self.changed.notified();
            let mut changed = std::pin::pin!(changed);
            // Registered before the state is read, so that no change is missed.
            changed.as_mut().enable();
            if let Some(settled) = self.outcome(taken) {
                return settled;
            }
            changed.await;
        }
    }

    fn outcome(&self, taken: u64) -> Option<Result<()>> {
        let mut state = self.state();
        let waiting = state.waiting.len();
        let done = state.taken - waiting as u64;
        if done < taken && state.is_postponed {
            let error =
                Error::new(ErrorKind::Unavailable, "flush", "captured turns are not stored yet");
            // With a wrong key, for example, the error stays the same until the key is changed.
            let retry =
                state.last_error.as_ref().map_or(Retry::Safe, |last_error| last_error.retry());
            let error = error.with("waiting", waiting).with_retry(retry);
            return Some(Err(with_cause(error, state.last_error.as_ref())));
        }
        if done < taken {
            return None;
        }
        Some(match state.dropped.take() {
            None => Ok(()),
            Some((count, cause)) => {
                let error = Error::new(cause.kind(), "flush", "captured turns cannot be stored")
                    .with("turns", count)
                    .with_retry(Retry::Never);
                Err(with_cause(error, Some(&cause)))
            }
        })
    }
}

fn with_cause(error: Error, cause: Option<&Arc<Error>>) -> Error {
    match cause {
        Some(cause) => error.with_source(Arc::clone(cause)),
        None => error,
    }
}
