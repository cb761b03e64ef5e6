//! `Trajectories`, which opens rounds, and its builder.

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::{BridgeFrom, OpenRound, RecordError, Trajectory};
use context_core::base::limits;
use context_core::store::{Page, RoundPrune, RoundQuery, RoundsPruned, TrajectoryStore};
use context_core::trajectory::{
    AgentRef, NodeId, ParentNode, RoundHead, RoundRef, TrajectoryError,
};
use context_core::{CancelSignal, Clock, IdGenerator, SessionId, Store, UserId};

use crate::channels::{Channel, Channels, graph};
use crate::environment::{HostClock, UuidKeys};
use crate::opener::{OpenOptions, Opener};
use crate::shared_rounds::shared_rounds;

/// The default number of unreferenced rounds that stay in memory.
const KEEP: usize = 256;

/// Builds [`Trajectories`].
#[must_use]
pub struct TrajectoriesBuilder {
    channels: Vec<Channel>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdGenerator>,
    keep: usize,
    bridges: BridgeFrom,
    cancel: CancelSignal,
}

impl TrajectoriesBuilder {
    fn new(channel: Channel) -> Self {
        Self {
            channels: vec![channel],
            clock: Arc::new(HostClock),
            ids: Arc::new(UuidKeys),
            keep: KEEP,
            bridges: BridgeFrom::default(),
            cancel: CancelSignal::never(),
        }
    }

    /// Adds a channel that keeps a complete copy of every round, such as local
    /// [files](crate::FileChannel). Default: the first channel alone. Existing data is used: for
    /// each round, the most recently written copy, from whichever channel has it.
    pub fn channel(mut self, store: Arc<dyn TrajectoryStore>) -> Self {
        self.channels.push(Channel::Trajectories(store));
        self
    }

    /// Sets the clock. Default: the system clock. Use a fixed clock in tests.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Sets the generator of commit keys, which make repeated commits idempotent. Default: random
    /// ids. Use a counter in tests.
    pub fn ids(mut self, ids: Arc<dyn IdGenerator>) -> Self {
        self.ids = ids;
        self
    }

    /// Sets how many rounds stay in memory when no handle refers to them. Default: 256. Set a
    /// higher value if more rounds than that are active at once. Rounds with unsaved changes stay
    /// in memory in addition. Of recorders that share their rounds, the first one's value applies.
    pub fn keep(mut self, rounds: usize) -> Self {
        self.keep = rounds;
        self
    }

    /// Sets where the bridges between consecutive rounds start. Default: [`BridgeFrom::default`].
    pub fn bridges(mut self, from: BridgeFrom) -> Self {
        self.bridges = from;
        self
    }

    /// Sets the signal that [recording a chat](Trajectories::record_chat) checks between two rounds
    /// and [reports](CancelSignal::report) the rounds to. Default: none.
    pub fn cancel(mut self, signal: CancelSignal) -> Self {
        self.cancel = signal;
        self
    }

    /// Builds the recorder. Fails if a store does not support trajectories.
    pub fn build(self) -> Result<Trajectories, RecordError> {
        for channel in &self.channels {
            channel.store()?;
        }
        let open_rounds = shared_rounds(&self.channels, self.keep);
        let channels = Channels { all: self.channels, clock: self.clock, keys: self.ids };
        let opener = Opener { channels: Arc::new(channels), open_rounds };
        let factory =
            Factory { opener: Arc::new(opener), bridges: self.bridges, cancel: self.cancel };
        Ok(Trajectories(Arc::new(factory)))
    }
}

/// Opens rounds, with one [`OpenRound`] per round in a process. Cheap to clone.
///
/// Recorders over the same channels share their open rounds: those that were built from clones of
/// the same `Arc`s, in the same order. A round keeps the clock and the ids of the recorder that
/// opened it first, and the first recorder's [`keep`](TrajectoriesBuilder::keep) applies to all.
/// Recorders over two handles of one database, or with other further channels, share nothing: to
/// each other, they are like two processes, and a round has one [writer](OpenRound#single-writer).
///
/// A round is read without holding a lock that other rounds need, so opening another round never
/// waits for a slow store.
///
/// ```
/// use std::sync::Arc;
///
/// use context_core::trajectory::AgentRef;
/// use context_core::trajectory::NewQuery;
/// use context_store_inmem::InMemoryStore;
/// use context_trajectory::{OpenOptions, Trajectories};
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let trajectories = Trajectories::builder(Arc::new(InMemoryStore::default())).build()?;
/// let agent = AgentRef::main("ada", "trip");
/// for text in ["Where is it warm in March?", "And in April?"] {
///     let round = trajectories.next_round(&agent).await?;
///     trajectories.open(&round, OpenOptions::new()).await?.ask(NewQuery::new(text)).await?;
/// }
/// assert_eq!(trajectories.trajectory(&agent).await?.rounds().count(), 2); // side by side, bridged
/// # Ok::<(), context_trajectory::RecordError>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Trajectories(Arc<Factory>);

struct Factory {
    opener: Arc<Opener>,
    bridges: BridgeFrom,
    cancel: CancelSignal,
}

impl Trajectories {
    /// Returns a builder whose first channel is a store.
    pub fn builder(store: Arc<dyn Store>) -> TrajectoriesBuilder {
        TrajectoriesBuilder::new(Channel::Store(store))
    }

    /// Returns a builder whose first channel stores nothing but trajectories.
    pub fn over(store: Arc<dyn TrajectoryStore>) -> TrajectoriesBuilder {
        TrajectoriesBuilder::new(Channel::Trajectories(store))
    }

    /// Opens a round: returns the open one, or reads the stored one, or starts a new one. Reads
    /// only that round and, for a new round, the head of the round before it, however large the
    /// session is. A new round is written with its first change.
    pub async fn open(
        &self,
        round: &RoundRef,
        options: OpenOptions,
    ) -> Result<OpenRound, RecordError> {
        let Factory { opener, bridges, .. } = &*self.0;
        let (opened, lease) = opener.open(round, &options).await?;
        Ok(OpenRound::new(opened, lease, opener.clone(), *bridges))
    }

    /// Returns the number of the next round of an agent. The round starts to exist with the first
    /// change that is written to it.
    pub async fn next_round(&self, agent: &AgentRef) -> Result<RoundRef, RecordError> {
        let newest = self.channels().newest(agent, None).await?;
        Ok(self.round_after(agent, newest.as_ref()))
    }

    /// Opens the next round of an agent, after its newest stored round, of which the caller has
    /// just read the head. The round is written with its first change. If another process has
    /// written it meanwhile, that change is refused with
    /// [`Superseded`](RecordError::Superseded).
    pub async fn begin_after(
        &self,
        agent: &AgentRef,
        newest: Option<&RoundHead>,
    ) -> Result<OpenRound, RecordError> {
        let Factory { opener, bridges, .. } = &*self.0;
        let round = self.round_after(agent, newest);
        let (opened, lease) = opener.open_next(&round, newest).await?;
        Ok(OpenRound::new(opened, lease, opener.clone(), *bridges))
    }

    fn round_after(&self, agent: &AgentRef, newest: Option<&RoundHead>) -> RoundRef {
        let stored = newest.map(|head| head.round.round);
        let newest = stored.max(self.0.opener.open_rounds.newest(agent));
        agent.round(newest.map_or(0, |newest| newest.saturating_add(1)))
    }

    /// Opens round 0 of a new sub-agent of the session, called by a node of the parent. The
    /// sub-agent gets the next free number, from 1. A write reserves the number, so two processes
    /// never get the same one.
    pub async fn open_sub_agent(
        &self,
        parent: &OpenRound,
        node: NodeId,
        options: OpenOptions,
    ) -> Result<OpenRound, RecordError> {
        let caller = &parent.reference().agent;
        if parent.round().node(node).is_none() {
            return Err(TrajectoryError::UnknownNode { node: node.to_string() }.into());
        }
        let options = options.parent(ParentNode { agent: caller.agent, node });
        let search = self.reserve(caller, &options);
        self.0.opener.open_rounds.allocating(caller, search).await
    }

    pub(crate) fn channels(&self) -> &Channels {
        &self.0.opener.channels
    }

    pub(crate) fn cancel(&self) -> &CancelSignal {
        &self.0.cancel
    }

    async fn reserve(
        &self,
        caller: &AgentRef,
        options: &OpenOptions,
    ) -> Result<OpenRound, RecordError> {
        let Factory { opener, bridges, .. } = &*self.0;
        let agent = |number| AgentRef { agent: number, ..caller.clone() };
        let taken = async |number| -> Result<bool, RecordError> {
            let open = opener.open_rounds.newest(&agent(number)).is_some();
            Ok(open || opener.channels.newest(&agent(number), None).await?.is_some())
        };
        let (mut low, mut step) = (0_u32, 1);
        while taken(low.saturating_add(step)).await? {
            low = low.saturating_add(step);
            step *= 2;
        }
        let mut free = low.saturating_add(step);
        while free - low > 1 {
            let middle = low + (free - low) / 2;
            if taken(middle).await? { low = middle } else { free = middle }
        }
        loop {
            // If another process reserves numbers at the same time, it reserves this one first.
            if let Some((opened, lease)) = opener.reserve(&agent(free).round(0), options).await? {
                return Ok(OpenRound::new(opened, lease, opener.clone(), *bridges));
            }
            free = free.saturating_add(1);
        }
    }

    /// Releases the open rounds of a user, optionally of one session, round number or agent only.
    /// Returns how many rounds were released. A round with unsaved changes stays open and is not
    /// counted. Existing handles keep working, but a later `open` returns a separate handle that is
    /// not the same open round.
    pub fn release(
        &self,
        user: &UserId,
        session: Option<&SessionId>,
        round: Option<u32>,
        agent: Option<u32>,
    ) -> usize {
        self.0.opener.open_rounds.release(user, session, |open| {
            round.is_none_or(|round| round == open.round)
                && agent.is_none_or(|agent| agent == open.agent.agent)
        })
    }

    /// Returns whether a handle of this process has a round open.
    pub fn is_open(&self, round: &RoundRef) -> bool {
        self.0.opener.open_rounds.is_open(round)
    }

    /// Returns the number of rounds in memory, of all recorders that share them.
    pub fn open_rounds(&self) -> usize {
        self.0.opener.open_rounds.len()
    }

    /// Writes the unsaved changes of all open rounds, each round independently. Returns the first
    /// error after all rounds were tried.
    pub async fn flush_all(&self) -> Result<(), RecordError> {
        let unsaved = self.0.opener.open_rounds.unsaved();
        let flushes = unsaved.iter().map(|recorder| recorder.flush());
        let results = futures_util::future::join_all(flushes).await;
        self.0.opener.open_rounds.shrink();
        results.into_iter().collect()
    }

    /// Returns the heads of rounds, ordered by session and agent, with the highest round of each
    /// agent first.
    pub async fn rounds(&self, query: &RoundQuery) -> Result<Page<RoundHead>, RecordError> {
        let (items, next) = self.0.opener.channels.list(query).await?;
        Ok(Page { items, next })
    }

    /// Returns up to `limit` sessions of a user that have rounds, starting after the session
    /// `after`, if given.
    pub async fn sessions(
        &self,
        user: &UserId,
        after: Option<&SessionId>,
        limit: usize,
    ) -> Result<Vec<SessionId>, RecordError> {
        // A cursor behind every round that a session can have.
        let end = |session: &SessionId| {
            const LAST: u32 = i32::MAX as u32;
            AgentRef::new(user.clone(), session.clone(), LAST).round(0).cursor()
        };
        let mut sessions: Vec<SessionId> = Vec::new();
        let mut cursor = after.map(end);
        while sessions.len() < limit {
            let page =
                RoundQuery::of_user(user.clone()).limit(limits::MAX_PAGE.min(limit)).after(cursor);
            let (heads, next) = self.0.opener.channels.list(&page).await?;
            for head in heads {
                let session = head.round.agent.session;
                if sessions.last() != Some(&session) && sessions.len() < limit {
                    sessions.push(session);
                }
            }
            if next.is_none() {
                break;
            }
            cursor = sessions.last().map(end);
        }
        Ok(sessions)
    }

    /// Returns all stored rounds of an agent, bridged, without opening any.
    pub async fn trajectory(&self, agent: &AgentRef) -> Result<Trajectory, RecordError> {
        self.bridged(agent, 0..=i32::MAX as u32).await
    }

    /// Returns up to this many of the newest stored rounds of an agent, bridged, without opening
    /// any. Reads these rounds and a page of heads, however long the trajectory is.
    /// [`Trajectory::continues_from`] says whether there are rounds before them.
    pub async fn trajectory_end(
        &self,
        agent: &AgentRef,
        rounds: usize,
    ) -> Result<Trajectory, RecordError> {
        let limit = rounds.saturating_add(1).min(limits::MAX_PAGE);
        let mut query = RoundQuery::of_agent(agent).limit(limit);
        let mut numbers = Vec::new();
        loop {
            let (heads, next) = self.channels().list(&query).await?;
            numbers.extend(heads.into_iter().map(|head| head.round.round));
            if numbers.len() > rounds || next.is_none() {
                break;
            }
            query.after = next;
        }
        let earlier = numbers.get(rounds).copied();
        numbers.truncate(rounds);
        let end = match (numbers.last(), numbers.first()) {
            (Some(first), Some(newest)) => self.bridged(agent, *first..=*newest).await?,
            _ => Trajectory::default(),
        };
        Ok(end.continuing_from(earlier))
    }

    async fn bridged(
        &self,
        agent: &AgentRef,
        range: RangeInclusive<u32>,
    ) -> Result<Trajectory, RecordError> {
        let records = self.channels().load(agent, range).await?;
        let rounds = records.into_values().map(|record| graph(record).map(Arc::new));
        Ok(Trajectory::new(rounds.collect::<Result<Vec<_>, _>>()?, self.0.bridges))
    }

    /// Removes rounds from every channel and releases those that are open. Returns the counts of
    /// the channel that removed the most rounds.
    pub async fn prune(&self, prune: &RoundPrune) -> Result<RoundsPruned, RecordError> {
        let mut most = RoundsPruned::default();
        for channel in &self.0.opener.channels.all {
            let pruned = channel.store()?.prune_rounds(prune).await?;
            if pruned.rounds > most.rounds {
                most = pruned;
            }
        }
        self.release(&prune.user, prune.session.as_ref(), None, prune.agent);
        Ok(most)
    }
}

impl fmt::Debug for Trajectories {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Trajectories");
        shown.field("channels", &self.0.opener.channels.all.len());
        shown.field("open_rounds", &self.open_rounds()).finish_non_exhaustive()
    }
}
