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
pub(super) struct Line {
    limits: Limits,
    state: Mutex<State>,
    /// Notified when a turn is stored, postponed or queued.
    changed: Notify,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Waiting>,
    bytes: usize,
    /// The number of turns ever queued.
    taken: u64,
    /// Whether a task is running.
    works: bool,
    /// Whether the first turn has used up its attempts and waits for a flush.
    rests: bool,
    /// The last error of the first turn.
    trouble: Option<Arc<Error>>,
    /// The number of turns dropped since the last flush, and the last reason.
    dropped: Option<(usize, Arc<Error>)>,
}

struct Waiting {
    turn: Arc<CapturedTurn>,
    bytes: usize,
}

impl Line {
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
        let bytes =
            turn.messages.iter().map(|said| said.message.encode().bytes().len()).sum::<usize>()
                + 256;
        let mut state = self.state();
        let is_full = state.waiting.len() >= self.limits.turns
            || (!state.waiting.is_empty() && state.bytes.saturating_add(bytes) > self.limits.bytes);
        if is_full {
            let said = "the queue of captures is full; capture the same messages again later";
            return Err(Error::new(ErrorKind::Unavailable, "capture", said)
                .with("waiting", state.waiting.len())
                .with("limit", self.limits.turns)
                .with("limit_bytes", self.limits.bytes));
        }
        state.bytes += bytes;
        state.taken += 1;
        state.waiting.push_back(Waiting { turn: Arc::new(turn.clone()), bytes });
        // Turns behind a postponed one wait with it.
        let starts = !state.works && !state.rests;
        state.works |= starts;
        Ok(starts)
    }

    /// Allows the first turn to be retried. Returns whether a task has to be started, and how many
    /// turns were ever queued.
    pub(super) fn wake(&self) -> (bool, u64) {
        let mut state = self.state();
        state.rests = false;
        let starts = !state.works && !state.waiting.is_empty();
        state.works |= starts;
        (starts, state.taken)
    }

    /// Returns the first turn for the task. Without one, returns `None` and the task ends.
    pub(super) fn first(&self) -> Option<Arc<CapturedTurn>> {
        let mut state = self.state();
        let first = state.waiting.front().map(|waiting| Arc::clone(&waiting.turn));
        if first.is_none() {
            state.works = false;
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
        state.trouble = None;
        if let Some(error) = dropped {
            let before = state.dropped.as_ref().map_or(0, |(count, _)| *count);
            state.dropped = Some((before + 1, Arc::new(error)));
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// Postpones the first turn until a flush. The task ends.
    pub(super) fn rest(&self, error: Error) {
        let mut state = self.state();
        state.works = false;
        state.rests = true;
        state.trouble = Some(Arc::new(error));
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
        if done < taken && state.rests {
            let error = Error::new(
                ErrorKind::Unavailable,
                "flush",
                "turns that were captured are not kept yet",
            );
            // With a wrong key, for example, the error stays the same until the key is changed.
            let retry = state.trouble.as_ref().map_or(Retry::Safe, |trouble| trouble.retry());
            let error = error.with("waiting", waiting).with_retry(retry);
            return Some(Err(with_cause(error, state.trouble.as_ref())));
        }
        if done < taken {
            return None;
        }
        Some(match state.dropped.take() {
            None => Ok(()),
            Some((count, cause)) => {
                let error =
                    Error::new(cause.kind(), "flush", "turns that were captured cannot be kept")
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
