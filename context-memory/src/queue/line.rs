//! The turns that wait, and what became of those that do not any more.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use context_core::memory::CapturedTurn;
use context_core::{Error, ErrorKind, Result, Retry};
use tokio::sync::Notify;

/// How much may wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) turns: usize,
    pub(super) bytes: usize,
}

/// The turns that wait.
pub(super) struct Line {
    limits: Limits,
    state: Mutex<State>,
    /// Something changed: a turn was kept, was given up for now, or waits.
    changed: Notify,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Waiting>,
    bytes: usize,
    /// How many were ever taken.
    taken: u64,
    /// Whether a task works on them.
    works: bool,
    /// Whether the first of them was tried as often as it may, until somebody flushes.
    rests: bool,
    /// What went wrong last with the first of them.
    trouble: Option<Arc<Error>>,
    /// How many were dropped since the last flush, and why the last one was.
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

    /// Whoever panicked while it held the lock left a queue that is whole: nothing is written in
    /// two steps.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn waiting(&self) -> usize {
        self.state().waiting.len()
    }

    /// Takes a turn; whether a task has to be started for it.
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
        // What comes after one that rests waits with it.
        let starts = !state.works && !state.rests;
        state.works |= starts;
        Ok(starts)
    }

    /// Lets the first of them be tried again: whether a task has to be started, and how many were
    /// ever taken.
    pub(super) fn wake(&self) -> (bool, u64) {
        let mut state = self.state();
        state.rests = false;
        let starts = !state.works && !state.waiting.is_empty();
        state.works |= starts;
        (starts, state.taken)
    }

    /// The first of them, for the task; nothing if there is none, and then the task ends.
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

    /// The first of them is kept, or cannot be and is dropped.
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

    /// The first of them could not be kept and rests until somebody flushes; the task ends.
    pub(super) fn rest(&self, error: Error) {
        let mut state = self.state();
        state.works = false;
        state.rests = true;
        state.trouble = Some(Arc::new(error));
        drop(state);
        self.changed.notify_waiters();
    }

    /// Waits until none of the first so many waits any more, or what waits rests.
    pub(super) async fn settled(&self, taken: u64) -> Result<()> {
        loop {
            let changed = self.changed.notified();
            let mut changed = std::pin::pin!(changed);
            // Before the state is read, so that no change in between is missed.
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
            // With a wrong key it says the same until somebody changes the key.
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
