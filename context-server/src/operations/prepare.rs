//! The request that a chat would send next, and what fills its window.

use context_runtime::{Diagnostic, Json, ModelCall, user};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Operations, TurnSettings};
use crate::OperationError;

/// A request to prepare.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct PrepareRequest {
    /// The settings, as for a turn.
    pub settings: TurnSettings,
    /// A question behind the stored messages, which is not stored.
    pub question: Option<String>,
}

impl PrepareRequest {
    /// Creates the request of a chat with these settings.
    pub fn new(settings: TurnSettings) -> Self {
        Self { settings, question: None }
    }
}

/// A request as the chat would send it next.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[non_exhaustive]
pub struct PreparedRequest {
    /// The form of the body.
    pub provider: String,
    /// The body.
    #[schema(value_type = HashMap<String, Value>)]
    pub body: Json,
    /// Headers that the body needs, as names and values.
    #[schema(value_type = Vec<Vec<String>>)]
    pub headers: Vec<(String, String)>,
    /// The tokens of its parts.
    pub tokens: PreparedTokens,
    /// The tokens of the window.
    pub window: Option<u64>,
    /// The tokens that are kept for the answer.
    pub reserve: Option<u64>,
    /// Cuts and repairs.
    #[schema(value_type = Vec<HashMap<String, Value>>)]
    pub diagnostics: Vec<Diagnostic>,
}

/// The tokens of a request by part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[non_exhaustive]
pub struct PreparedTokens {
    /// All of them.
    pub total: u64,
    /// The system prompt.
    pub system: u64,
    /// The instructions behind it.
    pub instructions: u64,
    /// The tools.
    pub tools: u64,
    /// The summary that stands for earlier messages.
    pub checkpoint: u64,
    /// The messages.
    pub history: u64,
    /// Recalled memories.
    pub recall: u64,
    /// The provider's own.
    pub framing: u64,
}

impl Operations {
    /// Prepares the request that a chat would send next. Stores nothing.
    pub async fn prepare(
        &self,
        chat: &str,
        request: PrepareRequest,
    ) -> Result<PreparedRequest, OperationError> {
        self.stored_chat(&self.checked(chat)?).await?;
        let mut handle = self.agent_chat(chat, &request.settings).await?;
        handle.set(request.question.map(user));
        let agents = handle.agents().clone();
        let turn = handle.engine_mut().resolve().await?;
        let input = turn.prepare().tools(request.settings.functions());
        let mut call = ModelCall::new(agents.runtime(), agents.codec().clone(), input);
        let prepared = call.next().await.map_err(context_runtime::Error::from)?;
        let prepared = prepared.ok_or(OperationError::Missing { ability: "next request" })?;
        let parts = &prepared.context.breakdown;
        let header = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Ok(PreparedRequest {
            provider: agents.codec().name().to_owned(),
            headers: prepared.headers.iter().map(header).collect(),
            tokens: PreparedTokens {
                total: parts.total().tokens(),
                system: parts.system.tokens(),
                instructions: parts.instructions.tokens(),
                tools: parts.tools.tokens(),
                checkpoint: parts.checkpoint.tokens(),
                history: parts.history.tokens(),
                recall: parts.recall.tokens(),
                framing: parts.framing.tokens(),
            },
            window: prepared.context.budget.map(|budget| budget.window),
            reserve: prepared.context.budget.map(|budget| budget.reserve),
            diagnostics: prepared
                .context
                .diagnostics
                .iter()
                .chain(&prepared.diagnostics)
                .cloned()
                .collect(),
            body: prepared.body().clone(),
        })
    }
}
