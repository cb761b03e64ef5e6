//! The run of a chat: rounds with their steps, sub-agents below the step that called them.
//!
//! Only the heads of rounds are read to lay out a run. The steps of a round are read when somebody
//! looks at them.

mod block;
mod derive;
mod find;
mod graph;
mod graph_box;
mod layout;
mod line;
mod step;

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::StatusCode;
use context_runtime::store::{PageWalk, RoundQuery, TrajectoryStore};
use context_runtime::trajectory::{AgentRef, NodeId, RoundHead};
use context_runtime::{Store, Timestamp, limits};
use serde::{Serialize, Serializer};

pub use self::graph_box::{GraphBox, GraphBoxKind, GraphEdge, RunGraph};
use self::layout::Layout;
pub use self::line::{RunLine, StepState};
pub use self::step::{StepDetail, StepLink};
use super::Operations;
use crate::OperationError;

/// The number of runs that are kept in memory.
const CACHED_RUNS: usize = 4;
/// The number of blocks of a run whose steps are kept in memory.
const CACHED_BLOCKS: usize = 600;
/// The rounds and the chats that are looked at for the chat of a session of another name.
const FIRST_ROUNDS: u32 = 8;
const FIRST_CHATS: usize = 4;

/// The runs that were read lately, newest first.
pub(super) type RunCache = Arc<Mutex<VecDeque<Arc<Run>>>>;

/// A step of a run. Written as `2:0.3`: agent 2, round 0, number 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct StepId {
    /// The agent, 0 for the main one.
    pub agent: u32,
    /// The node.
    pub node: NodeId,
}

impl StepId {
    /// Creates the id of a step.
    pub fn new(agent: u32, node: NodeId) -> Self {
        Self { agent, node }
    }
}

impl fmt::Display for StepId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.agent, self.node)
    }
}

impl FromStr for StepId {
    type Err = OperationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.split_once(':');
        let parsed = parts.and_then(|(agent, node)| {
            let digits = agent.bytes().all(|byte| byte.is_ascii_digit());
            let agent = digits.then(|| agent.parse().ok()).flatten()?;
            Some(Self::new(agent, node.parse().ok()?))
        });
        parsed.ok_or_else(|| {
            OperationError::invalid("node", "a step is named agent:round.number, as in 0:3.1")
        })
    }
}

impl Serialize for StepId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The origin of the rounds of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RunOrigin {
    /// The store has them.
    Recorded,
    /// They were made from the messages of the chat, in memory.
    Derived,
    /// There are none, and the chat is too long to make them from its messages.
    TooLong,
}

/// The rounds of a chat, laid out as lines: a line for each step.
///
/// The steps of a round stand together, and below a step that called a sub-agent stand the rounds
/// of that agent. So a round of the main agent, with all that was called from it, is a block of
/// lines whose number is known without its steps.
#[non_exhaustive]
pub struct Run {
    /// The main agent.
    pub agent: AgentRef,
    /// The chat whose messages the steps stand for: that of the session's name, else the one that
    /// its first recorded steps name. `None` if the store has neither.
    pub chat: Option<String>,
    /// The origin of the rounds.
    pub origin: RunOrigin,
    /// A name of this state of the run. Line numbers hold for one state.
    pub version: String,
    /// The heads of all rounds, by agent and number.
    pub heads: Vec<RoundHead>,
    layout: Layout,
    /// Shown instead of the state of rounds that nobody wrote to for long.
    read_at: Timestamp,
    store: Arc<dyn Store>,
    loaded: Mutex<HashMap<usize, Arc<[RunLine]>>>,
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run")
            .field("origin", &self.origin)
            .field("version", &self.version)
            .field("rounds", &self.heads.len())
            .field("lines", &self.lines())
            .finish_non_exhaustive()
    }
}

impl Run {
    /// The number of lines.
    pub fn lines(&self) -> usize {
        self.layout.lines()
    }

    /// Returns the number of lines of each block, in order.
    pub fn blocks(&self) -> impl ExactSizeIterator<Item = usize> {
        self.layout.blocks.iter().map(|block| block.lines)
    }

    /// Returns the number of agents.
    pub fn agents(&self) -> usize {
        let mut agents = 0;
        let mut before = None;
        for head in &self.heads {
            agents += usize::from(before != Some(head.round.agent.agent));
            before = Some(head.round.agent.agent);
        }
        agents
    }

    fn trajectories(&self) -> Result<&dyn TrajectoryStore, OperationError> {
        self.store.trajectories().ok_or(OperationError::Missing { ability: "trajectories" })
    }

    /// Returns some lines.
    pub async fn lines_of(
        &self,
        from: usize,
        count: usize,
    ) -> Result<Vec<RunLine>, OperationError> {
        let to = from.saturating_add(count).min(self.lines());
        let blocks = self.layout.blocks_of(from..to);
        let loaded = self.load(blocks.clone()).await?;
        let mut lines = Vec::with_capacity(to.saturating_sub(from));
        for (at, steps) in blocks.zip(&loaded) {
            let first = self.layout.blocks[at].first;
            for (offset, line) in steps.iter().enumerate() {
                if (from..to).contains(&(first + offset)) {
                    lines.push(RunLine { line: first + offset, ..line.clone() });
                }
            }
        }
        Ok(lines)
    }

    /// Returns the lines of blocks.
    async fn load(
        &self,
        blocks: std::ops::Range<usize>,
    ) -> Result<Vec<Arc<[RunLine]>>, OperationError> {
        let lock = || self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let missing: Vec<usize> = {
            let loaded = lock();
            blocks.clone().filter(|at| !loaded.contains_key(at)).collect()
        };
        let mut fresh = block::read(self, &missing).await?;
        let mut loaded = lock();
        if loaded.len() + fresh.len() > CACHED_BLOCKS {
            loaded.retain(|at, _| blocks.contains(at));
        }
        loaded.extend(fresh.drain());
        Ok(blocks.filter_map(|at| loaded.get(&at).map(Arc::clone)).collect())
    }
}

impl Operations {
    /// Returns the run of a session: its recorded rounds, or rounds that are made from the messages
    /// of the chat of its name. With the version of a run that was read before, that run is
    /// returned if it is still in memory.
    pub async fn run(
        &self,
        session: &str,
        version: Option<&str>,
    ) -> Result<Arc<Run>, OperationError> {
        let agent = AgentRef::main(self.user.clone(), session);
        let known = |is_it: &dyn Fn(&Run) -> bool| {
            let runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
            runs.iter().find(|run| run.agent == agent && is_it(run)).map(Arc::clone)
        };
        if self.snapshot
            && let Some(run) = known(&|_| true)
        {
            return Ok(run);
        }
        // A chat or a session of another user does not exist.
        let chat = match self.chat(session).await {
            Ok((chat, ..)) => Ok(chat),
            Err(error) if error.status() == StatusCode::NOT_FOUND => Err(error),
            Err(error) => return Err(error),
        };
        let is_there = |run: &Run| chat.is_ok() || run.origin == RunOrigin::Recorded;
        let is_asked = |run: &Run| version == Some(run.version.as_str()) && is_there(run);
        if let Some(run) = known(&is_asked) {
            return Ok(run);
        }
        let recorded = match self.store.trajectories() {
            Some(rounds) => heads(rounds, &agent).await?,
            None => Vec::new(),
        };
        let read_at = self.clock.now();
        let run = if recorded.is_empty() {
            chat?;
            let version = derive::version(self, session).await?;
            match known(&|run| run.version == version) {
                Some(run) => return Ok(run),
                None => derive::derive(self, session, agent.clone(), version).await?,
            }
        } else {
            let changes: u64 = recorded.iter().map(|head| head.revision).sum();
            let alone = if chat.is_ok() { "" } else { "-alone" };
            let version = format!("r{changes}-{}{alone}", recorded.len());
            if let Some(run) = known(&|run| run.version == version) {
                return Ok(run);
            }
            let store = Arc::clone(&self.store);
            let origin = RunOrigin::Recorded;
            let mut run = Run::new(agent.clone(), origin, version, recorded, store, read_at);
            if chat.is_err() {
                run.chat = self.chat_of_steps(&agent).await?;
            }
            run
        };
        let run = Arc::new(run);
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.retain(|kept| kept.agent != agent);
        runs.push_front(Arc::clone(&run));
        runs.truncate(CACHED_RUNS);
        drop(runs);
        Ok(run)
    }

    /// Returns the chat that the first recorded steps of an agent stand for.
    async fn chat_of_steps(&self, agent: &AgentRef) -> Result<Option<String>, OperationError> {
        let Some(rounds) = self.store.trajectories() else { return Ok(None) };
        let records = rounds.load_rounds(agent, 0..=FIRST_ROUNDS).await?;
        let links = records.iter().flat_map(|it| &it.nodes).flat_map(|node| &node.messages);
        let mut named: Vec<_> = links.map(|link| link.chat.as_str()).collect();
        named.dedup();
        for chat in named.into_iter().take(FIRST_CHATS) {
            if self.history().chat(&self.chat_ref(chat)).await?.is_some() {
                return Ok(Some(chat.to_owned()));
            }
        }
        Ok(None)
    }
}

impl Run {
    fn new(
        agent: AgentRef,
        origin: RunOrigin,
        version: String,
        mut heads: Vec<RoundHead>,
        store: Arc<dyn Store>,
        read_at: Timestamp,
    ) -> Self {
        heads.sort_by_key(|head| (head.round.agent.agent, head.round.round));
        let layout = Layout::of(&heads);
        let (chat, loaded) = (Some(agent.session.to_string()), Mutex::default());
        Self { agent, chat, origin, version, heads, layout, read_at, store, loaded }
    }
}

/// Reads the heads of all rounds of a session, page by page.
async fn heads(
    rounds: &dyn TrajectoryStore,
    agent: &AgentRef,
) -> Result<Vec<RoundHead>, OperationError> {
    let mut query = RoundQuery::of_user(agent.user.clone())
        .session(agent.session.clone())
        .limit(limits::MAX_PAGE);
    let mut walk = PageWalk::new("rounds", "round");
    let mut heads = Vec::new();
    loop {
        let page = rounds.rounds(&query).await?;
        let next = walk.next(&page)?;
        heads.extend(page.items);
        match next {
            Some(next) => query = query.after(Some(next)),
            None => return Ok(heads),
        }
    }
}
