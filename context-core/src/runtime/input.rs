//! The inputs of a runtime.

use std::path::PathBuf;
use std::sync::Arc;

use crate::history::Attempt;
use crate::message::Text;
use crate::model::{OutputSchema, Tool, ToolChoice};
use crate::{CancelSignal, ChatRef, Message, MessageId, ModelError};

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
/// assert_eq!((input.messages.len(), input.window), (1, None)); // the window comes with the model
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PrepareInput {
    /// The chat, with its user. Everything that is remembered between two calls, recalled, captured
    /// or spilled belongs to this user's chat alone. No chat of another user shares it, even with
    /// an equal chat id.
    pub chat: ChatRef,
    /// The id of the user's turn. Memories are recalled once per turn.
    pub turn_id: String,
    /// The working directory, if there is one.
    pub cwd: Option<PathBuf>,
    /// Cancels the preparation.
    pub cancel: CancelSignal,
    /// The name of the codec, such as `anthropic`.
    pub provider: String,
    /// The name of the model.
    pub model: String,
    /// The permissions of the agent in the application's words, for the environment part.
    pub permission_mode: Option<String>,
    /// Additional working directories, for the environment part.
    pub additional_working_directories: Vec<PathBuf>,
    /// The conversation, oldest first.
    pub messages: Vec<Arc<Message>>,
    /// The tools that the model may call.
    pub tools: Vec<Tool>,
    /// Whether the model may, must or must not call a tool.
    pub tool_choice: Option<ToolChoice>,
    /// The schema that the answer must have.
    pub output: Option<OutputSchema>,
    /// The system prompt in parts, such as rendered fragments.
    pub system: Vec<Text>,
    /// Instructions after the system prompt, such as instruction files.
    pub instructions: Vec<Text>,
    /// Replaces `system` and the environment part, unless it is blank.
    pub custom_system_prompt: Option<String>,
    /// Appended after all other parts, unless it is blank.
    pub append_system_prompt: Option<String>,
    /// The maximum number of messages to send. Requests and tool call pairs are kept whole, so a
    /// few more may be left.
    pub max_messages: Option<usize>,
    /// The maximum number of output tokens to request, and so to reserve. `None`: what the runtime
    /// knows about the model.
    pub max_output_tokens: Option<u64>,
    /// The window in tokens. `None`: what the runtime knows about the model.
    pub window: Option<u64>,
}

impl PrepareInput {
    /// Creates the input for a turn of a chat and a provider's model.
    pub fn new(
        chat: impl Into<ChatRef>,
        turn_id: impl Into<String>,
        provider: impl Into<String>,
        model: impl Into<String>,
    ) -> Self {
        Self {
            chat: chat.into(),
            turn_id: turn_id.into(),
            provider: provider.into(),
            model: model.into(),
            cwd: None,
            cancel: CancelSignal::never(),
            permission_mode: None,
            additional_working_directories: Vec::new(),
            messages: Vec::new(),
            tools: Vec::new(),
            tool_choice: None,
            output: None,
            system: Vec::new(),
            instructions: Vec::new(),
            custom_system_prompt: None,
            append_system_prompt: None,
            max_messages: None,
            max_output_tokens: None,
            window: None,
        }
    }

    /// Adds messages.
    #[must_use]
    pub fn messages(mut self, messages: impl IntoIterator<Item = impl Into<Arc<Message>>>) -> Self {
        self.messages.extend(messages.into_iter().map(Into::into));
        self
    }

    /// Adds tools.
    #[must_use]
    pub fn tools(mut self, tools: impl IntoIterator<Item = impl Into<Tool>>) -> Self {
        self.tools.extend(tools.into_iter().map(Into::into));
        self
    }

    /// Adds a part to the system prompt. A blank text is ignored.
    #[must_use]
    pub fn system(mut self, text: impl Into<String>) -> Self {
        let text = text.into();
        if !crate::message::is_blank(&text) {
            self.system.push(Text { text, ..Text::default() });
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
        self.window = Some(tokens);
        self
    }

    /// Sets the maximum number of output tokens.
    #[must_use]
    pub fn max_output_tokens(mut self, tokens: u64) -> Self {
        self.max_output_tokens = Some(tokens);
        self
    }
}

/// The input of [`ContextRuntime::apply_tool_results`](crate::ContextRuntime::apply_tool_results):
/// results of tool calls.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ToolResultInput {
    /// The chat, with its user.
    pub chat: ChatRef,
    /// The id of the user's turn.
    pub turn_id: String,
    /// The results, as a message with the role `tool`.
    pub tool_result_message: Message,
    /// User messages that belong to the results, such as images that a tool made.
    pub supplements: Vec<Message>,
    /// The conversation before the results.
    pub messages: Vec<Arc<Message>>,
    /// Cancels the call.
    pub cancel: CancelSignal,
}

impl ToolResultInput {
    /// Creates the input for results of a conversation's newest tool calls.
    pub fn new(
        chat: impl Into<ChatRef>,
        turn_id: impl Into<String>,
        messages: Vec<Arc<Message>>,
        tool_result_message: Message,
    ) -> Self {
        Self {
            chat: chat.into(),
            turn_id: turn_id.into(),
            tool_result_message,
            supplements: Vec::new(),
            messages,
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
    /// The chat, with its user.
    pub chat: ChatRef,
    /// The id of the user's turn.
    pub turn_id: String,
    /// The error that the provider reported.
    pub error: ModelError,
    /// The conversation that was sent.
    pub messages: Vec<Arc<Message>>,
    /// Whether the conversation was already compacted or cut for this call.
    pub has_attempted_compact: bool,
    /// Attempts that were made for this call, oldest first. `None`: the runtime uses the attempts
    /// that it remembers of the turn.
    pub attempts: Option<Vec<Attempt>>,
    /// Whether the caller can carry out every decision. If false (the default), the runtime returns
    /// only the three basic decisions: strip images, truncate the head, give up.
    pub follows_all: bool,
}

impl RecoveryInput {
    /// Creates the input for the first error of a conversation.
    pub fn new(
        chat: impl Into<ChatRef>,
        turn_id: impl Into<String>,
        error: ModelError,
        messages: Vec<Arc<Message>>,
    ) -> Self {
        Self {
            chat: chat.into(),
            turn_id: turn_id.into(),
            error,
            messages,
            has_attempted_compact: false,
            attempts: None,
            follows_all: false,
        }
    }
}

/// The input of [`ContextRuntime::capture_turn`](crate::ContextRuntime::capture_turn): a turn that
/// ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CaptureTurnInput {
    /// The chat, with its user.
    pub chat: ChatRef,
    /// The id of the user's turn.
    pub turn_id: String,
    /// The conversation.
    pub messages: Vec<Arc<Message>>,
    /// The ids of the messages, one for each, such as the ids of their nodes. Another number of ids
    /// is refused. Empty if the messages have no ids; memories then derive their names from the
    /// content. Memories are forgotten by these ids.
    pub ids: Vec<MessageId>,
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
        messages: Vec<Arc<Message>>,
    ) -> Self {
        Self {
            chat: chat.into(),
            turn_id: turn_id.into(),
            messages,
            ids: Vec::new(),
            cwd: None,
            errored: false,
            cancel: CancelSignal::never(),
        }
    }
}
