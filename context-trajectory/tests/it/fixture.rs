//! Shared fixtures: a store that fails, waits and counts on demand.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use async_trait::async_trait;
use context_conformance::{FixedClock, SequenceIds};
use context_core::store::{
    MessageNode, Page, RecordOutcome, RoundCommit, RoundPrune, RoundQuery, RoundsPruned,
    TrajectoryStore,
};
use context_core::trajectory::{
    AgentRef, NewNode, NewQuery, NodeBody, NodeId, RoundHead, RoundRecord,
};
use context_core::{ChatId, Error, ErrorKind, MessageId, Result, Store, UserId};
use context_store_inmem::InMemoryStore;
use context_trajectory::{OpenOptions, OpenRound, Trajectories, TrajectoriesBuilder};
use tokio::sync::Semaphore;

/// An in-memory store of rounds with faults.
#[derive(Default)]
pub(crate) struct FaultyRoundStore {
    inner: InMemoryStore,
    /// The number of writes that fail before they are made.
    pub(crate) fail_before: AtomicI64,
    /// The number of writes that fail after they were made.
    pub(crate) fail_after: AtomicI64,
    /// Reads of rounds of this session wait for the gate.
    pub(crate) slow_session: std::sync::Mutex<Option<String>>,
    /// Whether writes wait for the gate.
    pub(crate) slow_writes: AtomicBool,
    /// Reads of this round report damage.
    pub(crate) damaged: std::sync::Mutex<Option<u32>>,
    gate: std::sync::OnceLock<Semaphore>,
    pub(crate) writes: AtomicU64,
    pub(crate) loads: AtomicU64,
    pub(crate) loaded_rounds: AtomicU64,
    pub(crate) waiting: AtomicU64,
}

impl FaultyRoundStore {
    pub(crate) fn gate(&self) -> &Semaphore {
        self.gate.get_or_init(|| Semaphore::new(0))
    }

    fn rounds_store(&self) -> &dyn TrajectoryStore {
        self.inner.trajectories().unwrap()
    }

    async fn wait(&self) {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        self.gate().acquire().await.unwrap().forget();
    }

    pub(crate) async fn all(&self, agent: &AgentRef) -> Vec<RoundRecord> {
        self.rounds_store().load_rounds(agent, 0..=1_000_000).await.unwrap()
    }
}

fn take(left: &AtomicI64) -> bool {
    left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| (left > 0).then_some(left - 1))
        .is_ok()
}

fn lost() -> Error {
    Error::new(ErrorKind::Unavailable, "record_round", "the line is cut")
}

#[async_trait]
impl TrajectoryStore for FaultyRoundStore {
    async fn record_round(&self, commit: &RoundCommit) -> Result<RecordOutcome> {
        if self.slow_writes.load(Ordering::SeqCst) {
            self.wait().await;
        }
        self.writes.fetch_add(1, Ordering::SeqCst);
        if take(&self.fail_before) {
            return Err(lost());
        }
        let outcome = self.rounds_store().record_round(commit).await?;
        if take(&self.fail_after) { Err(lost()) } else { Ok(outcome) }
    }

    async fn load_rounds(
        &self,
        agent: &AgentRef,
        rounds: RangeInclusive<u32>,
    ) -> Result<Vec<RoundRecord>> {
        let slow = self.slow_session.lock().unwrap().as_deref() == Some(agent.session.as_str());
        if slow {
            self.wait().await;
        }
        self.loads.fetch_add(1, Ordering::SeqCst);
        if self.damaged.lock().unwrap().is_some_and(|damaged| rounds.contains(&damaged)) {
            return Err(Error::new(ErrorKind::Corrupt, "load_rounds", "half a line"));
        }
        let loaded = self.rounds_store().load_rounds(agent, rounds).await?;
        self.loaded_rounds.fetch_add(loaded.len() as u64, Ordering::SeqCst);
        Ok(loaded)
    }

    async fn rounds(&self, query: &RoundQuery) -> Result<Page<RoundHead>> {
        self.rounds_store().rounds(query).await
    }

    async fn nodes_of_message(
        &self,
        user: &UserId,
        chat: &ChatId,
        message: &MessageId,
    ) -> Result<Vec<MessageNode>> {
        self.rounds_store().nodes_of_message(user, chat, message).await
    }

    async fn prune_rounds(&self, prune: &RoundPrune) -> Result<RoundsPruned> {
        self.rounds_store().prune_rounds(prune).await
    }
}

pub(crate) fn round_store() -> Arc<FaultyRoundStore> {
    Arc::new(FaultyRoundStore::default())
}

/// A handle of its own for a store, as another process has one.
struct OwnHandle(Arc<FaultyRoundStore>);

#[async_trait]
impl TrajectoryStore for OwnHandle {
    async fn record_round(&self, commit: &RoundCommit) -> Result<RecordOutcome> {
        self.0.record_round(commit).await
    }

    async fn load_rounds(
        &self,
        agent: &AgentRef,
        rounds: RangeInclusive<u32>,
    ) -> Result<Vec<RoundRecord>> {
        self.0.load_rounds(agent, rounds).await
    }

    async fn rounds(&self, query: &RoundQuery) -> Result<Page<RoundHead>> {
        self.0.rounds(query).await
    }

    async fn nodes_of_message(
        &self,
        user: &UserId,
        chat: &ChatId,
        message: &MessageId,
    ) -> Result<Vec<MessageNode>> {
        self.0.nodes_of_message(user, chat, message).await
    }

    async fn prune_rounds(&self, prune: &RoundPrune) -> Result<RoundsPruned> {
        self.0.prune_rounds(prune).await
    }
}

/// A recorder as in a process of its own.
pub(crate) fn process(store: &Arc<FaultyRoundStore>, name: &str) -> TrajectoriesBuilder {
    Trajectories::over(Arc::new(OwnHandle(store.clone())))
        .clock(Arc::new(FixedClock::at(1_000_000)))
        .ids(Arc::new(SequenceIds::new(name)))
}

pub(crate) fn ada() -> AgentRef {
    AgentRef::main("ada", "trip")
}

pub(crate) async fn open(trajectories: &Trajectories, round: u32) -> OpenRound {
    trajectories.open(&ada().round(round), OpenOptions::new()).await.unwrap()
}

pub(crate) fn action(after: NodeId) -> NewNode {
    NewNode::new(NodeBody::action("search", serde_json::json!({"q": "sea"})), [after])
}

pub(crate) fn file(after: NodeId, path: &str) -> NewNode {
    NewNode::new(NodeBody::file(path), [after]).edge("produces")
}

/// A round with a question, an action and a file.
pub(crate) async fn small_round(context: &OpenRound) -> [NodeId; 3] {
    let query = context.ask(NewQuery::new("Where to?")).await.unwrap();
    let action = context.add(action(query)).await.unwrap();
    let file = context.add(file(action, "/data/map.md")).await.unwrap();
    [query, action, file]
}
