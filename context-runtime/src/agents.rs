//! Agents: one object over the parts, for what happens between a question and its answer.
//!
//! [`Agents`] holds what all chats of a program share: the store, the runtime, the provider, the
//! recorder. An [`AgentChat`] is a chat of one user. A [`Turn`] is one question until its answer:
//! it prepares each request, takes replies and tool results, stores and records every step, and
//! ends in one order, however it ends. [`AgentChat::ask`] is the whole loop: it asks a model, runs
//! tools and returns the answer.
//!
//! The parts stay reachable: [`AgentChat::engine`], [`Turn::context`], [`Agents::runtime`].

mod answer;
mod ask;
mod builder;
mod chat;
mod error;
mod interrupted;
mod limits;
mod recorder;
mod run_tools;
mod tool_context;
mod tools;
mod turn;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use context_core::model::{LanguageModel, ModelCodec};
use context_core::store::Durability;
use context_core::{
    BranchName, ChatId, ChatRef, Clock, Error, ErrorKind, IdGenerator, Renderer, Result, Store,
    UserId,
};
use context_trajectory::Trajectories;
use context_trajectory::portraits::Portraits;

pub use answer::TurnAnswer;
pub use ask::Ask;
pub use builder::AgentsBuilder;
pub use chat::AgentChat;
pub use error::TurnError;
pub use interrupted::InterruptedTurn;
pub use limits::TurnLimits;
pub use recorder::StoredTurn;
pub use run_tools::Approval;
pub use tool_context::ToolContext;
pub use tools::{ToolFunction, ToolReturn};
pub use turn::{Turn, TurnBuilder};

use crate::report::{TurnOutcome, TurnReport};
use crate::{BackgroundSummaries, CallOptions, DefaultContextRuntime, RecoveryChain};

/// What the chats of a program share: a store, a runtime, a provider and a recorder. Cheap to
/// clone. Nothing in it belongs to a user: each chat names its own.
///
/// ```
/// use context_runtime::{Agents, provider, role};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> context_runtime::Result<()> {
/// # async fn send(body: &str) -> (u16, String) {
/// #     assert!(body.contains("Lisbon"));
/// #     (200, r#"{"role":"assistant","content":[{"type":"text","text":"Aisle?"}],"stop_reason":"end_turn"}"#.to_owned())
/// # }
/// let agents = Agents::open("mem:").await?.model("claude-sonnet-4-5").build()?; // or sqlite:trips.db
/// let mut chat = agents.chat("ada", "lisbon").await?;
/// chat.set([role("You book trips. Ask before you pay.")]);
///
/// let mut turn = chat.turn("Two tickets to Lisbon on Friday, please.").begin().await?; // stored
/// while let Some(request) = turn.next().await? {
///     let (status, body) = send(request.body().as_str()).await; // the program's own HTTP client
///     turn.received(status, &body);
/// }
/// let answer = turn.finish().await?; // stored, recorded, closed
/// assert_eq!(answer.text(), "Aisle?");
/// agents.shutdown().await
/// # }
/// ```
#[derive(Clone)]
pub struct Agents(Arc<Parts>);

/// The parts, as built.
struct Parts {
    store: Arc<dyn Store>,
    runtime: DefaultContextRuntime,
    codec: Arc<dyn ModelCodec>,
    client: Client,
    summaries: Option<Arc<dyn LanguageModel>>,
    ahead: Option<BackgroundSummaries>,
    recovery: Option<RecoveryChain>,
    calls: CallOptions,
    limits: TurnLimits,
    history_tools: bool,
    freeze_prompt: bool,
    durability: Option<Durability>,
    trajectories: Option<Trajectories>,
    portraits: Option<Portraits>,
    portrait_limit: Duration,
    renderer: Arc<dyn Renderer>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdGenerator>,
}

/// The model that answers, or the reason why there is none.
enum Client {
    Model(Arc<dyn LanguageModel>),
    Missing { kind: ErrorKind, reason: String },
}

impl Agents {
    /// Opens the store at a URL, as [`open`](crate::open) does, and returns a builder over it.
    pub async fn open(url: &str) -> Result<AgentsBuilder> {
        Ok(Self::builder(crate::open(url).await?))
    }

    /// Returns a builder over a store.
    pub fn builder(store: Arc<dyn Store>) -> AgentsBuilder {
        AgentsBuilder::new(store)
    }

    /// Opens a chat of a user, which is created if it does not exist.
    pub async fn chat(
        &self,
        user: impl Into<UserId>,
        chat: impl Into<ChatId>,
    ) -> Result<AgentChat> {
        AgentChat::open(self, ChatRef::new(user, chat), None, None).await
    }

    /// Opens a chat of a user on a branch, which must exist, without making it the active one.
    pub async fn chat_on(
        &self,
        user: impl Into<UserId>,
        chat: impl Into<ChatId>,
        branch: impl Into<BranchName>,
    ) -> Result<AgentChat> {
        AgentChat::open(self, ChatRef::new(user, chat), Some(branch.into()), None).await
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.0.store
    }

    /// The runtime that prepares every request.
    pub fn runtime(&self) -> &DefaultContextRuntime {
        &self.0.runtime
    }

    /// The codec of the provider.
    pub fn codec(&self) -> &Arc<dyn ModelCodec> {
        &self.0.codec
    }

    /// The summaries that are being written while chats go on. `None` if turns wait for theirs.
    pub fn background_summaries(&self) -> Option<&BackgroundSummaries> {
        self.0.ahead.as_ref()
    }

    /// The recorder. `None` if nothing is recorded.
    pub fn trajectories(&self) -> Option<&Trajectories> {
        self.0.trajectories.as_ref()
    }

    /// The model that [`AgentChat::ask`] asks. The error says what is missing.
    pub fn client(&self) -> Result<&Arc<dyn LanguageModel>> {
        match &self.0.client {
            Client::Model(model) => Ok(model),
            Client::Missing { kind, reason } => Err(Error::new(*kind, "ask", reason.clone())),
        }
    }

    /// Waits until captured memories and recorded nodes are stored, gives up summaries that are
    /// being written ahead, and closes the store. Call it at the end of the program. Every step is
    /// tried; the error is the first one.
    pub async fn shutdown(&self) -> Result<()> {
        if let Some(ahead) = &self.0.ahead {
            ahead.forget_all();
        }
        let flushed = self.0.runtime.flush().await;
        if let Some(portraits) = &self.0.portraits {
            let _unfinished = portraits.await_all(self.0.portrait_limit).await;
        }
        let recorded = match &self.0.trajectories {
            Some(trajectories) => trajectories.flush_all().await.map_err(Error::from),
            None => Ok(()),
        };
        let closed = self.0.store.close().await;
        flushed.and(recorded).and(closed)
    }
}

impl fmt::Debug for Agents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agents")
            .field("store", &self.0.store.info().name)
            .field("provider", &self.0.codec.name())
            .field("runtime", &self.0.runtime)
            .finish_non_exhaustive()
    }
}
