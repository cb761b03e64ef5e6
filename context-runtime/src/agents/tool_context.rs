//! What a tool knows of the turn that runs it, and sub-agents.

use std::fmt;
use std::sync::Arc;

use context_core::runtime::TurnRef;
use context_core::trajectory::NodeId;
use context_core::{BranchName, CancelSignal, ChatRef, Error, Fragment, Message, Result};
use context_trajectory::{OpenOptions, OpenRound};

use super::interrupted::newest_turn;
use super::{AgentChat, Agents};

/// The result of a call in the branch of the agent that the call started.
const STARTED: &str = "This call started you, a helper of the agent above. Do only what the next message says: your answer is the result of this call.";
/// The result there of a further call of the same answer.
const ELSEWHERE: &str = "This call is taken care of by somebody else.";

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
    pub(super) turn: TurnRef,
    pub(super) branch: BranchName,
    /// The fragments of the chat.
    pub(super) fragments: Arc<[Fragment]>,
    pub(super) cancel: CancelSignal,
    /// The id of the call.
    pub(super) call: String,
    /// The recorded call.
    pub(super) node: Option<(OpenRound, NodeId)>,
}

impl ToolContext {
    /// The chat of the turn, with its user.
    pub fn chat(&self) -> &ChatRef {
        &self.turn.chat
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
        let id = format!("{}/{name}/{}", self.turn.chat.chat, self.call);
        let chat = ChatRef::new(self.turn.chat.user.clone(), id);
        AgentChat::open(&self.agents, chat, None, self.reserve().await?).await
    }

    /// Opens a chat of a sub-agent that knows everything its parent knows: it works on a branch of
    /// the chat that begins with the conversation up to the call, under the same fragments. Its
    /// requests then begin as those of the parent do, byte for byte, so that the provider's prompt
    /// cache serves both, provided that it is asked with the same tools. The parent's branch stays
    /// the active one.
    ///
    /// The branch is named after the parent's, the agent and the call, so that a call that is
    /// repeated continues it. Rounds are recorded as for [`agent`](Self::agent).
    pub async fn fork(&self, name: &str) -> Result<AgentChat> {
        let Self { agents, turn, branch, call, .. } = self;
        let reserved = self.reserve().await?;
        let mut fork =
            AgentChat::open(agents, turn.chat.clone(), Some(branch.clone()), reserved).await?;
        fork.is_fork = true;
        fork.engine.move_to_new(format!("{branch}/{name}/{call}").into()).await?;
        fork.engine.set(self.fragments.iter().cloned());
        let open_calls = newest_turn(&mut fork.engine).await?.map(|turn| turn.open_calls());
        let text = |id: &str| if id == call { STARTED } else { ELSEWHERE };
        let results = open_calls.iter().flatten().map(|open| open.result(text(&open.id)));
        let results: Vec<_> = results.collect();
        if !results.is_empty() {
            fork.engine.set([Message::tool(results)]);
        }
        Ok(fork)
    }

    /// Reserves the first round of a sub-agent.
    async fn reserve(&self) -> Result<Option<OpenRound>> {
        let (Some(trajectories), Some((round, node))) = (&self.agents.0.trajectories, &self.node)
        else {
            return Ok(None);
        };
        let reserved = trajectories.open_sub_agent(round, *node, OpenOptions::new()).await;
        Ok(Some(reserved.map_err(Error::from)?))
    }
}

impl fmt::Debug for ToolContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolContext")
            .field("chat", self.chat())
            .field("call", &self.call)
            .finish_non_exhaustive()
    }
}
