//! A round in memory with its unwritten changes.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use context_core::base::limits;
use context_core::store::{RecordOutcome, RoundCommit};
use context_core::trajectory::{Change, Round, RoundRef, RoundState, TrajectoryError};
use context_core::{Error, ErrorKind, Timestamp};
use futures_util::future::join_all;

use crate::RecordError;
use crate::channels::Channels;

/// The number of pending changes from which on they are sealed as a commit of their own.
const FULL_CHANGES: usize = 4000;
/// The size in bytes of pending changes from which on they are sealed as a commit of their own.
const FULL_BYTES: usize = 8 << 20;
/// The most changes of one call, so that they fit into one commit with the pending changes.
pub(crate) const MAX_CHANGES: usize = limits::MAX_COMMIT_ITEMS - FULL_CHANGES;

/// A round that is being recorded. Calls change it under a short lock. Group commit: the task that
/// holds the writer lock writes the changes of all waiting calls.
pub(crate) struct Recorder {
    pub(crate) reference: RoundRef,
    channels: Arc<Channels>,
    state: Mutex<State>,
    /// Whether the warning about a round that was left open was traced.
    warned: AtomicBool,
    writer: tokio::sync::Mutex<()>,
}

struct State {
    round: Arc<Round>,
    /// Commits that at least one channel lacks, oldest first. Commits are immutable, so that each
    /// can be sent again.
    sealed: VecDeque<SealedCommit>,
    /// The number of the first commit in `sealed`.
    first: u64,
    /// For each channel, the number of the next commit to send.
    next: Vec<u64>,
    /// Changes that are not part of a commit yet.
    open: Vec<Change>,
    open_bytes: usize,
    /// The numbers of calls that changed the round, that are part of commits, and that every
    /// channel has.
    done: u64,
    in_commits: u64,
    saved: u64,
    /// The number of write attempts.
    attempts: u64,
    failed: Option<FailedWrite>,
    superseded: bool,
}

struct SealedCommit {
    commit: Arc<RoundCommit>,
    /// The number of the last call in the commit.
    upto: u64,
}

struct FailedWrite {
    attempt: u64,
    upto: u64,
    error: RecordError,
}

/// The outcome of a change: the return value, and the changes, or `None` if nothing changed.
pub(crate) type ChangeResult<T> = Result<(T, Option<Vec<Change>>), TrajectoryError>;

impl Recorder {
    pub(crate) fn new(round: Round, channels: Arc<Channels>) -> Self {
        let state = State {
            sealed: VecDeque::new(),
            first: 0,
            next: vec![0; channels.all.len()],
            open: Vec::new(),
            open_bytes: 0,
            done: 0,
            in_commits: 0,
            saved: 0,
            attempts: 0,
            failed: None,
            superseded: false,
            round: Arc::new(round),
        };
        let reference = state.round.round().clone();
        let (state, warned) = (Mutex::new(state), AtomicBool::new(false));
        Self { reference, channels, state, warned, writer: tokio::sync::Mutex::default() }
    }

    /// Locks the state. No code that can panic runs under this lock.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn round(&self) -> Arc<Round> {
        self.state().round.clone()
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.channels.clock.now()
    }

    /// Returns the number of calls that are not written yet.
    pub(crate) fn unsaved(&self) -> u64 {
        let state = self.state();
        state.done - state.saved
    }

    pub(crate) fn is_superseded(&self) -> bool {
        self.state().superseded
    }

    /// Warns once that the last handle of an open round was dropped: a reader cannot tell such a
    /// round from a running one. Does not warn for a round in which nothing was recorded, nor for a
    /// superseded one.
    pub(crate) fn warn_if_open(&self) {
        let (round, superseded, unsaved) = {
            let state = self.state();
            (state.round.clone(), state.superseded, state.done - state.saved)
        };
        let begun = round.revision() > 0 || !round.is_empty();
        if superseded
            || !begun
            || round.state() != RoundState::Open
            || self.warned.swap(true, Ordering::Relaxed)
        {
            return;
        }
        tracing::warn!(
            round = %self.reference,
            unsaved,
            "a round is dropped while it is open: call `finish`, or `close` with the state in which it ended"
        );
    }

    /// Applies a change in memory. Returns the number of the call, for `save`, or 0 if nothing
    /// changed.
    pub(crate) fn apply<T>(
        &self,
        change: impl FnOnce(&mut Round, Timestamp) -> ChangeResult<T>,
    ) -> Result<(T, u64), RecordError> {
        let now = self.now();
        let mut state = self.state();
        if state.superseded {
            return Err(RecordError::superseded(&self.reference));
        }
        if state.open.len() >= FULL_CHANGES || state.open_bytes >= FULL_BYTES {
            state.seal(&self.channels);
        }
        let (result, changes) = change(Arc::make_mut(&mut state.round), now)?;
        let Some(changes) = changes else { return Ok((result, 0)) };
        state.open_bytes += changes.iter().map(bytes).sum::<usize>();
        state.open.extend(changes);
        state.done += 1;
        Ok((result, state.done))
    }

    /// Waits until everything up to a call is written. Writes it unless another task already has.
    pub(crate) async fn save(&self, upto: u64) -> Result<(), RecordError> {
        let before = self.state().attempts;
        if upto == 0 {
            return Ok(());
        }
        let _writer = self.writer.lock().await;
        {
            let state = self.state();
            if state.saved >= upto {
                return Ok(());
            }
            if state.superseded {
                return Err(RecordError::superseded(&self.reference));
            }
            // A call that waited during another task's failed attempt was part of that attempt.
            let failed = state.failed.as_ref();
            if let Some(failed) =
                failed.filter(|failed| failed.attempt > before && failed.upto >= upto)
            {
                return Err(failed.error.clone());
            }
        }
        self.write().await
    }

    /// Writes all unsaved changes.
    pub(crate) async fn flush(&self) -> Result<(), RecordError> {
        let done = self.state().done;
        self.save(done).await
    }

    /// Writes all changes to every channel. The caller holds the writer lock.
    async fn write(&self) -> Result<(), RecordError> {
        let (attempt, upto) = {
            let mut state = self.state();
            state.seal(&self.channels);
            state.attempts += 1;
            (state.attempts, state.in_commits)
        };
        let sent = join_all((0..self.channels.all.len()).map(|channel| self.send(channel))).await;
        let mut state = self.state();
        let error = sent.into_iter().find_map(Result::err);
        if let Some(error) = &error {
            state.superseded |= matches!(error, RecordError::Superseded { .. });
            state.failed = Some(FailedWrite { attempt, upto, error: error.clone() });
        }
        error.map_or(Ok(()), Err)
    }

    /// Sends a channel the commits it lacks, one by one. Progress is stored after each commit, so a
    /// cancelled caller loses nothing. A commit that is sent twice carries the same key.
    async fn send(&self, channel: usize) -> Result<(), RecordError> {
        let store = self.channels.all[channel].store()?;
        loop {
            let Some(commit) = self.state().next_of(channel) else { return Ok(()) };
            match store.record_round(&commit).await? {
                RecordOutcome::Applied | RecordOutcome::Replayed => self.state().sent(channel),
                RecordOutcome::Conflict { .. } => {
                    return Err(RecordError::superseded(&self.reference));
                }
                _ => {
                    let error =
                        Error::new(ErrorKind::Bug, "record_round", "an outcome that is not known");
                    return Err(error.into());
                }
            }
        }
    }
}

impl State {
    /// Makes a commit of the pending changes.
    fn seal(&mut self, channels: &Channels) {
        if self.done == self.in_commits {
            return;
        }
        let round = Arc::make_mut(&mut self.round);
        round.committed();
        let changes = std::mem::take(&mut self.open);
        let commit = Arc::new(RoundCommit::new(channels.keys.next_id(), changes, round.head()));
        self.open_bytes = 0;
        self.in_commits = self.done;
        self.sealed.push_back(SealedCommit { commit, upto: self.done });
    }

    fn next_of(&self, channel: usize) -> Option<Arc<RoundCommit>> {
        let at = self.next[channel] - self.first;
        self.sealed.get(at as usize).map(|sealed| sealed.commit.clone())
    }

    fn sent(&mut self, channel: usize) {
        self.next[channel] += 1;
        let everywhere = self.next.iter().copied().min().unwrap_or_default();
        while self.first < everywhere {
            let Some(sealed) = self.sealed.pop_front() else { break };
            self.saved = sealed.upto;
            self.first += 1;
        }
    }
}

fn bytes(change: &Change) -> usize {
    match change {
        Change::NodeAdded { node } => node.body.bytes() + node.description.len(),
        Change::NodeChanged { now, version, .. } => {
            now.iter().chain(version.previous.iter()).map(|(_, value)| value.bytes()).sum()
        }
        _ => 0,
    }
}
