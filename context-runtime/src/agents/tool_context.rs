//! What a tool knows of the turn that runs it, and sub-agents.

use std::fmt;

use context_core::trajectory::NodeId;
use context_core::{CancelSignal, ChatRef, Error, Result};
use context_trajectory::{OpenOptions, OpenRound};

use super::{AgentChat, Agents};

/// The turn in which a tool runs: its chat, its cancel signal, and the agents, for tools that ask a
/// sub-agent.
///
/// ```
/// use context_runtime::{Agents, FunctionTool, ToolCall, ToolContext, ToolFunction};
///
/// // A tool that asks an agent of its own, in a chat of its own.
/// let research = FunctionTool::new("research", serde_json::json!({
///     "type": "object", "properties": {"question": {"type": "string"}}, "required": ["question"],
/// }));
/// let research = ToolFunction::with_context(research, |call: ToolCall, turn: ToolContext| async move {
///     let answer = async {
///         let question = call.input.parse::<serde_json::Value>()?["question"].to_string();
///         let mut helper = turn.agent("researcher").await?;
///         Ok::<_, Box<dyn std::error::Error + Send + Sync>>(helper.ask(question).await?.to_string())
///     };
///     match answer.await {
///         Ok(text) => call.result(text),
///         Err(error) => call.error(error.to_string()),
///     }
/// });
/// ```
#[derive(Clone)]
pub struct ToolContext {
    pub(super) agents: Agents,
    pub(super) chat: ChatRef,
    pub(super) cancel: CancelSignal,
    /// The id of the call.
    pub(super) call: String,
    /// The recorded call.
    pub(super) node: Option<(OpenRound, NodeId)>,
}

impl ToolContext {
    /// The chat of the turn, with its user.
    pub fn chat(&self) -> &ChatRef {
        &self.chat
    }

    /// The signal that cancels the turn.
    pub fn cancel(&self) -> &CancelSignal {
        &self.cancel
    }

    /// The agents of the turn.
    pub fn agents(&self) -> &Agents {
        &self.agents
    }

    /// Opens a chat of a sub-agent: a chat of the same user, named after the chat, the agent and
    /// the call, so that a call that is repeated continues it. Its rounds are recorded below the
    /// call, in the session of the chat.
    pub async fn agent(&self, name: &str) -> Result<AgentChat> {
        let Self { agents, chat, call, node, .. } = self;
        let reserved = match (&agents.0.trajectories, node) {
            (Some(trajectories), Some((round, node))) => Some(
                trajectories
                    .open_sub_agent(round, *node, OpenOptions::new())
                    .await
                    .map_err(Error::from)?,
            ),
            _ => None,
        };
        let id = format!("{}/{name}/{call}", chat.chat);
        AgentChat::open(agents, ChatRef::new(chat.user.clone(), id), reserved).await
    }
}

impl fmt::Debug for ToolContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolContext")
            .field("chat", &self.chat)
            .field("call", &self.call)
            .finish_non_exhaustive()
    }
}
