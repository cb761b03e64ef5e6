//! A chat of agents.

use std::fmt;
use std::sync::Arc;

use context_core::trajectory::{AgentRef, RoundHead};
use context_core::{BranchName, ChatRef, Error, Fragment, Message, Result};
use context_trajectory::{OpenRound, SessionGraph};

use super::{Agents, Ask, TurnBuilder};
use crate::ContextEngine;

/// A chat of one user, with the parts that [`Agents`] share. One handle is one writer.
///
/// ```
/// use context_runtime::{Agents, hint, role};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> context_runtime::Result<()> {
/// let agents = Agents::open("mem:").await?.model("claude-sonnet-4-5").build()?;
/// let mut chat = agents.chat("ada", "lisbon").await?;
/// chat.set([role("You book trips."), hint("Prices are in EUR.")]);
/// let turn = chat.turn("Two tickets to Lisbon, please.").begin().await?;
/// turn.cancel().await?; // the question stays
/// assert_eq!(chat.engine_mut().resolve().await?.messages.len(), 1);
/// # Ok(())
/// # }
/// ```
pub struct AgentChat {
    pub(super) agents: Agents,
    pub(super) engine: ContextEngine,
    pub(super) agent: AgentRef,
    /// Whether this is a sub-agent on a branch of its parent's chat.
    pub(super) is_fork: bool,
    /// The first round of a sub-agent, which reserves its number.
    pub(super) reserved: Option<OpenRound>,
    /// The head of the round that the turn before closed.
    pub(super) closed: Option<RoundHead>,
}

impl AgentChat {
    pub(super) async fn open(
        agents: &Agents,
        chat: ChatRef,
        branch: Option<BranchName>,
        reserved: Option<OpenRound>,
    ) -> Result<Self> {
        let parts = &agents.0;
        let mut engine = ContextEngine::builder(Arc::clone(&parts.store))
            .user(chat.user.clone())
            .chat(chat.chat.clone())
            .shared_renderer(Arc::clone(&parts.renderer))
            .freeze_prompt(parts.freeze_prompt)
            .durability(parts.durability)
            .shared_environment(Arc::clone(&parts.clock), Arc::clone(&parts.ids));
        if let Some(branch) = branch {
            engine = engine.branch(branch);
        }
        let engine = engine.open().await?;
        let agent = match &reserved {
            Some(round) => round.reference().agent.clone(),
            None => AgentRef::from(&chat),
        };
        Ok(Self { agents: agents.clone(), engine, agent, is_fork: false, reserved, closed: None })
    }

    /// Sets fragments, as [`ContextEngine::set`] does.
    pub fn set(&mut self, fragments: impl IntoIterator<Item = impl Into<Fragment>>) -> &mut Self {
        self.engine.set(fragments);
        self
    }

    /// Returns the builder of a turn: a question, until the model has answered it. The loop is the
    /// program's.
    pub fn turn(&mut self, question: impl Into<Message>) -> TurnBuilder<'_> {
        TurnBuilder::new(self, Some(question.into()))
    }

    /// Returns the builder of a turn that continues the newest question, which has no answer yet
    /// because its turn was interrupted. With [`ask`](TurnBuilder::ask) the loop is the library's:
    /// the model is told of calls whose tools may have run, and decides whether to repeat them.
    ///
    /// The [stream](crate::Turn::event) of the turn begins anew.
    pub fn resume(&mut self) -> TurnBuilder<'_> {
        TurnBuilder::new(self, None)
    }

    /// Asks the model, runs the tools that it calls, and returns the answer.
    pub fn ask(&mut self, question: impl Into<Message>) -> Ask<'_> {
        self.turn(question).ask()
    }

    /// Returns what was recorded of this chat, sub-agents included, for exports and drawings.
    /// Returns [`NotFound`](crate::ErrorKind::NotFound) if nothing was.
    pub async fn recorded(&self) -> Result<SessionGraph> {
        let AgentRef { user, session, .. } = &self.agent;
        match self.agents.trajectories() {
            Some(trajectories) => Ok(trajectories.graph(user.clone(), session.clone()).await?),
            None => Err(Error::not_found("recorded", "session", session)),
        }
    }

    /// The agents that this chat belongs to.
    pub fn agents(&self) -> &Agents {
        &self.agents
    }

    /// The engine: messages, branches, checkpoints, compactions.
    pub fn engine(&self) -> &ContextEngine {
        &self.engine
    }

    /// The engine, for changes.
    pub fn engine_mut(&mut self) -> &mut ContextEngine {
        &mut self.engine
    }

    /// The agent under which the turns of this chat are recorded.
    pub fn agent(&self) -> &AgentRef {
        &self.agent
    }
}

impl fmt::Debug for AgentChat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentChat")
            .field("agent", &self.agent)
            .field("engine", &self.engine)
            .finish_non_exhaustive()
    }
}
