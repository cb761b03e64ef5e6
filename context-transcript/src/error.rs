//! The errors of reading a file: the file, the place in it, and the problem.

use context_core::fragment::MAX_JSON_DEPTH;
use context_core::model::WireError;
use context_core::{Error, ErrorKind};

use crate::{Format, TreeError};

/// The reason why a file, or a line of it, cannot be read. Files have the name that
/// [`FileText::shown`](crate::FileText::shown) returns; lines, columns, conversations and messages
/// count from 1.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum TranscriptError {
    /// The file is not text.
    #[error("{file} is not UTF-8 text: line {line} has other bytes")]
    NotText {
        /// The file.
        file: String,
        /// The first line with other bytes.
        line: usize,
    },
    /// The file, or a line of it, is not JSON.
    #[error("{file} is not JSON: {}", syntax_problem(.source))]
    Syntax {
        /// The file.
        file: String,
        /// The line.
        line: usize,
        /// The column in bytes.
        column: usize,
        /// The error of the parser.
        source: serde_json::Error,
    },
    /// The file has more lines or list entries than are read.
    #[error("{file} has more than {limit} lines or messages, the most that is read as a whole")]
    TooMany {
        /// The file.
        file: String,
        /// The most lines or list entries.
        limit: usize,
    },
    /// The JSON has no form that is known.
    #[error("{file} is not a transcript we know: {problem}")]
    UnknownForm {
        /// The file.
        file: String,
        /// The line on which the part starts.
        line: usize,
        /// The format in which the part was read, if it was named or found.
        format: Option<Format>,
        /// The problem.
        problem: FormProblem,
    },
    /// A message is invalid.
    #[error("message {message} of conversation {conversation} in {file}: {source}")]
    Message {
        /// The file.
        file: String,
        /// The line on which the message starts.
        line: usize,
        /// The conversation in the file.
        conversation: usize,
        /// The message in the conversation.
        message: usize,
        /// The format of the message.
        format: Format,
        /// The error of the codec.
        source: WireError,
    },
    /// The messages do not make a tree.
    #[error("{file}: {source}")]
    Tree {
        /// The file.
        file: String,
        /// The format of the file.
        format: Format,
        /// The error of the tree.
        source: TreeError,
    },
}

context_core::readable_debug!(TranscriptError);

impl TranscriptError {
    /// Returns the problem alone, without the file.
    pub fn problem(&self) -> String {
        match self {
            Self::NotText { .. } => "it is not UTF-8 text".to_owned(),
            Self::Syntax { source, .. } => syntax_problem(source),
            Self::TooMany { limit, .. } => format!("it has more than {limit} lines or messages"),
            Self::UnknownForm { problem, .. } => problem.to_string(),
            Self::Message { source, .. } => source.to_string(),
            Self::Tree { source, .. } => source.to_string(),
        }
    }
}

impl From<TranscriptError> for Error {
    fn from(error: TranscriptError) -> Self {
        Error::new(ErrorKind::Invalid, "read", error.to_string()).with_source(error)
    }
}

/// The reason why JSON has no form that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormProblem {
    /// The file has no line with content.
    #[error("it is empty")]
    Empty,
    /// The file is a number, a string, a Boolean or null.
    #[error("it is neither a list nor an object")]
    NeitherListNorObject,
    /// A conversation is a number, a string, a Boolean or null.
    #[error("a conversation is neither a list nor an object")]
    ConversationNeitherListNorObject,
    /// An object has no list of messages under a key that is known.
    #[error("an object has no list of messages")]
    NoMessages,
    /// A line of a session is not an object.
    #[error("a line is not an object")]
    LineNotObject,
    /// An answer tree has no root.
    #[error("an object has no tree of nodes")]
    NoTree,
    /// An answer tree is too deep.
    #[error("its tree is deeper than {limit} levels")]
    TreeTooDeep {
        /// The most levels that are read.
        limit: usize,
    },
    /// A node of an answer tree is not an object.
    #[error("a node of its tree is not an object")]
    NodeNotObject,
    /// The children of a node of an answer tree are not a list.
    #[error("the children of a node are not a list")]
    ChildrenNotList,
}

/// The reason why the stored source of a chat cannot be read.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// A newer program wrote the source.
    #[error("the source has version {version}, this program reads up to {known}")]
    NewerVersion {
        /// The version of the source.
        version: u32,
        /// The newest version that is known.
        known: u32,
    },
    /// The source has another form.
    #[error(transparent)]
    Malformed(serde_json::Error),
}

context_core::readable_debug!(SourceError);

/// Returns the problem of text that is not JSON, without the position.
pub fn syntax_problem(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let text = text.rfind(" at line ").map_or(text.as_str(), |end| &text[..end]);
    match text {
        // The parser's message names neither the nesting nor its limit.
        "recursion limit exceeded" => {
            format!("its data is nested more than {MAX_JSON_DEPTH} levels deep")
        }
        text => text.to_owned(),
    }
}
