//! The cache of open rounds of a process, with eviction of rounds that no handle refers to.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use context_core::trajectory::{AgentRef, EdgeNames, Round, RoundRef};
use context_core::{SessionId, UserId};
use tokio::sync::OnceCell;

use crate::RecordError;
use crate::agent_rounds::AgentRounds;
use crate::channels::{Channel, Channels};
use crate::recorder::Recorder;

/// An open round: its recorder, and the earlier rounds of its agent.
#[derive(Clone)]
pub(crate) struct OpenedRound {
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) agent_rounds: Arc<AgentRounds>,
    pub(crate) edge_names: EdgeNames,
}

/// All rounds in memory, whether handles refer to them or not.
pub(crate) struct OpenRounds {
    /// The channels of the rounds. They live as long as the rounds, so that no other store can get
    /// their addresses.
    channels: Vec<Channel>,
    keep: usize,
    inner: Mutex<Inner>,
    /// One lock per session, held while a free number for a new sub-agent is searched.
    allocation_locks: Mutex<AllocationLocks>,
}

type AllocationLocks = HashMap<(UserId, SessionId), Arc<tokio::sync::Mutex<()>>>;

#[derive(Default)]
struct Inner {
    entries: BTreeMap<RoundRef, Entry>,
    /// Rounds without handles, by the time at which the last handle was dropped.
    closed: BTreeMap<u64, RoundRef>,
    agent_rounds: HashMap<AgentRef, Weak<AgentRounds>>,
    /// The counter that numbers entries and drop times.
    tick: u64,
}

struct Entry {
    number: u64,
    cell: Arc<OnceCell<OpenedRound>>,
    holders: usize,
    closed: Option<u64>,
}

/// A reference to an entry, which keeps the entry alive.
pub(crate) struct Lease {
    open_rounds: Arc<OpenRounds>,
    round: RoundRef,
    entry: u64,
    cell: Arc<OnceCell<OpenedRound>>,
}

impl OpenRounds {
    pub(crate) fn new(channels: Vec<Channel>, keep: usize) -> Self {
        Self { channels, keep, inner: Mutex::default(), allocation_locks: Mutex::default() }
    }

    /// Returns whether the rounds are stored in the same instances in the same order.
    pub(crate) fn has_channels(&self, channels: &[Channel]) -> bool {
        self.channels.len() == channels.len()
            && self.channels.iter().zip(channels).all(|(own, other)| own.is_same(other))
    }

    /// Runs a search for a free number of a sub-agent, one at a time per session.
    pub(crate) async fn allocating<T>(
        &self,
        agent: &AgentRef,
        search: impl Future<Output = T>,
    ) -> T {
        let session = (agent.user.clone(), agent.session.clone());
        let lock = self.allocation_locks().entry(session.clone()).or_default().clone();
        let taken = lock.lock().await;
        let result = search.await;
        drop(taken);
        let mut allocation_locks = self.allocation_locks();
        // One reference is the map's, the other is ours.
        if Arc::strong_count(&lock) == 2 {
            allocation_locks.remove(&session);
        }
        result
    }

    fn allocation_locks(&self) -> MutexGuard<'_, AllocationLocks> {
        self.allocation_locks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a reference to a round. The round is built when it is first used.
    pub(crate) fn lease(self: &Arc<Self>, round: &RoundRef) -> Lease {
        let mut inner = self.inner();
        let Inner { entries, closed, tick, .. } = &mut *inner;
        let lost =
            |entry: &Entry| entry.cell.get().is_some_and(|opened| opened.recorder.is_superseded());
        if entries.get(round).is_some_and(lost) {
            let entry = entries.remove(round);
            entry.and_then(|entry| entry.closed).map(|at| closed.remove(&at));
        }
        let entry = entries.entry(round.clone()).or_insert_with(|| {
            *tick += 1;
            Entry { number: *tick, cell: Arc::default(), holders: 0, closed: None }
        });
        if let Some(at) = entry.closed.take() {
            closed.remove(&at);
        }
        entry.holders += 1;
        Lease {
            open_rounds: self.clone(),
            round: round.clone(),
            entry: entry.number,
            cell: entry.cell.clone(),
        }
    }

    /// Returns the cache of earlier rounds that the open rounds of an agent share.
    pub(crate) fn agent_rounds(
        &self,
        agent: &AgentRef,
        channels: &Arc<Channels>,
    ) -> Arc<AgentRounds> {
        let mut inner = self.inner();
        if let Some(known) = inner.agent_rounds.get(agent).and_then(Weak::upgrade) {
            return known;
        }
        let agent_rounds = Arc::new(AgentRounds::new(agent.clone(), channels.clone()));
        inner.agent_rounds.insert(agent.clone(), Arc::downgrade(&agent_rounds));
        agent_rounds
    }

    /// Returns the current state of the agent's open rounds below a number.
    pub(crate) fn open_below(&self, agent: &AgentRef, number: u32) -> Vec<Arc<Round>> {
        let inner = self.inner();
        let entries = inner.entries.range(agent.round(0)..agent.round(number));
        let opened = entries.filter_map(|(_, entry)| entry.cell.get());
        let live = opened.filter(|opened| !opened.recorder.is_superseded());
        let rounds = live.map(|opened| opened.recorder.round());
        rounds.filter(|round| round.revision() > 0 || !round.is_empty()).collect()
    }

    /// Returns the highest round number of an agent in memory.
    pub(crate) fn newest(&self, agent: &AgentRef) -> Option<u32> {
        let inner = self.inner();
        let mut entries = inner.entries.range(agent.round(0)..=agent.round(u32::MAX));
        entries.next_back().map(|(round, _)| round.round)
    }

    /// Returns whether a handle has a round open.
    pub(crate) fn is_open(&self, round: &RoundRef) -> bool {
        self.inner().entries.get(round).is_some_and(|entry| entry.holders > 0)
    }

    /// Returns the recorders with unsaved changes.
    pub(crate) fn unsaved(&self) -> Vec<Arc<Recorder>> {
        let inner = self.inner();
        let opened = inner.entries.values().filter_map(|entry| entry.cell.get());
        opened
            .map(|opened| opened.recorder.clone())
            .filter(|recorder| recorder.unsaved() > 0)
            .collect()
    }

    /// Returns the number of rounds in memory, with or without handles.
    pub(crate) fn len(&self) -> usize {
        self.inner().entries.len()
    }

    /// Releases rounds, with or without handles, except those with unsaved changes. Returns the
    /// number of released rounds.
    pub(crate) fn release(
        &self,
        user: &UserId,
        session: Option<&SessionId>,
        filter: impl Fn(&RoundRef) -> bool,
    ) -> usize {
        let mut inner = self.inner();
        let first = AgentRef::main(user.clone(), session.map_or("", SessionId::as_str)).round(0);
        let theirs = inner.entries.range(first..).take_while(|(round, _)| {
            round.agent.user == *user
                && session.is_none_or(|session| round.agent.session == *session)
        });
        let saved = |entry: &Entry| {
            let opened = entry.cell.get();
            opened.is_some_and(|opened| {
                opened.recorder.unsaved() == 0 || opened.recorder.is_superseded()
            })
        };
        let evicted = theirs.filter(|(round, entry)| filter(round) && saved(entry));
        let evicted: Vec<RoundRef> = evicted.map(|(round, _)| round.clone()).collect();
        for round in &evicted {
            inner.remove(round);
        }
        evicted.len()
    }

    /// Drops one reference to an entry. Without references, the entry becomes evictable.
    fn let_go(&self, round: &RoundRef, number: u64) {
        let mut inner = self.inner();
        let Inner { entries, closed, tick, .. } = &mut *inner;
        let Some(entry) = entries.get_mut(round).filter(|entry| entry.number == number) else {
            return;
        };
        entry.holders -= 1;
        if entry.holders > 0 {
            return;
        }
        if entry.cell.get().is_none() {
            entries.remove(round);
            return;
        }
        *tick += 1;
        entry.closed = Some(*tick);
        closed.insert(*tick, round.clone());
        inner.shrink(self.keep);
    }

    /// Evicts rounds above the limit. Called after writes, which can make rounds evictable.
    pub(crate) fn shrink(&self) {
        self.inner().shrink(self.keep);
    }
}

impl Inner {
    /// Evicts the rounds that have been without handles for longest. Rounds with unsaved changes
    /// stay.
    fn shrink(&mut self, keep: usize) {
        if self.closed.len() <= keep {
            return;
        }
        let too_many = self.closed.len() - keep;
        let entries = &self.entries;
        let saved = |round: &&RoundRef| {
            let opened = entries.get(*round).and_then(|entry| entry.cell.get());
            // Nothing can be written to a superseded round any more.
            opened.is_none_or(|opened| {
                opened.recorder.unsaved() == 0 || opened.recorder.is_superseded()
            })
        };
        let evicted: Vec<RoundRef> =
            self.closed.values().filter(saved).take(too_many).cloned().collect();
        for round in evicted {
            self.remove(&round);
        }
    }

    fn remove(&mut self, round: &RoundRef) {
        let Some(entry) = self.entries.remove(round) else { return };
        entry.closed.map(|at| self.closed.remove(&at));
        if let Some(opened) = entry.cell.get().filter(|opened| !opened.recorder.is_superseded()) {
            opened.agent_rounds.put(opened.recorder.round());
        }
        drop(entry);
        let agent_rounds = self.agent_rounds.get(&round.agent);
        if agent_rounds.is_some_and(|agent_rounds| agent_rounds.strong_count() == 0) {
            self.agent_rounds.remove(&round.agent);
        }
    }
}

impl Lease {
    /// Returns the open round. The first caller builds it; only callers of the same round wait for
    /// that.
    pub(crate) async fn opened(
        &self,
        build: impl Future<Output = Result<OpenedRound, RecordError>>,
    ) -> Result<OpenedRound, RecordError> {
        self.cell.get_or_try_init(|| build).await.cloned()
    }

    /// Returns whether this is the only reference.
    pub(crate) fn is_last(&self) -> bool {
        let inner = self.open_rounds.inner();
        let entry = inner.entries.get(&self.round).filter(|entry| entry.number == self.entry);
        entry.is_none_or(|entry| entry.holders == 1)
    }

    pub(crate) fn open_rounds(&self) -> &Arc<OpenRounds> {
        &self.open_rounds
    }

    /// Returns whether no other caller has opened or built the round.
    pub(crate) fn is_fresh(&self) -> bool {
        let inner = self.open_rounds.inner();
        let entry = inner.entries.get(&self.round).filter(|entry| entry.number == self.entry);
        entry.is_some_and(|entry| entry.holders == 1 && entry.cell.get().is_none())
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.open_rounds.let_go(&self.round, self.entry);
    }
}
