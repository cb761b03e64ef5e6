//! Reads files of other programs as chats, and writes chats back in the form of those files:
//! sessions of coding agents such as Claude Code, the Codex CLI and Pi, trajectories of SWE-agent,
//! answer trees of ToolBench, lists of messages of every provider, bodies of requests. [`Format`]
//! lists them.
//!
//! A file holds one conversation or several. A conversation is a list of messages, or an object
//! with such a list under `messages`, `history`, `traj`, `contents` or `input`; the rest of the
//! object is its envelope. A conversation may also be a log or a tree with messages in it. Several
//! conversations are a list or JSON Lines; JSON Lines of messages are one conversation.
//!
//! [`read`] makes a [`TranscriptChat`] of each conversation: its messages and branches as a
//! [`Tree`], which a store can be given commit by commit, and its [`TranscriptSource`], which the
//! chat keeps in its metadata. With both, [`ChatContent`] and [`ExportedChat`] write the file again
//! with equal JSON values, whatever else its lines or records contain. Whatever a message cannot
//! express is stored with the message as a difference.
//!
//! Everything here is pure: no file is opened, and times come from the file or from the caller.
//!
//! ```
//! use context_core::Timestamp;
//! use context_transcript::{ChatContent, ExportedChat, FileText, Format, read};
//!
//! let text = r#"{"id": 7, "messages": [{"role": "user", "content": "Two tickets to Lisbon."}]}"#;
//! let mut transcript = read(&FileText::new("trip.json", text), None, Timestamp::default())?;
//! let chat = transcript.chats.remove(0);
//! assert_eq!(chat.source.format, Format::OpenaiChat);
//! assert_eq!(chat.title.as_deref(), Some("Two tickets to Lisbon."));
//!
//! let main = chat.tree.chain(&"main".into()).expect("every conversation has a main branch");
//! let messages = main.iter().map(|node| node.message().cloned()).collect::<Result<_, _>>()?;
//! let (messages, lost) = chat.source.format.lower_source(messages);
//! let back = ExportedChat::new(Some(chat.source), ChatContent::Messages(messages));
//! assert_eq!(back.to_text(), text.replace(": ", ":").replace(", ", ",") + "\n");
//! assert!(lost.is_empty());
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

mod branches;
mod broken_lines;
mod chat;
mod chatgpt;
mod claude_ai;
mod claude_code;
mod codex;
mod detect;
mod error;
mod export;
mod flat;
mod format;
mod forms;
mod gemini_cli;
mod goose;
mod growth;
mod list_codec;
mod lists;
mod llm;
mod markdown;
mod measures;
mod opencode;
mod openhands;
mod pi;
mod pydantic_ai;
mod raw;
mod read;
mod records;
mod sidecar;
mod source;
mod text;
mod time;
mod toolbench;
mod tree;

pub use broken_lines::{BrokenLines, LineError};
pub use chat::TranscriptChat;
pub use error::{FormProblem, SourceError, TranscriptError, syntax_problem};
pub use export::{ChatContent, ExportedChat, is_log_entry, to_file_text};
pub use format::Format;
pub use growth::{TreeDifference, TreeGrowth};
pub use list_codec::locate_by_id;
pub use markdown::MarkdownDocument;
pub use measures::measures;
pub use read::{ReadTranscript, read};
pub use sidecar::SOURCE_BRANCH;
pub use source::{FileLayout, TranscriptSource};
pub use text::FileText;
pub use tree::{Tree, TreeError};
