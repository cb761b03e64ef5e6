//! The inputs of a runtime.

use std::path::PathBuf;
use std::sync::Arc;

use crate::history::{Attempt, HistoryRewrite};
use crate::message::Text;
use crate::model::Tool;
use crate::{CancelSignal, Chain, ChatRef, Message, Messages, ModelError, ModelRequest};

/// The input of [`ContextRuntime::prepare_for_model`](crate::ContextRuntime::prepare_for_model): a
/// turn of a chat that a model call is prepared from.
///
/// ```
/// use context_core::Message;
/// use context_core::model::FunctionTool;
/// use context_core::runtime::PrepareInput;
///
/// let search = FunctionTool::new("search_trains", serde_json::json!({"type": "object"}));
/// let input = PrepareInput::new(("ada", "lisbon"), "turn-1", "anthropic", "claude-sonnet-4-5")
///     .system("You book trips.")
///     .tools([search])
///     .messages([Message::from("Two tickets to Lisbon.")])
///     .max_output_tokens(1_000);
/// assert_eq!(input.request.messages.len(), 1);
/// assert_eq!(input.limits.window, None); // the window comes with the model
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PrepareInput {
    /// The turn. Memories are recalled once per turn.
    pub turn: TurnRef,
    /// The name of the codec, such as `anthropic`.
    pub provider: String,
    /// The request before preparation: the whole conversation, oldest first, the system prompt, the
    /// tools, and the maximum number of output tokens, which is reserved too. The runtime chooses
    /// the cache breakpoints.
    pub request: ModelRequest,
    /// The cuts that the caller has made of the conversation so far. `None` if there are none, or
    /// if the runtime remembers them. Cuts that do not [fit](HistoryRewrite::fits) the conversation
    /// are refused.
    pub rewrite: Option<HistoryRewrite>,
    /// The owner of the cuts, which remembers them between two calls of the chat.
    pub cuts: CutOwner,
    /// Whether the caller writes summaries [before they are
    /// needed](crate::history::SummaryTask::ahead).
    pub ahead: SummariesAhead,
    /// The limits of the request.
    pub limits: RequestLimits,
    /// The environment of the agent, described in the system prompt.
    pub environment: Environment,
    /// Instructions after the system prompt, such as instruction files.
    pub instructions: Vec<Text>,
    /// Replaces the system prompt and the environment part, unless it is blank.
    pub custom_system_prompt: Option<String>,
    /// Appended after all other parts, unless it is blank.
    pub append_system_prompt: Option<String>,
    /// Cancels the preparation.
    pub cancel: CancelSignal,
}

/// A turn of a chat.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TurnRef {
    /// The chat, with its user. Everything that is remembered between two calls, recalled, captured
    /// or spilled belongs to this user's chat alone. No chat of another user shares it, even with
    /// an equal chat id.
    pub chat: ChatRef,
    /// The id of the user's turn.
    pub id: String,
}

impl TurnRef {
    /// Creates a reference to a turn of a chat.
    pub fn new(chat: impl Into<ChatRef>, id: impl Into<String>) -> Self {
        Self { chat: chat.into(), id: id.into() }
    }
}

/// The owner of the cuts of a history: the one place that remembers them between two calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CutOwner {
    /// The runtime. It applies earlier cuts to every conversation that begins with the messages
    /// they were made of, and takes over those in [`PrepareInput::rewrite`].
    #[default]
    Runtime,
    /// The caller, such as an engine that stores cuts as boundaries. The runtime remembers none,
    /// and the caller keeps [`ModelContext::rewrite`](super::ModelContext::rewrite).
    Caller,
}

/// Whether summaries are requested before they are needed, so that no turn waits for one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SummariesAhead {
    /// The caller waits for each summary, so none is requested before it is needed.
    #[default]
    Never,
    /// The caller goes on while a model writes.
    Wanted,
    /// A model is writing. Cuts that can wait are put off, since the summary would be of a history
    /// that is no longer there.
    Running,
}

/// Limits of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestLimits {
    /// The window in tokens. `None`: the window that the runtime knows for the model.
    pub window: Option<u64>,
    /// The maximum number of messages to send. Requests and tool call pairs are kept whole, so a
    /// few more may be left.
    pub max_messages: Option<usize>,
}

/// The environment of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Environment {
    /// The working directory, if there is one. Memories are recalled of this project.
    pub cwd: Option<PathBuf>,
    /// Additional working directories. The system prompt names them, after the working directory.
    pub additional_working_directories: Vec<PathBuf>,
    /// The permissions of the agent in the application's words. The system prompt names them.
    pub permission_mode: Option<String>,
}

impl PrepareInput {
    /// Creates the input for a turn of a chat and a provider's model. An empty model means the
    /// runtime's default.
    pub fn new(
        chat: impl Into<ChatRef>,
        turn_id: impl Into<String>,
        provider: impl Into<String>,
        model: impl Into<String>,
    ) -> Self {
        let model = Some(model.into()).filter(|model| !model.is_empty());
        Self {
            turn: TurnRef::new(chat, turn_id),
            provider: provider.into(),
            request: ModelRequest { model, ..ModelRequest::default() },
            rewrite: None,
            cuts: CutOwner::default(),
            ahead: SummariesAhead::default(),
            limits: RequestLimits::default(),
            environment: Environment::default(),
            instructions: Vec::new(),
            custom_system_prompt: None,
            append_system_prompt: None,
            cancel: CancelSignal::never(),
        }
    }

    /// Returns the conversation as the caller's cuts leave it.
    pub fn history(&self) -> &Messages {
        self.rewrite.as_ref().map_or(&self.request.messages, |rewrite| &rewrite.messages)
    }

    /// Sets the conversation, which is shared with the caller.
    #[must_use]
    pub fn conversation(mut self, messages: Messages) -> Self {
        self.request.messages = messages;
        self
    }

    /// Adds messages.
    #[must_use]
    pub fn messages(mut self, messages: impl IntoIterator<Item = impl Into<Arc<Message>>>) -> Self {
        self.request.messages.extend(messages.into_iter().map(Into::into));
        self
    }

    /// Adds tools.
    #[must_use]
    pub fn tools(mut self, tools: impl IntoIterator<Item = impl Into<Tool>>) -> Self {
        self.request = self.request.tools(tools);
        self
    }

    /// Adds a part to the system prompt. A blank text is ignored.
    #[must_use]
    pub fn system(mut self, text: impl Into<String>) -> Self {
        let text = text.into();
        if !crate::message::is_blank(&text) {
            self.request = self.request.system(text);
        }
        self
    }

    /// Sets the cancel signal.
    #[must_use]
    pub fn cancel(mut self, signal: CancelSignal) -> Self {
        self.cancel = signal;
        self
    }

    /// Sets the window in tokens.
    #[must_use]
    pub fn window(mut self, tokens: u64) -> Self {
        self.limits.window = Some(tokens);
        self
    }

    /// Sets the maximum number of output tokens.
    #[must_use]
    pub fn max_output_tokens(mut self, tokens: u64) -> Self {
        self.request.max_output_tokens = Some(tokens);
        self
    }
}

/// The input of [`ContextRuntime::apply_tool_results`](crate::ContextRuntime::apply_tool_results):
/// results of tool calls.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ToolResultInput {
    /// The turn.
    pub turn: TurnRef,
    /// The results, as a message with the role `tool`.
    pub tool_result_message: Message,
    /// User messages that belong to the results, such as images that a tool made.
    pub supplements: Vec<Message>,
    /// The conversation before the results.
    pub messages: Messages,
    /// Cancels the call.
    pub cancel: CancelSignal,
}

impl ToolResultInput {
    /// Creates the input for results of a conversation's newest tool calls.
    pub fn new(
        chat: impl Into<ChatRef>,
        turn_id: impl Into<String>,
        messages: impl Into<Messages>,
        tool_result_message: Message,
    ) -> Self {
        Self {
            turn: TurnRef::new(chat, turn_id),
            tool_result_message,
            supplements: Vec::new(),
            messages: messages.into(),
            cancel: CancelSignal::never(),
        }
    }
}

/// The input of
/// [`ContextRuntime::recover_from_model_error`](crate::ContextRuntime::recover_from_model_error):
/// an error of a model call.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RecoveryInput {
    /// The turn.
    pub turn: TurnRef,
    /// The error that the provider reported.
    pub error: ModelError,
    /// The conversation that was sent.
    pub messages: Messages,
    /// The usable part of an answer that broke off. `None` if nothing usable arrived.
    pub partial: Option<Message>,
    /// Whether the conversation was already compacted or cut for this call.
    pub has_attempted_compact: bool,
    /// Attempts that were made for this call, oldest first. `None`: the runtime uses the attempts
    /// that it remembers of the turn.
    pub attempts: Option<Vec<Attempt>>,
    /// Whether the caller can carry out every decision. If false (the default), the runtime returns
    /// only the three basic decisions: strip images, truncate the head, give up.
    pub supports_all_decisions: bool,
}

impl RecoveryInput {
    /// Creates the input for the first error of a conversation.
    pub fn new(
        chat: impl Into<ChatRef>,
        turn_id: impl Into<String>,
        error: ModelError,
        messages: impl Into<Messages>,
    ) -> Self {
        Self {
            turn: TurnRef::new(chat, turn_id),
            error,
            messages: messages.into(),
            partial: None,
            has_attempted_compact: false,
            attempts: None,
            supports_all_decisions: false,
        }
    }
}

/// The input of [`ContextRuntime::capture_turn`](crate::ContextRuntime::capture_turn): a turn that
/// ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CaptureTurnInput {
    /// The turn.
    pub turn: TurnRef,
    /// The conversation.
    pub messages: Messages,
    /// The nodes of the messages, if these are stored. Memories are named after the ids of the
    /// nodes, and are forgotten by them. Another number of readable nodes than of messages is
    /// refused. Empty if the messages have no ids; memories then derive their names from the
    /// content, for which the whole conversation is read.
    pub nodes: Chain,
    /// The working directory, if there is one.
    pub cwd: Option<PathBuf>,
    /// Whether the turn failed or was aborted.
    pub errored: bool,
    /// Cancels the call.
    pub cancel: CancelSignal,
}

impl CaptureTurnInput {
    /// Creates the input for a turn that succeeded.
    pub fn new(
        chat: impl Into<ChatRef>,
        turn_id: impl Into<String>,
        messages: impl Into<Messages>,
    ) -> Self {
        Self {
            turn: TurnRef::new(chat, turn_id),
            messages: messages.into(),
            nodes: Chain::default(),
            cwd: None,
            errored: false,
            cancel: CancelSignal::never(),
        }
    }

    /// Creates the input for a turn that succeeded and is stored.
    pub fn of_chain(chat: impl Into<ChatRef>, turn_id: impl Into<String>, nodes: Chain) -> Self {
        Self { nodes: nodes.clone(), ..Self::new(chat, turn_id, nodes.messages()) }
    }
}
