//! The handle through which one round is recorded.

use std::fmt;
use std::sync::Arc;

use crate::{BridgeFrom, RecordError, Trajectory};
use context_core::base::JsonMap;
use context_core::trajectory::{
    Changes, NewNode, NewQuery, NodeId, NodeRemoval, QueueItem, QueueName, Queues, Round, RoundRef,
    RoundState, TrajectoryError,
};

use crate::open_rounds::{Lease, OpenedRound};
use crate::opener::{OpenOptions, Opener};
use crate::recorder::{ChangeResult, MAX_CHANGES, Recorder};

/// The number of attempts to write an amendment while other writers write to the same round.
const AMENDMENT_TRIES: usize = 16;

/// A handle for recording one round of one agent. Cheap to clone. All clones, and all handles that
/// [`open`](crate::Trajectories::open) returns for the same round, are the same open round, whichever
/// recorder over the same channels opened them.
///
/// # When changes are written
///
/// A call validates the change, applies it to the graph in memory, and returns when every channel
/// has written it. Calls that wait at the same time share one commit. The `…_later` variants return
/// at once; their changes are written with the next write, or by [`flush`](Self::flush).
///
/// If a channel fails, the call returns the error and the change stays in memory. It is counted by
/// [`unsaved`](Self::unsaved) and is the first to be written next time, under the same idempotency
/// key, so a lost reply never causes a second write. A call that is dropped while it waits leaves
/// the same state. In both cases do not repeat the call, but call [`flush`](Self::flush).
///
/// # Ending a round
///
/// A round ends with [`finish`](Self::finish) or [`close`](Self::close). If the last handle of an
/// open round is dropped, a warning is traced, once per round. Readers consider such a round
/// running until its agent has a later round or nothing has been written to it for an hour
/// ([`RoundHead::state_as_read`](context_core::trajectory::RoundHead::state_as_read)).
///
/// # Single writer
///
/// A round has one writer. If another process writes to the round, this handle can no longer write
/// ([`Superseded`](RecordError::Superseded)). Its state stays readable, and opening the round again
/// reads the stored state.
///
/// ```
/// use std::sync::Arc;
///
/// use context_core::trajectory::AgentRef;
/// use context_core::trajectory::{NewNode, NewQuery, NodeBody};
/// use context_store_inmem::InMemoryStore;
/// use context_trajectory::{OpenOptions, Trajectories};
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let trajectories = Trajectories::builder(Arc::new(InMemoryStore::default())).build()?;
/// let round = AgentRef::main("ada", "trip").round(0);
/// let open = trajectories.open(&round, OpenOptions::new()).await?;
/// let query = open.ask(NewQuery::new("Where is it warm?")).await?; // durable when it returns
/// open.add_later(NewNode::new(NodeBody::state("Ask for a month."), [query]))?; // in memory
/// assert_eq!(open.unsaved(), 1);
/// open.flush().await?;
/// assert_eq!((open.unsaved(), open.round().len()), (0, 2));
/// # Ok::<(), context_trajectory::RecordError>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct OpenRound(Arc<Handle>);

struct Handle {
    opened: OpenedRound,
    lease: Lease,
    opener: Arc<Opener>,
    bridges: BridgeFrom,
}

impl Drop for Handle {
    fn drop(&mut self) {
        if self.lease.is_last() {
            self.opened.recorder.warn_if_open();
        }
    }
}

impl OpenRound {
    pub(crate) fn new(
        opened: OpenedRound,
        lease: Lease,
        opener: Arc<Opener>,
        bridges: BridgeFrom,
    ) -> Self {
        Self(Arc::new(Handle { opened, lease, opener, bridges }))
    }

    fn recorder(&self) -> &Recorder {
        &self.0.opened.recorder
    }

    /// Returns the round's reference: user, session, agent and number.
    pub fn reference(&self) -> &RoundRef {
        &self.recorder().reference
    }

    /// Returns whether two handles belong to the same open round.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0.opened.recorder, &other.0.opened.recorder)
    }

    /// Returns a snapshot of the round. Later changes do not show in it. While a snapshot is held,
    /// the next change copies the graph.
    pub fn round(&self) -> Arc<Round> {
        self.recorder().round()
    }

    /// Returns the number of calls whose changes are not in every channel yet.
    pub fn unsaved(&self) -> u64 {
        self.recorder().unsaved()
    }

    /// Writes all unsaved changes.
    pub async fn flush(&self) -> Result<(), RecordError> {
        self.recorder().flush().await
    }

    /// Returns the rounds of the agent up to this one, bridged. The first call reads the earlier
    /// rounds, once for all open rounds of the agent. Rounds that are open in this process are
    /// returned in their current state; later writes of other processes to earlier rounds are not
    /// seen. A round that cannot be read is an error that names the round. Recording goes on, and
    /// the next call retries.
    pub async fn trajectory(&self) -> Result<Trajectory, RecordError> {
        let RoundRef { agent, round } = self.reference();
        let mut rounds = self.0.opened.agent_rounds.below(*round).await?;
        for open in self.0.lease.open_rounds().open_below(agent, *round) {
            rounds.insert(open.round().round, open);
        }
        rounds.insert(*round, self.round());
        Ok(Trajectory::new(rounds.into_values(), self.0.bridges))
    }

    /// Records the question of the round.
    pub async fn ask(&self, query: impl Into<NewQuery>) -> Result<NodeId, RecordError> {
        let query = query.into();
        self.done(|round, at| some(round.ask(query, at)?)).await
    }

    /// Records the question like [`ask`](Self::ask), without waiting for the write.
    pub fn ask_later(&self, query: impl Into<NewQuery>) -> Result<NodeId, RecordError> {
        let query = query.into();
        self.later(|round, at| some(round.ask(query, at)?))
    }

    /// Adds a node.
    pub async fn add(&self, new: NewNode) -> Result<NodeId, RecordError> {
        self.done(|round, at| some(round.add(new, at)?)).await
    }

    /// Adds a node like [`add`](Self::add), without waiting for the write.
    pub fn add_later(&self, new: NewNode) -> Result<NodeId, RecordError> {
        self.later(|round, at| some(round.add(new, at)?))
    }

    /// Sets fields of a node; the old values become a version. A node of an earlier round is
    /// amended in that round's record: through its handle if the round is open in this process,
    /// else by opening it. A process that still records the earlier round is then superseded.
    pub async fn change(&self, id: NodeId, changes: &Changes) -> Result<(), RecordError> {
        self.change_by(id, changes, None).await
    }

    /// Changes a node like [`change`](Self::change), with an author.
    pub async fn change_by(
        &self,
        id: NodeId,
        changes: &Changes,
        author: Option<Arc<str>>,
    ) -> Result<(), RecordError> {
        self.amend(id, |round, at| changed(round.change(id, changes, author.clone(), at)?)).await
    }

    /// Describes a node that has no description yet. Returns whether the description was set; a
    /// node that no longer exists is skipped.
    pub(crate) async fn describe(
        &self,
        id: NodeId,
        text: &str,
        author: &Arc<str>,
    ) -> Result<bool, RecordError> {
        let changes = Changes::new().describe(text);
        self.amend(id, |round, at| {
            if round.node(id).is_none_or(|node| !node.description.is_empty()) {
                return Ok((false, None));
            }
            let changes = round.change(id, &changes, Some(author.clone()), at)?;
            Ok((true, (!changes.is_empty()).then_some(changes)))
        })
        .await
    }

    /// Changes the round of a node: this round, or an earlier round in its own record.
    async fn amend<T>(
        &self,
        id: NodeId,
        change: impl Fn(&mut Round, context_core::Timestamp) -> ChangeResult<T>,
    ) -> Result<T, RecordError> {
        let RoundRef { agent, round } = self.reference();
        if id.round >= *round {
            return self.done(change).await;
        }
        let mut tries = 0;
        loop {
            let earlier = self.0.opener.open(&agent.round(id.round), &OpenOptions::default()).await;
            let (opened, _lease) = earlier?;
            let recorder = &opened.recorder;
            let saved = match recorder.apply(&change) {
                Ok((result, call)) => recorder.save(call).await.map(|()| result),
                Err(error) => Err(error),
            };
            tries += 1;
            match saved {
                Err(RecordError::Superseded { .. }) if tries < AMENDMENT_TRIES => {}
                other => return other,
            }
        }
    }

    /// Changes a node of this round like [`change`](Self::change), without waiting for the write.
    pub fn change_later(&self, id: NodeId, changes: &Changes) -> Result<(), RecordError> {
        self.later(|round, at| changed(round.change(id, changes, None, at)?))
    }

    /// Removes a node of this round.
    pub async fn remove(&self, id: NodeId, removal: NodeRemoval) -> Result<(), RecordError> {
        self.done(|round, at| {
            // The number of changes is known only after the removal, so the removal is tried on a
            // copy first.
            let mut trial = round.clone();
            let changes = trial.remove(id, removal, at)?;
            if changes.len() > MAX_CHANGES {
                let quantity = "nodes and edges that one removal concerns";
                return Err(TrajectoryError::TooMuch {
                    quantity,
                    size: changes.len(),
                    limit: MAX_CHANGES,
                });
            }
            *round = trial;
            changed(changes)
        })
        .await
    }

    /// Adds an edge between two nodes of this round. Without a name, the name is inferred.
    pub async fn connect(
        &self,
        from: NodeId,
        to: NodeId,
        name: Option<&str>,
    ) -> Result<(), RecordError> {
        self.done(|round, at| changed(round.connect(from, to, name, at)?)).await
    }

    /// Records that a node of this round read recorded data of this or an earlier round.
    pub async fn refer(&self, from: NodeId, to: NodeId) -> Result<(), RecordError> {
        let unknown = || TrajectoryError::UnknownNode { node: to.to_string() };
        let round = if to.round == self.reference().round {
            Some(self.round())
        } else {
            self.earlier(to).await?
        };
        let target = round.and_then(|round| round.node(to).cloned()).ok_or_else(unknown)?;
        self.done(|round, at| changed(round.refer(from, &target, at)?)).await
    }

    /// Returns the earlier round that contains a node.
    async fn earlier(&self, id: NodeId) -> Result<Option<Arc<Round>>, RecordError> {
        let RoundRef { agent, round } = self.reference();
        if id.round > *round {
            return Ok(None);
        }
        let open = self.0.lease.open_rounds().open_below(agent, *round);
        match open.into_iter().find(|open| open.round().round == id.round) {
            Some(open) => Ok(Some(open)),
            None => self.0.opened.agent_rounds.round(id.round).await,
        }
    }

    /// Sets the lifecycle state of the round. A closed round may be continued.
    pub async fn set_state(&self, state: RoundState) -> Result<(), RecordError> {
        self.done(|round, at| {
            let same = round.state() == state;
            if !same {
                round.set_state(state, at);
            }
            Ok(((), (!same).then(Vec::new)))
        })
        .await
    }

    /// Sets the final state with [`set_state`](Self::set_state) and writes everything.
    pub async fn close(&self, state: RoundState) -> Result<(), RecordError> {
        self.set_state(state).await?;
        self.flush().await
    }

    /// Returns the workflow queues.
    pub fn queues(&self) -> Queues {
        self.round().queues().clone()
    }

    /// Fills the queues `pre` and `post` from a configuration, as described at [`Queues::load`].
    pub async fn load_queues(&self, configuration: &JsonMap) -> Result<(), RecordError> {
        self.done(|round, at| {
            let mut queues = round.queues().clone();
            queues.load(configuration)?;
            *round.queues_mut(at) = queues;
            changed_head(())
        })
        .await
    }

    /// Appends a step to a queue. Returns false, without any change, if the queue is full.
    pub async fn push(&self, queue: QueueName, item: QueueItem) -> Result<bool, RecordError> {
        self.done(|round, at| {
            let pushed = round.queues_mut(at).get_mut(queue).push(item);
            Ok((pushed, pushed.then(Vec::new)))
        })
        .await
    }

    /// Removes and returns the first step of a queue.
    pub async fn pop(&self, queue: QueueName) -> Result<Option<QueueItem>, RecordError> {
        self.done(|round, at| {
            if round.queues().get(queue).is_empty() {
                return Ok((None, None));
            }
            changed_head(round.queues_mut(at).get_mut(queue).pop())
        })
        .await
    }

    /// Removes the first step of a queue if it equals `item`. Returns whether it did.
    pub(crate) async fn pop_done(
        &self,
        queue: QueueName,
        item: &QueueItem,
    ) -> Result<bool, RecordError> {
        self.done(|round, at| {
            let first = round.queues().get(queue).iter().next() == Some(item);
            if first {
                round.queues_mut(at).get_mut(queue).pop();
            }
            Ok((first, first.then(Vec::new)))
        })
        .await
    }

    pub(crate) fn later<T>(
        &self,
        change: impl FnOnce(&mut Round, context_core::Timestamp) -> ChangeResult<T>,
    ) -> Result<T, RecordError> {
        self.recorder().apply(change).map(|(result, _)| result)
    }

    pub(crate) async fn done<T>(
        &self,
        change: impl FnOnce(&mut Round, context_core::Timestamp) -> ChangeResult<T>,
    ) -> Result<T, RecordError> {
        let (result, call) = self.recorder().apply(change)?;
        self.recorder().save(call).await?;
        Ok(result)
    }
}

impl fmt::Debug for OpenRound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("OpenRound");
        shown.field("round", self.reference()).field("nodes", &self.round().len());
        shown.field("unsaved", &self.unsaved()).finish()
    }
}

fn some<T>((result, changes): (T, Vec<context_core::trajectory::Change>)) -> ChangeResult<T> {
    Ok((result, Some(changes)))
}

fn changed(changes: Vec<context_core::trajectory::Change>) -> ChangeResult<()> {
    Ok(((), Some(changes).filter(|changes| !changes.is_empty())))
}

fn changed_head<T>(result: T) -> ChangeResult<T> {
    Ok((result, Some(Vec::new())))
}
