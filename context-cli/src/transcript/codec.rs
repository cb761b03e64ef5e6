//! The codecs for the messages of a source.

use std::sync::Arc;

use context_runtime::anthropic::messages as anthropic;
use context_runtime::model::WireError;
use context_runtime::openai::chat as openai;
use context_runtime::{Diagnostic, Json, Message};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::whole::Whole;
use super::{detect, entries, first, text_of};

/// The format of the messages of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Codec {
    /// OpenAI Chat Completions.
    OpenaiChat,
    /// Anthropic Messages.
    Anthropic,
    /// Lines of Claude Code with Anthropic messages.
    ClaudeCode,
    /// Nodes of ToolBench.
    Toolbench,
    /// OpenAI Responses.
    OpenaiResponses,
    /// Gemini.
    Gemini,
    /// UIMessages of the AI SDK.
    Uimessage,
    /// Trajectories of SWE-agent with OpenAI messages.
    SweAgent,
    /// Lines of the Codex CLI with OpenAI Responses items.
    Codex,
    /// Records of the Gemini CLI.
    GeminiCli,
}

impl Codec {
    /// Returns whether files of this format contain more than a list of messages.
    pub(crate) fn is_log(self) -> bool {
        self.is_tree() || self == Self::GeminiCli
    }

    /// Returns whether all messages of a chat are exported to its file, whatever branch they are
    /// on.
    pub(crate) fn is_tree(self) -> bool {
        matches!(self, Self::ClaudeCode | Self::Toolbench | Self::Codex)
    }

    /// Returns the codec for formats whose messages are read and written together.
    pub(crate) fn whole(self) -> Option<Whole> {
        match self {
            Self::OpenaiResponses | Self::Codex => Some(Whole::RESPONSES),
            Self::Gemini | Self::GeminiCli => Some(Whole::GEMINI),
            Self::Uimessage => Some(Whole::UIMESSAGE),
            Self::OpenaiChat
            | Self::Anthropic
            | Self::ClaudeCode
            | Self::Toolbench
            | Self::SweAgent => None,
        }
    }

    /// Detects the format of messages: a format that a message matches exclusively, else OpenAI.
    pub(super) fn of(messages: &[&RawValue]) -> Self {
        let is_anthropic =
            messages.iter().any(|raw| has_blocks(raw)) && messages.iter().all(|raw| has_role(raw));
        if is_anthropic {
            return Self::Anthropic;
        }
        detect::codec(messages).unwrap_or(Self::OpenaiChat)
    }

    /// Returns the wire codec whose bodies contain such messages.
    pub(super) fn body(self) -> Option<&'static str> {
        match self {
            Self::OpenaiChat => Some("openai"),
            Self::Anthropic => Some("anthropic"),
            Self::OpenaiResponses => Some("openai-responses"),
            Self::Gemini => Some("gemini"),
            _ => None,
        }
    }

    /// Lifts a message of a format whose messages are independent.
    pub(super) fn lift(self, original: &Json) -> Result<(Message, Vec<Diagnostic>), WireError> {
        Ok(match self {
            Self::Anthropic | Self::ClaudeCode => {
                let lifted = anthropic::lift(original)?;
                (lifted.message, lifted.diagnostics)
            }
            _ => {
                let lifted = openai::lift(original)?;
                (lifted.message, lifted.diagnostics)
            }
        })
    }

    /// Lowers messages to the form of their source. Diagnostics name messages by position, as in
    /// `messages[0]`.
    pub(crate) fn lower_source(self, messages: Vec<Arc<Message>>) -> (Vec<Json>, Vec<Diagnostic>) {
        if let Some(whole) = self.whole() {
            return whole.lower_source(messages);
        }
        let (mut all, mut diagnostics) = (Vec::with_capacity(messages.len()), Vec::new());
        for (index, message) in messages.iter().enumerate() {
            let (written, said) = self.lower_source_of(message);
            all.extend(written);
            diagnostics.extend(said.into_iter().map(|mut diagnostic| {
                diagnostic.path = format!("messages[{index}].{}", diagnostic.path);
                diagnostic
            }));
        }
        (all, diagnostics)
    }

    /// Lowers a message to the form of its source, for a format whose messages are independent.
    pub(super) fn lower_source_of(self, message: &Message) -> (Vec<Json>, Vec<Diagnostic>) {
        let lowered = match self {
            Self::Anthropic | Self::ClaudeCode => anthropic::lower_source(message),
            _ => openai::lower_source(message),
        };
        (lowered.messages, lowered.diagnostics)
    }
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
