//! Where open rounds come from.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use context_core::base::limits;
use context_core::store::{Page, RoundPrune, RoundQuery, RoundsPruned, TrajectoryStore};
use context_core::trajectory::{AgentRef, RoundRef};
use context_core::trajectory::{
    BridgeFrom, NodeId, ParentNode, RoundHead, Trajectory, TrajectoryError,
};
use context_core::{Clock, IdGenerator, SessionId, Store, UserId};

use crate::channels::{Channel, Channels, graph};
use crate::environment::{HostClock, UuidKeys};
use crate::opening::{OpenOptions, Opener};
use crate::shelf::Shelf;
use crate::{OpenRound, RecordError};

/// How many rounds that nobody holds are kept, unless said otherwise.
const KEEP: usize = 256;

/// Makes [`Trajectories`].
#[must_use]
pub struct TrajectoriesBuilder {
    channels: Vec<Channel>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdGenerator>,
    keep: usize,
    bridges: BridgeFrom,
}

impl TrajectoriesBuilder {
    fn new(channel: Channel) -> Self {
        Self {
            channels: vec![channel],
            clock: Arc::new(HostClock),
            ids: Arc::new(UuidKeys),
            keep: KEEP,
            bridges: BridgeFrom::default(),
        }
    }

    /// Keeps everything here too, such as in local [files](crate::FileChannel). Default: the first
    /// channel alone. What is there already is used: of each round what was written to last,
    /// whichever channel has it.
    pub fn channel(mut self, store: Arc<dyn TrajectoryStore>) -> Self {
        self.channels.push(Channel::Alone(store));
        self
    }

    /// Tells the time. Default: the system's clock. Give a fixed one in tests.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Names commits, so that one that is repeated counts once. Default: random ids. Give ones that
    /// count in tests.
    pub fn ids(mut self, ids: Arc<dyn IdGenerator>) -> Self {
        self.ids = ids;
        self
    }

    /// How many rounds stay in memory though nobody holds them. Default: 256. More where more
    /// rounds than that go on at once; those with something that is not written stay beside them.
    pub fn keep(mut self, rounds: usize) -> Self {
        self.keep = rounds;
        self
    }

    /// From where rounds lead to the next one. Default: [`BridgeFrom::default`].
    pub fn bridges(mut self, from: BridgeFrom) -> Self {
        self.bridges = from;
        self
    }

    /// Fails if the store keeps no trajectories.
    pub fn build(self) -> Result<Trajectories, RecordError> {
        for channel in &self.channels {
            channel.store()?;
        }
        let channels = Channels { all: self.channels, clock: self.clock, keys: self.ids };
        let opener =
            Opener { channels: Arc::new(channels), shelf: Arc::new(Shelf::new(self.keep)) };
        let factory = Factory {
            opener: Arc::new(opener),
            bridges: self.bridges,
            allocating: Mutex::default(),
        };
        Ok(Trajectories(Arc::new(factory)))
    }
}

/// Opens rounds: for each there is one [`OpenRound`] in a process. Cheap to clone.
///
/// A round is read outside of any lock that others need: whoever opens another round never waits
/// for a slow store.
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
    /// Held, for each session, by who looks for the number of a new agent.
    allocating: Mutex<Allocating>,
}

type Allocating = HashMap<(UserId, SessionId), Arc<tokio::sync::Mutex<()>>>;

impl Trajectories {
    /// In a store.
    pub fn builder(store: Arc<dyn Store>) -> TrajectoriesBuilder {
        TrajectoriesBuilder::new(Channel::Of(store))
    }

    /// In what keeps nothing but trajectories.
    pub fn over(store: Arc<dyn TrajectoryStore>) -> TrajectoriesBuilder {
        TrajectoriesBuilder::new(Channel::Alone(store))
    }

    /// Opens a round: the one that is open, or what is stored, or a new one. Reads that round, and
    /// if it is new the head of the one before it, whatever else the session has. What is new is
    /// written with its first change.
    pub async fn open(
        &self,
        round: &RoundRef,
        options: OpenOptions,
    ) -> Result<OpenRound, RecordError> {
        let Factory { opener, bridges, .. } = &*self.0;
        let (opened, lease) = opener.open(round, &options).await?;
        Ok(OpenRound::new(opened, lease, opener.clone(), *bridges))
    }

    /// The number of the next round of an agent, which begins with the first change that is written
    /// to it.
    pub async fn next_round(&self, agent: &AgentRef) -> Result<RoundRef, RecordError> {
        let Opener { channels, shelf } = &*self.0.opener;
        let stored = channels.newest(agent, None).await?.map(|head| head.round.round);
        let newest = stored.max(shelf.newest(agent));
        Ok(agent.round(newest.map_or(0, |newest| newest.saturating_add(1))))
    }

    /// Begins round 0 of a new sub-agent of the session, called by a node of the parent. Its number
    /// is the next one that is free, from 1, and is taken by a write: two processes never get the
    /// same.
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
        let session = (caller.user.clone(), caller.session.clone());
        let lock = self.allocating().entry(session.clone()).or_default().clone();
        let taken = lock.lock().await;
        let opened = self.reserve(caller, &options).await;
        drop(taken);
        let mut allocating = self.allocating();
        // The map's and ours.
        if Arc::strong_count(&lock) == 2 {
            allocating.remove(&session);
        }
        opened
    }

    pub(crate) fn channels(&self) -> &Channels {
        &self.0.opener.channels
    }

    fn allocating(&self) -> MutexGuard<'_, Allocating> {
        self.0.allocating.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn reserve(
        &self,
        caller: &AgentRef,
        options: &OpenOptions,
    ) -> Result<OpenRound, RecordError> {
        let Factory { opener, bridges, .. } = &*self.0;
        let agent = |number| AgentRef { agent: number, ..caller.clone() };
        let taken = async |number| -> Result<bool, RecordError> {
            let open = opener.shelf.newest(&agent(number)).is_some();
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
            // Who else takes numbers, takes this one first.
            if let Some((opened, lease)) = opener.reserve(&agent(free).round(0), options).await? {
                return Ok(OpenRound::new(opened, lease, opener.clone(), *bridges));
            }
            free = free.saturating_add(1);
        }
    }

    /// Lets go of the open rounds of a user: of one session, one round, one agent, if they are
    /// named. Returns how many. A round with something that is not written stays, and is not
    /// counted; handles that somebody has go on working, but what is opened later is another one.
    pub fn release(
        &self,
        user: &UserId,
        session: Option<&SessionId>,
        round: Option<u32>,
        agent: Option<u32>,
    ) -> usize {
        self.0.opener.shelf.release(user, session, |open| {
            round.is_none_or(|round| round == open.round)
                && agent.is_none_or(|agent| agent == open.agent.agent)
        })
    }

    /// How many rounds are in memory.
    pub fn open_rounds(&self) -> usize {
        self.0.opener.shelf.len()
    }

    /// Writes what any open round has not written yet, each on its own. The first error is returned
    /// when all were tried.
    pub async fn flush_all(&self) -> Result<(), RecordError> {
        let unsaved = self.0.opener.shelf.unsaved();
        let flushes = unsaved.iter().map(|recorder| recorder.flush());
        let results = futures_util::future::join_all(flushes).await;
        self.0.opener.shelf.shrink();
        results.into_iter().collect()
    }

    /// The heads of rounds, by session and agent, of each agent the highest round first.
    pub async fn rounds(&self, query: &RoundQuery) -> Result<Page<RoundHead>, RecordError> {
        let (items, next) = self.0.opener.channels.list(query).await?;
        Ok(Page { items, next })
    }

    /// The sessions of a user that have rounds, behind one if it is named, at most so many.
    pub async fn sessions(
        &self,
        user: &UserId,
        after: Option<&SessionId>,
        limit: usize,
    ) -> Result<Vec<SessionId>, RecordError> {
        // Behind every round that a session can have.
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

    /// All rounds of an agent as they are stored, bridged, without opening any.
    pub async fn trajectory(&self, agent: &AgentRef) -> Result<Trajectory, RecordError> {
        let records = self.0.opener.channels.load(agent, 0..=i32::MAX as u32).await?;
        let rounds = records.into_values().map(|record| graph(record).map(Arc::new));
        Ok(Trajectory::new(rounds.collect::<Result<Vec<_>, _>>()?, self.0.bridges))
    }

    /// Removes rounds from every channel, and lets go of those that are open. What is counted is
    /// what the channel with the most had.
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
