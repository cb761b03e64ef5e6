//! What a runtime is told.

use std::path::PathBuf;
use std::sync::Arc;

use crate::history::Attempt;
use crate::message::Text;
use crate::model::{OutputSchema, Tool, ToolChoice};
use crate::{CancelSignal, ChatRef, Message, MessageId, ModelError};

/// A turn of a chat that a model call is prepared from.
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
    /// or kept elsewhere is theirs alone: no other user's chat shares it, whatever its id is.
    pub chat: ChatRef,
    /// Names the turn of the user: memories are recalled once for it.
    pub turn_id: String,
    /// The folder that is worked in, if there is one.
    pub cwd: Option<PathBuf>,
    /// Ends the preparation.
    pub cancel: CancelSignal,
    /// The name of the codec, such as `anthropic`.
    pub provider: String,
    /// The model.
    pub model: String,
    /// What the agent may do, in the application's words, for the environment part.
    pub permission_mode: Option<String>,
    /// Other folders that may be worked in, for the environment part.
    pub additional_working_directories: Vec<PathBuf>,
    /// The conversation, oldest first.
    pub messages: Vec<Arc<Message>>,
    /// What the model may call.
    pub tools: Vec<Tool>,
    /// Whether it may, must or must not.
    pub tool_choice: Option<ToolChoice>,
    /// The form the answer must have.
    pub output: Option<OutputSchema>,
    /// The system prompt in parts, such as rendered fragments.
    pub system: Vec<Text>,
    /// Instructions that stand behind the system prompt, such as instruction files.
    pub instructions: Vec<Text>,
    /// Stands in the place of `system` and of the environment part, unless it is blank.
    pub custom_system_prompt: Option<String>,
    /// Stands behind all other parts, unless it is blank.
    pub append_system_prompt: Option<String>,
    /// The most messages to send; requests and pairs are kept whole, so a few more may be left.
    pub max_messages: Option<usize>,
    /// The most tokens of answer to ask for, and so to keep free; what the runtime knows of the
    /// model, if it is not said.
    pub max_output_tokens: Option<u64>,
    /// The window, in tokens; what the runtime knows of the model, if it is not said.
    pub window: Option<u64>,
}

impl PrepareInput {
    /// A turn of a chat, for a model of a provider.
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

    /// With these messages.
    #[must_use]
    pub fn messages(mut self, messages: impl IntoIterator<Item = impl Into<Arc<Message>>>) -> Self {
        self.messages.extend(messages.into_iter().map(Into::into));
        self
    }

    /// With these tools.
    #[must_use]
    pub fn tools(mut self, tools: impl IntoIterator<Item = impl Into<Tool>>) -> Self {
        self.tools.extend(tools.into_iter().map(Into::into));
        self
    }

    /// With another part of the system prompt; a blank one adds none.
    #[must_use]
    pub fn system(mut self, text: impl Into<String>) -> Self {
        let text = text.into();
        if !crate::message::is_blank(&text) {
            self.system.push(Text { text, ..Text::default() });
        }
        self
    }

    /// Can be cancelled by this signal.
    #[must_use]
    pub fn cancel(mut self, signal: CancelSignal) -> Self {
        self.cancel = signal;
        self
    }

    /// Within this window, in tokens.
    #[must_use]
    pub fn window(mut self, tokens: u64) -> Self {
        self.window = Some(tokens);
        self
    }

    /// With room for this many tokens of answer.
    #[must_use]
    pub fn max_output_tokens(mut self, tokens: u64) -> Self {
        self.max_output_tokens = Some(tokens);
        self
    }
}

/// Results of tools that came.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ToolResultInput {
    /// The chat, with its user.
    pub chat: ChatRef,
    /// Names the turn of the user.
    pub turn_id: String,
    /// The results: a message of the role `tool`.
    pub tool_result_message: Message,
    /// Messages of the user that belong to the results, such as pictures a tool made.
    pub supplements: Vec<Message>,
    /// The conversation before them.
    pub messages: Vec<Arc<Message>>,
    /// Ends the work.
    pub cancel: CancelSignal,
}

impl ToolResultInput {
    /// These results of a conversation's newest calls.
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

/// An error of a model.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RecoveryInput {
    /// The chat, with its user.
    pub chat: ChatRef,
    /// Names the turn of the user.
    pub turn_id: String,
    /// What the provider said.
    pub error: ModelError,
    /// The conversation that was sent.
    pub messages: Vec<Arc<Message>>,
    /// Whether it was compacted or cut for this call already.
    pub has_attempted_compact: bool,
    /// What was tried for this call, oldest first. A caller that does not say relies on what the
    /// runtime remembers of the turn.
    pub attempts: Option<Vec<Attempt>>,
    /// Whether the caller carries out every decision there is, and not only the three that loops of
    /// the first generation know: to strip images, to truncate the head, to give up. Default: no.
    pub follows_all: bool,
}

impl RecoveryInput {
    /// An error that a conversation met, for the first time.
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

/// A turn that ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CaptureTurnInput {
    /// The chat, with its user.
    pub chat: ChatRef,
    /// Names the turn of the user.
    pub turn_id: String,
    /// The conversation.
    pub messages: Vec<Arc<Message>>,
    /// The ids of these messages, one for each, such as those of their nodes; another number of
    /// them is refused. Empty if they have none, and then memories file them under names made of
    /// what they say. They are what is forgotten by.
    pub ids: Vec<MessageId>,
    /// The folder that was worked in, if there is one.
    pub cwd: Option<PathBuf>,
    /// Whether the turn failed or was aborted.
    pub errored: bool,
    /// Ends the work.
    pub cancel: CancelSignal,
}

impl CaptureTurnInput {
    /// A turn that went well.
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
