//! The errors of commands: what happened, to what, and how to fix it.

use std::error::Error as _;
use std::io;
use std::process::ExitCode;

use crate::config::ConfigError;
use context_runtime::layers::KeyError;
use context_runtime::model::WireError;
use context_runtime::transcript::{SourceError, TranscriptError, syntax_problem};
use context_runtime::transfer::TreeDifference;
use context_runtime::{
    Error, ErrorKind, Retry,
    fragments::{CodecError, RenderError},
    tokens::Budget,
};

/// The exit status of an interrupted command, as shells report it.
pub(crate) const INTERRUPTED: u8 = 130;

/// The reason why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// An error of a store or the engine.
    #[error("{}", store_message(.0))]
    Store(#[from] Error),
    /// The store does not exist.
    #[error("there is no store at {url}")]
    NoStore { url: String },
    /// The keys of the store cannot be read, or open nothing.
    #[error("the keys of the store cannot be read from {from}: {source}")]
    Keys { from: String, source: KeyError },
    /// The folder of a store does not exist.
    #[error("there is no folder {folder} for the store {file}")]
    NoFolder { folder: String, file: String },
    /// A file or folder does not exist. The hint says what exists instead.
    #[error("there is no file or folder {file}{hint}")]
    Missing { file: String, hint: String },
    /// A pattern matches no file.
    #[error("no file matches {pattern}{problem}")]
    NoMatch { pattern: String, problem: String },
    /// A file cannot be opened or read.
    #[error("cannot read {file}")]
    Read { file: String, source: io::Error },
    /// A file or stream exceeds the largest size that is read.
    #[error("{file} is larger than {limit} bytes, the most that is read as a whole")]
    TooLarge { file: String, limit: u64 },
    /// A SQLite file is not one that is read.
    #[error("{file} is a SQLite database, but of no program whose sessions are read")]
    UnknownDatabase { file: String },
    /// A file, or a part of it, cannot be read as text, as JSON, or as a transcript.
    #[error(transparent)]
    Transcript(TranscriptError),
    /// A line of a file is invalid.
    #[error("line {line} of {file} is broken: {problem}")]
    Line { file: String, line: usize, problem: String },
    /// A conversation cannot be turned into a request.
    #[error("{subject} cannot be sent to {provider}: {source}")]
    Request { subject: String, provider: String, source: WireError },
    /// A request does not fit the window.
    #[error("{subject} does not fit the window: {missing} tokens too many, {tokens} where {} fit",
        .budget.input())]
    Overflow { subject: String, tokens: u64, missing: u64, budget: Budget },
    /// A fragment in a file is invalid.
    #[error("fragment {index} in {file} cannot be read: {}", syntax_problem(.source))]
    Fragment { file: String, line: usize, index: usize, source: serde_json::Error },
    /// A file or folder contains no rounds of a trajectory.
    #[error("{file} holds no trajectory: {problem}")]
    NoRounds { file: String, problem: String },
    /// A fragment cannot be rendered.
    #[error(transparent)]
    Render(#[from] RenderError),
    /// A chat of this id exists with other content.
    #[error("chat {chat} exists, and its content differs from {file}: {difference}")]
    Taken { chat: String, file: String, difference: TreeDifference },
    /// The start or end of an id matches several ids.
    #[error("{text:?} matches more than one {subject}: {}", .matches.join(", "))]
    Ambiguous { subject: &'static str, text: String, matches: Vec<String> },
    /// The chats come from different files.
    #[error("the chats come from different sources: {}", .sources.join(", "))]
    Mixed { sources: Vec<String> },
    /// The stored source of a chat cannot be read.
    #[error("the record of the source of chat {chat} cannot be read")]
    Source { chat: String, source: SourceError },
    /// The stored source of a chat was written by a newer version.
    #[error("chat {chat} was imported by a newer program: its source has version {version}")]
    NewerSource { chat: String, version: u32 },
    /// None of the files has a conversation.
    #[error("no conversation was found in {}", .files.join(", "))]
    NoChat { files: Vec<String> },
    /// A port cannot be opened.
    #[error("cannot listen on port {port}")]
    Port { port: u16, source: io::Error },
    /// The active branch cannot be deleted.
    #[error("branch {branch} is the active branch")]
    ActiveBranch { branch: String },
    /// An irreversible action was not confirmed.
    #[error("this needs a confirmation: {question}")]
    Unconfirmed { question: String },
    /// The user declined.
    #[error("nothing was changed")]
    Declined,
    /// The file already exists.
    #[error("{file} exists")]
    Exists { file: String },
    /// The file cannot be written.
    #[error("cannot write {file}")]
    WriteFile { file: String, source: io::Error },
    /// The body of a message cannot be read by this version.
    #[error("message {message} of chat {chat} cannot be read")]
    Unreadable { chat: String, message: String, source: Box<CodecError> },
    /// Data that cannot be transferred with the chats, and that the user did not agree to leave
    /// behind.
    #[error("{} would stay behind", .left.join(", "))]
    StaysBehind { left: Vec<String>, kinds: Vec<&'static str> },
    /// The configuration is invalid, or cannot be read or changed.
    #[error("{}{source}", if .file.is_empty() { String::new() } else { format!("{file}: ") })]
    Config { file: String, source: ConfigError },
    /// The command line is invalid.
    #[error("{0}")]
    Usage(String),
    /// Standard output is closed or full.
    #[error("cannot write the output")]
    Write(#[source] io::Error),
    /// A record cannot be written as JSON.
    #[error("cannot write the output as JSON")]
    Record(#[source] serde_json::Error),
    /// The async runtime cannot be started.
    #[error("cannot start")]
    Runtime(#[source] io::Error),
}

impl From<TranscriptError> for Failure {
    fn from(error: TranscriptError) -> Self {
        match error {
            TranscriptError::Tree { source, .. } => Self::Store(source.into()),
            error => Self::Transcript(error),
        }
    }
}

/// Returns the details of an error in a file: the file, the place in it, and the limit.
fn transcript_context(error: &TranscriptError) -> Vec<(&'static str, String)> {
    match error {
        TranscriptError::TooMany { file, limit } => {
            vec![("file", file.clone()), ("limit", limit.to_string())]
        }
        TranscriptError::NotText { file, line }
        | TranscriptError::UnknownForm { file, line, .. } => {
            vec![("file", file.clone()), ("line", line.to_string())]
        }
        TranscriptError::Syntax { file, line, column, .. } => {
            vec![("file", file.clone()), ("line", line.to_string()), ("column", column.to_string())]
        }
        TranscriptError::Message { file, line, conversation, message, source, .. } => vec![
            ("file", file.clone()),
            ("line", line.to_string()),
            ("conversation", conversation.to_string()),
            ("message", message.to_string()),
            ("path", source.path().to_owned()),
        ],
        _ => Vec::new(),
    }
}

/// Returns a store's message, with the path if the store cannot be opened.
fn store_message(error: &Error) -> String {
    match error.get("path") {
        Some(path) if error.operation() == "open" => {
            format!("cannot open {path}: {}", error.message())
        }
        _ => error.message().to_owned(),
    }
}

/// The advice for a store that does not exist.
const NAME_ANOTHER: &str =
    "name another one with --store or CONTEXT_STORE; `context import` creates one";

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
        // A missing SQLite file is reported as `NoStore` instead.
        ErrorKind::NotFound if error.operation() == "open" => NAME_ANOTHER,
        ErrorKind::NotFound if about("chat") => {
            "`context chats` lists the chats of this user; --user names another"
        }
        ErrorKind::NotFound if about("repository") => {
            "name a folder for the snapshots with --snapshots, or make a repository with `git init`"
        }
        ErrorKind::Conflict if about("branch") => {
            "choose another name, or look at it with `context branches`"
        }
        ErrorKind::Conflict => {
            "another writer changed it meanwhile: look at the new state, then run the command again"
        }
        ErrorKind::Unavailable | ErrorKind::Timeout if error.retry() == Retry::Safe => {
            "nothing was changed; try again"
        }
        ErrorKind::Unsupported if about("older_schema") => {
            "nothing was changed · `context upgrade` brings the store up to date"
        }
        ErrorKind::Corrupt => "`context verify` lists all damage",
        ErrorKind::Unsupported if about("newer_schema") => {
            "nothing was changed · upgrade the program, or open a backup from before the upgrade"
        }
        ErrorKind::Cancelled => {
            "everything written so far is complete; run the command again to continue"
        }
        ErrorKind::Unsupported if error.operation() == "users" => {
            "name the users; --user may be given more than once"
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
    /// Returns the stable error name that JSON output shows.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Store(error) => error.kind().as_str(),
            Self::NoStore { .. }
            | Self::NoFolder { .. }
            | Self::Missing { .. }
            | Self::NoMatch { .. } => ErrorKind::NotFound.as_str(),
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

    /// Returns the details of the error, such as the object, its location or a limit.
    pub(crate) fn context(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Store(error) => {
                let operation = ("operation", error.operation().to_owned());
                let facts = error.context().map(|(key, value)| (key, value.to_owned()));
                [operation].into_iter().chain(facts).collect()
            }
            Self::NoStore { url } => vec![("store", url.clone())],
            Self::NoFolder { folder, .. } => vec![("folder", folder.clone())],
            Self::Keys { from, .. } => vec![("keys", from.clone())],
            Self::NoMatch { pattern, .. } => vec![("pattern", pattern.clone())],
            Self::Read { file, .. } | Self::WriteFile { file, .. } | Self::Missing { file, .. } => {
                vec![("file", file.clone())]
            }
            Self::TooLarge { file, limit } => {
                vec![("file", file.clone()), ("limit", limit.to_string())]
            }
            Self::Transcript(error) => transcript_context(error),
            Self::Line { file, line, .. } => {
                vec![("file", file.clone()), ("line", line.to_string())]
            }
            Self::Fragment { file, line, index, .. } => {
                vec![
                    ("file", file.clone()),
                    ("line", line.to_string()),
                    ("fragment", index.to_string()),
                ]
            }
            Self::Request { subject, provider, source } => vec![
                ("conversation", subject.clone()),
                ("provider", provider.clone()),
                ("path", source.path().to_owned()),
            ],
            Self::Overflow { subject, tokens, missing, budget } => vec![
                ("conversation", subject.clone()),
                ("tokens", tokens.to_string()),
                ("missing", missing.to_string()),
                ("window", budget.window.to_string()),
                ("reserve", budget.reserve.to_string()),
            ],
            Self::NoRounds { file, .. } | Self::UnknownDatabase { file } => {
                vec![("file", file.clone())]
            }
            Self::Taken { chat, file, .. } => vec![("chat", chat.clone()), ("file", file.clone())],
            Self::Unreadable { chat, message, .. } => {
                vec![("chat", chat.clone()), ("message", message.clone())]
            }
            Self::StaysBehind { kinds, .. } => vec![("without", kinds.join(","))],
            Self::ActiveBranch { branch } => vec![("branch", branch.clone())],
            Self::Exists { file } => vec![("file", file.clone())],
            Self::Ambiguous { subject, text, .. } => vec![(*subject, text.clone())],
            Self::Source { chat, .. } | Self::NewerSource { chat, .. } => {
                vec![("chat", chat.clone())]
            }
            _ => Vec::new(),
        }
    }

    /// Returns the problem of a part of a file, without the file name.
    pub(crate) fn problem(&self) -> String {
        match self {
            Self::Transcript(error @ TranscriptError::Syntax { line, .. }) => {
                format!("line {line} is not JSON: {}", error.problem())
            }
            Self::Transcript(error) => error.problem(),
            Self::Line { problem, .. } => problem.clone(),
            Self::TooLarge { limit, .. } => format!("it is larger than {limit} bytes"),
            Self::Read { source, .. } => format!("it cannot be read: {source}"),
            Self::Missing { hint, .. } => format!("it does not exist{hint}"),
            Self::NoMatch { problem, .. } => format!("it matches no file{problem}"),
            Self::Taken { chat, difference, .. } => {
                format!(
                    "chat {chat} exists with other content: {difference}; import the file with \
                     --chat NAME, or delete the chat first"
                )
            }
            Self::Store(error) => match error.get("line") {
                Some(line) => format!("line {line}: {}", error.message()),
                None => error.message().to_owned(),
            },
            other => other.to_string(),
        }
    }

    /// Returns whether only one file is at fault, so that other files can still be read.
    pub(crate) fn is_of_one_file(&self) -> bool {
        match self {
            Self::Read { .. }
            | Self::Missing { .. }
            | Self::NoMatch { .. }
            | Self::TooLarge { .. }
            | Self::UnknownDatabase { .. }
            | Self::Transcript(_)
            | Self::Line { .. }
            | Self::Taken { .. } => true,
            Self::Store(error) => match error.kind() {
                ErrorKind::Invalid => true,
                // Unavailable because of the file, not because of the store.
                kind => kind == ErrorKind::Unavailable && error.operation() == "import_jsonl",
            },
            _ => false,
        }
    }

    /// Returns advice on how to fix the problem, if there is any.
    pub(crate) fn advice(&self) -> Option<&'static str> {
        match self {
            Self::Store(error) => store_advice(error),
            Self::NoStore { .. } => Some(NAME_ANOTHER),
            Self::NoFolder { .. } => Some(
                "make it with `mkdir -p FOLDER`, or name another store with --store or CONTEXT_STORE",
            ),
            Self::Keys { .. } => Some(
                "a key is 32 bytes, as 64 hexadecimal digits or Base64, behind its name; only its owner may read the file",
            ),
            Self::NoMatch { .. } => {
                Some("`*` and `?` stay within a folder, `**` goes into subfolders")
            }
            Self::Transcript(TranscriptError::UnknownForm { .. }) => Some(
                "expected a list of messages, an object with `messages`, `history`, `traj`, `contents` or `input`, a \
                 list of such objects, JSON Lines of either, or a file of another program: `context import --help` \
                 lists them",
            ),
            Self::UnknownDatabase { .. } => Some(
                "databases of `llm`, opencode and goose are read; `context copy` reads a store of this library",
            ),
            Self::Transcript(TranscriptError::TooMany { .. }) => None,
            Self::Transcript(_) | Self::Line { .. } => Some("nothing of this file was used"),
            Self::Fragment { .. } => Some(
                "`context render --help` shows the form of a fragment, --schema its JSON schema",
            ),
            Self::Taken { .. } => {
                Some("give the import another name with --chat, or delete that chat first")
            }
            Self::NoRounds { .. } => Some(
                "expected a folder of Run0_Sub0.json and so on, or a file in ATIF; transcripts are for `context \
                 import FILE --trajectory`",
            ),
            Self::StaysBehind { .. } => Some(
                "nothing was written · --without KINDS leaves them out; `context backup` copies everything",
            ),
            Self::NewerSource { .. } => Some("upgrade this program"),
            Self::Unreadable { .. } => Some("`context verify` lists all damage"),
            Self::Overflow { .. } => Some(
                "nothing was printed or saved; give a larger --window, a smaller --reserve, or stronger policies with --policy",
            ),
            Self::Ambiguous { .. } => Some("give more characters of the id"),
            Self::ActiveBranch { .. } => {
                Some("switch to another branch first: `context branches CHAT --switch NAME`")
            }
            Self::Unconfirmed { .. } => Some(
                "nothing was changed · give --yes to confirm without a question; --dry-run lists what would go",
            ),
            Self::Exists { .. } => {
                Some("nothing was changed; choose another name, or replace it with --force")
            }
            Self::Mixed { .. } => Some("choose one with --file NAME, or export one chat at a time"),
            _ => None,
        }
    }

    /// Returns whether the requested object does not exist.
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

    /// Returns whether no more output can be written.
    pub(crate) fn ends_the_output(&self) -> bool {
        matches!(self, Self::Write(_))
    }

    /// Returns whether the reader of the output closed it.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        let is_closed = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
        match self {
            Self::Write(error) => is_closed(error),
            // The store or a transfer wrote to the output.
            Self::Store(error) => {
                error.source().and_then(|source| source.downcast_ref()).is_some_and(is_closed)
            }
            _ => false,
        }
    }
}
