//! The formats of files, as the command line names them.

use clap::ValueEnum;
use context_runtime::transcript::Format;

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FileFormat {
    /// Detect the format
    Auto,
    /// OpenAI Chat Completions
    Openai,
    /// OpenAI Responses: items
    OpenaiResponses,
    /// Anthropic Messages
    Anthropic,
    /// Gemini: contents
    Gemini,
    /// UIMessages of the AI SDK
    Uimessage,
    /// Sessions of Claude Code
    ClaudeCode,
    /// Sessions of the Codex CLI
    Codex,
    /// Sessions of the Gemini CLI
    GeminiCli,
    /// Sessions of the Pi coding agent
    Pi,
    /// Sessions of opencode
    Opencode,
    /// Events of OpenHands
    Openhands,
    /// Data exports of ChatGPT
    Chatgpt,
    /// Data exports of Claude.ai
    ClaudeAi,
    /// Message histories of Pydantic AI
    PydanticAi,
    /// Sessions of goose
    Goose,
    /// Logs of the `llm` command
    Llm,
    /// Trajectories of SWE-agent
    SweAgent,
    /// Answer trees of ToolBench
    Toolbench,
    /// Files of `export --to jsonl`: whole chats
    Jsonl,
}

impl FileFormat {
    /// Returns the format of a transcript, or `None` if it is to be detected. A file in the
    /// library's own form is no transcript; where one is read as such, it is a list of messages.
    pub(crate) fn of_transcript(self) -> Option<Format> {
        Some(match self {
            Self::Auto => return None,
            Self::Openai | Self::Jsonl => Format::OpenaiChat,
            Self::OpenaiResponses => Format::OpenaiResponses,
            Self::Anthropic => Format::Anthropic,
            Self::Gemini => Format::Gemini,
            Self::Uimessage => Format::Uimessage,
            Self::ClaudeCode => Format::ClaudeCode,
            Self::Codex => Format::Codex,
            Self::GeminiCli => Format::GeminiCli,
            Self::Pi => Format::Pi,
            Self::Opencode => Format::Opencode,
            Self::Openhands => Format::Openhands,
            Self::Chatgpt => Format::Chatgpt,
            Self::ClaudeAi => Format::ClaudeAi,
            Self::PydanticAi => Format::PydanticAi,
            Self::Goose => Format::Goose,
            Self::Llm => Format::Llm,
            Self::SweAgent => Format::SweAgent,
            Self::Toolbench => Format::Toolbench,
        })
    }
}
