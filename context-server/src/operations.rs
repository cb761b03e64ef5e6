//! The operations of the inspector: typed requests and answers over the facade, for one user.
//!
//! Pages and the HTTP API call these and nothing else, so there is one way to the data.

mod actions;
mod answering;
mod branch_difference;
mod branch_view;
mod changes;
mod chat_usage;
mod chats;
mod graph;
mod memory;
mod messages;
mod numbered;
mod prepare;
mod prompt;
mod provenance;
mod run;
mod search;
mod search_calls;
mod sent;
mod streams;
mod trajectories;
mod turn_step;
mod turns;
mod upkeep;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use context_runtime::store::HistoryStore;
use context_runtime::{
    Agents, ChatId, ChatRef, Clock, ContextEngine, IdGenerator, Store, SystemClock, UserId,
    Uuid7Ids,
};

pub(crate) use self::actions::CAN_BE_UNDONE;
pub use self::actions::{Action, ActionDone};
pub use self::answering::{AnswerProgress, PieceInFlight};
pub use self::branch_difference::BranchDifference;
pub use self::branch_view::{BranchView, Row, TurnHead};
pub use self::changes::ChatVersion;
use self::chats::KeptFacts;
pub use self::chats::{
    BranchState, ChatChange, ChatFacts, ChatHead, ChatOverview, ChatPage, CheckpointState,
};
pub use self::graph::{BranchLine, BranchTree};
pub use self::memory::{
    ForgetMemory, MemoryEntry, MemoryForgotten, MemoryPage, MemoryRecall, MemoryRemembered,
    MemoryScopeSize, RememberText,
};
pub use self::messages::{
    AppendConditions, AppendMessages, AppendedMessages, MessagePage, MessageQuery, NewMessage,
    StoredMessage,
};
pub(crate) use self::numbered::{
    NumberedBranch, NumberedMessage, NumberedMessages, text as message_text,
};
pub use self::prepare::{PrepareRequest, PreparedRequest, PreparedTokens};
pub use self::prompt::{PromptFormat, PromptFragment, PromptTool, PromptView, SystemText};
pub use self::provenance::ProvenanceView;
pub use self::run::{
    GraphBox, GraphBoxKind, GraphEdge, Run, RunGraph, RunLine, RunOrigin, StepDetail, StepId,
    StepLink, StepState,
};
pub use self::search::{SearchAnswer, SearchLine};
use self::sent::KeptReplay;
pub use self::sent::{SentAnswer, SentDifference, SentQuery};

pub use self::streams::{EndOfStream, StreamProgress, WriteStream};
pub use self::trajectories::{RoundLine, RoundPage, TrajectoryFormat};
pub use self::turn_step::{
    BeginTurn, ContinueTurn, ModelReply, PreparedCall, RequestedCall, StepAnswer, StepUsage,
    ToolDefinition, ToolOutcome, TurnSettings, TurnState, TurnStep,
};
pub use self::upkeep::{StoreCheck, UserErased};
use crate::OperationError;

/// The number of branches whose messages are kept in memory.
const CACHED_BRANCHES: usize = 6;

/// The operations over the chats of one user.
///
/// ```
/// use context_server::Operations;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = context_runtime::open("mem:").await?;
/// let operations = Operations::new(store).user("ada").read_only(true);
/// assert!(operations.chats(None).await?.chats.is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Operations {
    store: Arc<dyn Store>,
    user: UserId,
    read_only: bool,
    /// Whether a run that was read is not read again.
    snapshot: bool,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdGenerator>,
    cache: Arc<Mutex<VecDeque<Arc<BranchView>>>>,
    replays: Arc<Mutex<VecDeque<KeptReplay>>>,
    facts: Arc<Mutex<VecDeque<KeptFacts>>>,
    runs: run::RunCache,
}

impl Operations {
    /// Creates the operations over a store, for the user `local`.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            user: "local".into(),
            read_only: false,
            snapshot: false,
            clock: Arc::new(SystemClock),
            ids: Arc::new(Uuid7Ids),
            cache: Arc::default(),
            replays: Arc::default(),
            facts: Arc::default(),
            runs: run::RunCache::default(),
        }
    }

    /// Sets the user. What was read for another user is not kept.
    #[must_use]
    pub fn user(mut self, user: impl Into<UserId>) -> Self {
        self.user = user.into();
        (self.cache, self.replays, self.facts, self.runs) = Default::default();
        self
    }

    /// Sets whether all changes are refused. Default: no.
    #[must_use]
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.read_only = read_only;
        self
    }

    /// Sets the clock and the id generator.
    #[must_use]
    pub fn environment(mut self, clock: Arc<dyn Clock>, ids: Arc<dyn IdGenerator>) -> Self {
        (self.clock, self.ids) = (clock, ids);
        self
    }

    /// Returns read-only operations that read each run once.
    pub(crate) fn snapshot(&self) -> Self {
        let runs = run::RunCache::default();
        Self { read_only: true, snapshot: true, runs, ..self.clone() }
    }

    /// Returns whether all changes are refused.
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// Returns the store.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Returns the user.
    pub fn owner(&self) -> &UserId {
        &self.user
    }

    fn history(&self) -> &dyn HistoryStore {
        self.store.history()
    }

    /// Returns the reference to a chat of the user.
    pub(crate) fn chat_ref(&self, chat: &str) -> ChatRef {
        ChatRef::new(self.user.clone(), ChatId::from(chat))
    }

    /// Opens an engine on an existing chat.
    async fn engine(
        &self,
        chat: &str,
        branch: Option<&str>,
    ) -> Result<ContextEngine, OperationError> {
        let mut builder = ContextEngine::builder(Arc::clone(&self.store))
            .user(self.user.clone())
            .chat(chat)
            .shared_environment(Arc::clone(&self.clock), Arc::clone(&self.ids))
            .existing();
        if let Some(branch) = branch {
            builder = builder.branch(branch);
        }
        Ok(builder.open().await?)
    }

    /// Refuses changes if the inspector is read-only.
    fn check_writable(&self) -> Result<(), OperationError> {
        if self.read_only { Err(OperationError::ReadOnly) } else { Ok(()) }
    }

    fn cached(&self, is_it: impl Fn(&BranchView) -> bool) -> Option<Arc<BranchView>> {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let at = cache.iter().position(|view| is_it(view))?;
        let view = cache.remove(at)?;
        cache.push_front(Arc::clone(&view));
        Some(view)
    }

    fn keep(&self, view: &Arc<BranchView>) {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        cache.retain(|kept| !kept.is_of(&view.chat.chat, &view.branch));
        cache.push_front(Arc::clone(view));
        cache.truncate(CACHED_BRANCHES);
    }
}

impl From<&Agents> for Operations {
    /// The chats of the user `local` in the agents' store.
    fn from(agents: &Agents) -> Self {
        Self::new(Arc::clone(agents.store()))
    }
}

impl From<Agents> for Operations {
    fn from(agents: Agents) -> Self {
        Self::from(&agents)
    }
}
