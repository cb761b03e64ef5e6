//! What can go wrong in a command: what happened, to what, and what to do about it.

use std::error::Error as _;
use std::io;
use std::process::ExitCode;

use context_runtime::model::WireError;
use context_runtime::{
    Error, ErrorKind, Retry,
    fragments::{CodecError, MAX_JSON_DEPTH, RenderError},
    tokens::Budget,
};

/// The exit status of a command that was interrupted, as a shell reports it of any other program.
pub(crate) const INTERRUPTED: u8 = 130;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// From a store or the engine.
    #[error("{}", said(.0))]
    Store(#[from] Error),
    /// A store that would have to be made.
    #[error("there is no store at {url}")]
    NoStore { url: String },
    /// A file that cannot be opened or read.
    #[error("cannot read {file}")]
    Read { file: String, source: io::Error },
    /// A file, or a stream, that is longer than what is read of one.
    #[error("{file} is larger than {limit} bytes, the most that is read as a whole")]
    TooLarge { file: String, limit: u64 },
    /// A file with more lines, or more entries in a list, than what is read of one.
    #[error("{file} has more than {limit} lines or messages, the most that is read as a whole")]
    TooMany { file: String, limit: usize },
    /// A file that is no text.
    #[error("{file} is not UTF-8 text: line {line} has other bytes")]
    NotText { file: String, line: usize },
    /// A file, or a line of it, that is no JSON.
    #[error("{file} is not JSON: {}", reason(.source))]
    Syntax { file: String, line: usize, column: usize, source: serde_json::Error },
    /// A line of a file that is broken.
    #[error("line {line} of {file} is broken: {problem}")]
    Line { file: String, line: usize, problem: String },
    /// JSON that is no transcript.
    #[error("{file} is not a transcript we know: {problem}")]
    Form { file: String, line: usize, problem: &'static str },
    /// A message that is none.
    #[error("message {message} of conversation {conversation} in {file}: {source}")]
    Message { file: String, line: usize, conversation: usize, message: usize, source: WireError },
    /// A conversation that no request can be made of.
    #[error("{what} cannot be sent to {provider}: {source}")]
    Request { what: String, provider: String, source: WireError },
    /// A request that is larger than its window.
    #[error("{what} does not fit the window: {missing} tokens too many, {tokens} where {} fit",
        .budget.input())]
    Overflow { what: String, tokens: u64, missing: u64, budget: Budget },
    /// A fragment that is none.
    #[error("fragment {index} in {file} cannot be read: {}", reason(.source))]
    Fragment { file: String, line: usize, index: usize, source: serde_json::Error },
    /// A file or folder without rounds of a trajectory.
    #[error("{file} holds no trajectory: {problem}")]
    NoRounds { file: String, problem: String },
    /// A fragment that cannot be rendered.
    #[error(transparent)]
    Render(#[from] RenderError),
    /// A chat whose id is used for something else.
    #[error("chat {chat} exists and does not hold what {file} does")]
    Taken { chat: String, file: String },
    /// The beginning or end of several ids.
    #[error("{text:?} means more than one {what}: {}", .matches.join(", "))]
    Ambiguous { what: &'static str, text: String, matches: Vec<String> },
    /// Chats that are not of one file.
    #[error("the chats come from different sources: {}", .sources.join(", "))]
    Mixed { sources: Vec<String> },
    /// Kept facts about the source that this program cannot read.
    #[error("what chat {chat} says about its source cannot be read")]
    Source { chat: String, source: serde_json::Error },
    /// Kept facts about the source that a newer program wrote.
    #[error("chat {chat} was imported by a newer program: its source has version {version}")]
    NewerSource { chat: String, version: u32 },
    /// The branch that is worked on, which cannot go.
    #[error("branch {branch} is the one that is worked on")]
    ActiveBranch { branch: String },
    /// Something that does not come back, and nobody has said yes to.
    #[error("this needs a yes: {question}")]
    Unconfirmed { question: String },
    /// Somebody has said no.
    #[error("nothing was done")]
    Declined,
    /// A file that must not exist.
    #[error("{file} exists")]
    Exists { file: String },
    /// A file that cannot be written.
    #[error("cannot write {file}")]
    WriteFile { file: String, source: io::Error },
    /// A message whose body this program cannot read.
    #[error("message {message} of chat {chat} cannot be read")]
    Unreadable { chat: String, message: String, source: Box<CodecError> },
    /// What does not go along with chats, and nobody has said that it may stay.
    #[error("{} would stay behind", .left.join(", "))]
    StaysBehind { left: Vec<String>, kinds: Vec<&'static str> },
    /// The command line asks for something that makes no sense.
    #[error("{0}")]
    Usage(String),
    /// Standard output is closed or full.
    #[error("cannot write the output")]
    Write(#[source] io::Error),
    /// A record that has no JSON form.
    #[error("cannot write the output as JSON")]
    Record(#[source] serde_json::Error),
    /// The async runtime does not start.
    #[error("cannot start")]
    Runtime(#[source] io::Error),
}

/// The reason without the position, which is told apart.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let text = text.rfind(" at line ").map_or(text.as_str(), |end| &text[..end]);
    match text {
        // The reader's word for it says neither what is nested nor how deep it may be.
        "recursion limit exceeded" => {
            format!("its data is nested more than {MAX_JSON_DEPTH} levels deep")
        }
        text => text.to_owned(),
    }
}

/// What a store said; and which one it was, if it cannot be opened.
fn said(error: &Error) -> String {
    match error.get("path") {
        Some(path) if error.operation() == "open" => {
            format!("cannot open {path}: {}", error.message())
        }
        _ => error.message().to_owned(),
    }
}

/// Advice for a store that is not there.
const NAME_ANOTHER: &str =
    "name another one with --store or CONTEXT_STORE; `context import` makes one";

fn store_advice(error: &Error) -> Option<&'static str> {
    let about = |key| error.get(key).is_some();
    Some(match error.kind() {
        ErrorKind::NotFound if about("message") => {
            "`context log` and `context graph` list the messages of a chat"
        }
        ErrorKind::NotFound if about("branch") => "`context branches` lists the branches of a chat",
        ErrorKind::NotFound if about("checkpoint") => {
            "`context checkpoint` lists the checkpoints of a chat"
        }
        ErrorKind::NotFound if about("blob") => "`context spill list CHAT` shows what there is",
        ErrorKind::NotFound if about("session") => {
            "`context trajectory list` lists sessions and rounds, `context trajectory show` their nodes"
        }
        // Of a file it is said before.
        ErrorKind::NotFound if error.operation() == "open" => NAME_ANOTHER,
        ErrorKind::NotFound if about("chat") => "`context chats` lists the chats of this user",
        ErrorKind::Conflict if about("branch") => {
            "choose another name, or look at it with `context branches`"
        }
        ErrorKind::Conflict => "somebody else was faster: look again, then repeat",
        ErrorKind::Unavailable | ErrorKind::Timeout if error.retry() == Retry::Safe => {
            "nothing was changed; try again"
        }
        ErrorKind::Unsupported if about("older_schema") => {
            "nothing was changed · `context upgrade` brings the store up to date"
        }
        ErrorKind::Corrupt => "`context verify` says what else is broken",
        ErrorKind::Unsupported if about("newer_schema") => {
            "nothing was changed · upgrade the program, or open a backup from before the upgrade"
        }
        ErrorKind::Cancelled => "what was written is whole; run it again to go on",
        ErrorKind::Unsupported if error.operation() == "users" => {
            "name them instead; --user may be given more than once"
        }
        ErrorKind::Unsupported if error.operation() == "memories" => {
            "memories are kept by stores that are not encrypted: sqlite:, postgres://, redis:// and mem:"
        }
        ErrorKind::Unsupported if error.operation() == "search" => {
            "`context log` and `context export` show messages to look through"
        }
        _ => return None,
    })
}

impl Failure {
    /// The stable name, as JSON shows it.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Store(error) => error.kind().as_str(),
            Self::NoStore { .. } => ErrorKind::NotFound.as_str(),
            Self::Read { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                ErrorKind::NotFound.as_str()
            }
            Self::Taken { .. } => ErrorKind::Conflict.as_str(),
            Self::Declined => ErrorKind::Cancelled.as_str(),
            Self::StaysBehind { .. } => ErrorKind::Unsupported.as_str(),
            Self::Usage(_) | Self::Unconfirmed { .. } => "usage",
            Self::Read { .. } | Self::Write(_) | Self::WriteFile { .. } | Self::Runtime(_) => "io",
            Self::Source { .. } => ErrorKind::Corrupt.as_str(),
            Self::NewerSource { .. } => ErrorKind::Unsupported.as_str(),
            Self::Unreadable { source, .. } => match **source {
                CodecError::NewerVersion { .. } => ErrorKind::Unsupported.as_str(),
                _ => ErrorKind::Corrupt.as_str(),
            },
            Self::Record(_) => ErrorKind::Bug.as_str(),
            _ => ErrorKind::Invalid.as_str(),
        }
    }

    /// The facts: which thing, where, which limit.
    pub(crate) fn context(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Store(error) => {
                let operation = ("operation", error.operation().to_owned());
                let facts = error.context().map(|(key, value)| (key, value.to_owned()));
                [operation].into_iter().chain(facts).collect()
            }
            Self::NoStore { url } => vec![("store", url.clone())],
            Self::Read { file, .. } | Self::WriteFile { file, .. } => vec![("file", file.clone())],
            Self::TooLarge { file, limit } => {
                vec![("file", file.clone()), ("limit", limit.to_string())]
            }
            Self::TooMany { file, limit } => {
                vec![("file", file.clone()), ("limit", limit.to_string())]
            }
            Self::NotText { file, line }
            | Self::Form { file, line, .. }
            | Self::Line { file, line, .. } => {
                vec![("file", file.clone()), ("line", line.to_string())]
            }
            Self::Syntax { file, line, column, .. } => {
                vec![
                    ("file", file.clone()),
                    ("line", line.to_string()),
                    ("column", column.to_string()),
                ]
            }
            Self::Message { file, line, conversation, message, source } => vec![
                ("file", file.clone()),
                ("line", line.to_string()),
                ("conversation", conversation.to_string()),
                ("message", message.to_string()),
                ("path", source.path().to_owned()),
            ],
            Self::Fragment { file, line, index, .. } => {
                vec![
                    ("file", file.clone()),
                    ("line", line.to_string()),
                    ("fragment", index.to_string()),
                ]
            }
            Self::Request { what, provider, source } => vec![
                ("conversation", what.clone()),
                ("provider", provider.clone()),
                ("path", source.path().to_owned()),
            ],
            Self::Overflow { what, tokens, missing, budget } => vec![
                ("conversation", what.clone()),
                ("tokens", tokens.to_string()),
                ("missing", missing.to_string()),
                ("window", budget.window.to_string()),
                ("reserve", budget.reserve.to_string()),
            ],
            Self::NoRounds { file, .. } => vec![("file", file.clone())],
            Self::Taken { chat, file } => vec![("chat", chat.clone()), ("file", file.clone())],
            Self::Unreadable { chat, message, .. } => {
                vec![("chat", chat.clone()), ("message", message.clone())]
            }
            Self::StaysBehind { kinds, .. } => vec![("without", kinds.join(","))],
            Self::ActiveBranch { branch } => vec![("branch", branch.clone())],
            Self::Exists { file } => vec![("file", file.clone())],
            Self::Ambiguous { what, text, .. } => vec![(*what, text.clone())],
            Self::Source { chat, .. } | Self::NewerSource { chat, .. } => {
                vec![("chat", chat.clone())]
            }
            _ => Vec::new(),
        }
    }

    /// What is wrong with a part of a file, without naming the file.
    pub(crate) fn problem(&self) -> String {
        match self {
            Self::Syntax { source, .. } => reason(source),
            Self::Form { problem, .. } => (*problem).to_owned(),
            Self::NotText { .. } => "it is not UTF-8 text".to_owned(),
            Self::Line { problem, .. } => problem.clone(),
            Self::TooLarge { limit, .. } => format!("it is larger than {limit} bytes"),
            Self::TooMany { limit, .. } => format!("it has more than {limit} lines or messages"),
            Self::Read { source, .. } => format!("it cannot be read: {source}"),
            Self::Taken { chat, .. } => format!("chat {chat} exists and holds something else"),
            Self::Store(error) => match error.get("line") {
                Some(line) => format!("line {line}: {}", error.message()),
                None => error.message().to_owned(),
            },
            Self::Message { source, .. } => source.to_string(),
            other => other.to_string(),
        }
    }

    /// Whether one file is at fault, and others may be read all the same.
    pub(crate) fn is_of_one_file(&self) -> bool {
        match self {
            Self::Read { .. }
            | Self::TooLarge { .. }
            | Self::TooMany { .. }
            | Self::NotText { .. }
            | Self::Syntax { .. }
            | Self::Line { .. }
            | Self::Form { .. }
            | Self::Message { .. }
            | Self::Taken { .. } => true,
            Self::Store(error) => match error.kind() {
                ErrorKind::Invalid => true,
                // Of the file and not of the store.
                kind => kind == ErrorKind::Unavailable && error.operation() == "import_jsonl",
            },
            _ => false,
        }
    }

    /// What to do, where there is something.
    pub(crate) fn advice(&self) -> Option<&'static str> {
        match self {
            Self::Store(error) => store_advice(error),
            Self::NoStore { .. } => Some(NAME_ANOTHER),
            Self::Form { .. } => Some(
                "expected a list of messages, an object with `messages`, `history`, `traj`, `contents` or `input`, a \
                 list of such objects, JSON Lines of either, a session of Claude Code, the Codex CLI or the Gemini \
                 CLI, or an answer tree of ToolBench",
            ),
            Self::Syntax { .. }
            | Self::NotText { .. }
            | Self::Message { .. }
            | Self::Line { .. } => Some("nothing of this file was used"),
            Self::Fragment { .. } => {
                Some("`context render --help` shows the form of a fragment, --schema all of it")
            }
            Self::Taken { .. } => {
                Some("give the import another name with --chat, or delete that chat first")
            }
            Self::NoRounds { .. } => Some(
                "expected a folder of Run0_Sub0.json and so on, or a file in ATIF; transcripts are for `context \
                 import FILE --trajectory`",
            ),
            Self::StaysBehind { .. } => Some(
                "nothing was written · --without KINDS leaves them; `context backup` takes everything",
            ),
            Self::NewerSource { .. } => Some("upgrade this program"),
            Self::Unreadable { .. } => Some("`context verify` says what else is broken"),
            Self::Overflow { .. } => Some(
                "nothing was printed or saved; say a larger --window, a smaller --reserve, or harsher policies with \
                 --policy",
            ),
            Self::Ambiguous { .. } => Some("write more of the id"),
            Self::ActiveBranch { .. } => {
                Some("go to another one first: `context branches CHAT --switch NAME`")
            }
            Self::Unconfirmed { .. } => Some("say --yes where nobody can be asked"),
            Self::Exists { .. } => {
                Some("nothing was changed; choose another name or move that file away")
            }
            Self::Mixed { .. } => Some("choose one with --file NAME, or export one chat at a time"),
            _ => None,
        }
    }

    /// Whether what was asked for is not there.
    pub(crate) fn is_not_found(&self) -> bool {
        self.kind() == ErrorKind::NotFound.as_str()
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Usage(_) | Self::Unconfirmed { .. } => 2,
            Self::Store(error) if error.kind() == ErrorKind::Cancelled => INTERRUPTED,
            _ => 1,
        })
    }

    /// Whether nothing more can be written.
    pub(crate) fn ends_the_output(&self) -> bool {
        matches!(self, Self::Write(_))
    }

    /// Whether nobody reads the output any more.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        let is_closed = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
        match self {
            Self::Write(error) => is_closed(error),
            // What a store or a transfer wrote to us.
            Self::Store(error) => {
                error.source().and_then(|source| source.downcast_ref()).is_some_and(is_closed)
            }
            _ => false,
        }
    }
}
