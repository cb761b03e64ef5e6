//! The formats, and the codecs of their messages.

use std::sync::Arc;

use context_codec_anthropic::messages as anthropic;
use context_codec_kit::wire::Lowered;
use context_codec_openai::chat as openai;
use context_core::model::WireError;
use context_core::{Diagnostic, Json, Message};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::list_codec::ListCodec;
use crate::raw::{entries, first, text_of};
use crate::{ChatContent, detect, forms};

/// The format of the messages of a conversation. JSON form: a name such as `openai-chat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Format {
    /// OpenAI Chat Completions.
    OpenaiChat,
    /// Anthropic Messages.
    Anthropic,
    /// Sessions of Claude Code: lines with Anthropic messages.
    ClaudeCode,
    /// Answer trees of ToolBench.
    Toolbench,
    /// OpenAI Responses: items.
    OpenaiResponses,
    /// Gemini: contents.
    Gemini,
    /// UIMessages of the AI SDK.
    Uimessage,
    /// Trajectories of SWE-agent, with OpenAI messages.
    SweAgent,
    /// Sessions of the Codex CLI: lines with OpenAI Responses items.
    Codex,
    /// Sessions of the Gemini CLI: records.
    GeminiCli,
    /// Sessions of the Pi coding agent: entries on lines.
    Pi,
    /// Sessions that opencode exports.
    Opencode,
    /// Events of OpenHands, of its SDK or of V0 before it.
    Openhands,
    /// Conversations of a data export of ChatGPT.
    Chatgpt,
    /// Conversations of a data export of Claude.ai.
    ClaudeAi,
    /// Message histories of Pydantic AI.
    PydanticAi,
    /// Sessions of goose.
    Goose,
    /// Logs of the `llm` command.
    Llm,
}

impl Format {
    /// Returns whether files of this format contain more than a list of messages.
    pub fn is_log(self) -> bool {
        self == Self::GeminiCli || self.is_tree() || forms::of_format(self).is_some()
    }

    /// Returns whether all messages of a chat are exported to its file, whatever branch they are
    /// on.
    pub fn is_tree(self) -> bool {
        matches!(
            self,
            Self::ClaudeCode
                | Self::Toolbench
                | Self::Codex
                | Self::Pi
                | Self::Chatgpt
                | Self::ClaudeAi
        )
    }

    /// Returns the codec for formats whose messages are read and written together.
    pub(crate) fn list_codec(self) -> Option<ListCodec> {
        match self {
            Self::OpenaiResponses | Self::Codex => Some(ListCodec::RESPONSES),
            Self::Gemini | Self::GeminiCli => Some(ListCodec::GEMINI),
            Self::Uimessage => Some(ListCodec::UIMESSAGE),
            Self::OpenaiChat
            | Self::Anthropic
            | Self::ClaudeCode
            | Self::Toolbench
            | Self::SweAgent
            | Self::Pi
            | Self::Opencode
            | Self::Openhands
            | Self::Chatgpt
            | Self::ClaudeAi
            | Self::PydanticAi
            | Self::Goose
            | Self::Llm => None,
        }
    }

    /// Detects the format of messages: a format that a message matches exclusively, else OpenAI.
    pub(crate) fn of(messages: &[&RawValue]) -> Self {
        let is_anthropic =
            messages.iter().any(|raw| has_blocks(raw)) && messages.iter().all(|raw| has_role(raw));
        if is_anthropic {
            return Self::Anthropic;
        }
        detect::format(messages).unwrap_or(Self::OpenaiChat)
    }

    /// Returns the name of the wire codec whose bodies contain such messages.
    pub(crate) fn body_codec(self) -> Option<&'static str> {
        match self {
            Self::OpenaiChat => Some("openai"),
            Self::Anthropic => Some("anthropic"),
            Self::OpenaiResponses => Some("openai-responses"),
            Self::Gemini => Some("gemini"),
            _ => None,
        }
    }

    /// Lifts a message of a format whose messages are independent.
    pub(crate) fn lift(self, original: &Json) -> Result<(Message, Vec<Diagnostic>), WireError> {
        let lifted = match self {
            Self::Anthropic | Self::ClaudeCode => anthropic::lift(original)?,
            _ => openai::lift(original)?,
        };
        Ok((lifted.message, lifted.diagnostics))
    }

    /// Lowers messages to the form in which they were read, with everything that only this form
    /// has. Diagnostics name messages by position, as in `messages[0]`.
    pub fn lower_source(self, messages: Vec<Arc<Message>>) -> (Vec<Json>, Vec<Diagnostic>) {
        match self.list_codec() {
            Some(codec) => codec.lower_source(messages),
            None => each(&messages, |message| self.lower_source_of(message)),
        }
    }

    /// Lowers messages for recipients of this format, who get what the format can express: a list
    /// of messages, or an object if there is more than the list, such as a system prompt.
    /// Diagnostics name messages by position, as in `messages[0]`.
    pub fn lower(
        self,
        messages: Vec<Arc<Message>>,
    ) -> Result<(ChatContent, Vec<Diagnostic>), WireError> {
        if let Some(codec) = self.list_codec() {
            return codec.lower(messages);
        }
        let (messages, diagnostics) = match self {
            Self::Anthropic | Self::ClaudeCode => each(&messages, anthropic::lower),
            _ => each(&messages, openai::lower),
        };
        Ok((ChatContent::Messages(messages), diagnostics))
    }

    /// Lowers a message to the form of its source, for a format whose messages are independent.
    pub(crate) fn lower_source_of(self, message: &Message) -> Lowered {
        match self {
            Self::Anthropic | Self::ClaudeCode => anthropic::lower_source(message),
            _ => openai::lower_source(message),
        }
    }
}

/// Lowers messages that are independent.
fn each(
    messages: &[Arc<Message>],
    lower: impl Fn(&Message) -> Lowered,
) -> (Vec<Json>, Vec<Diagnostic>) {
    let (mut all, mut diagnostics) = (Vec::with_capacity(messages.len()), Vec::new());
    for (index, message) in messages.iter().enumerate() {
        let lowered = lower(message);
        all.extend(lowered.messages);
        diagnostics.extend(lowered.diagnostics.into_iter().map(|mut diagnostic| {
            diagnostic.path = format!("messages[{index}].{}", diagnostic.path);
            diagnostic
        }));
    }
    (all, diagnostics)
}

/// Returns whether a message has a block that only Anthropic uses.
fn has_blocks(raw: &RawValue) -> bool {
    const TYPES: [&str; 6] =
        ["tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use", "document"];
    // Most messages of other providers contain none of these words, so they are not parsed.
    let may = TYPES.iter().any(|kind| raw.get().contains(kind)) || raw.get().contains("\"source\"");
    let content = may.then(|| entries(raw)?.remove("content")).flatten();
    let Some(content) = content.filter(|content| first(content) == '[') else { return false };
    let blocks: Vec<&RawValue> = serde_json::from_str(content.get()).unwrap_or_default();
    blocks.iter().filter_map(|block| entries(block)).any(|block| {
        let kind = block.get("type").and_then(|kind| text_of(kind)).unwrap_or_default();
        TYPES.contains(&kind.as_str()) || (kind == "image" && block.contains_key("source"))
    })
}

fn has_role(raw: &RawValue) -> bool {
    let role = entries(raw).and_then(|entries| text_of(entries.get("role")?));
    role.is_some_and(|role| ["user", "assistant", "system"].contains(&role.as_str()))
}
