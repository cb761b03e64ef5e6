//! One module per command, and shared functions: finding a message, walking listings, moving
//! between branches.

pub(crate) mod backup;
pub(crate) mod branches;
pub(crate) mod chats;
pub(crate) mod checkpoint;
pub(crate) mod cherry_pick;
pub(crate) mod compact;
pub(crate) mod completions;
pub(crate) mod config;
mod conversation;
pub(crate) mod copy;
mod counting;
pub(crate) mod delete;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod erase;
pub(crate) mod export;
mod export_html;
mod export_markdown;
pub(crate) mod fork;
pub(crate) mod graph;
pub(crate) mod import;
mod leave_behind;
pub(crate) mod log;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod memory;
mod output_args;
pub(crate) mod pin;
mod planning;
pub(crate) mod prepare;
pub(crate) mod prompt;
pub(crate) mod redact;
mod removal_report;
pub(crate) mod render;
pub(crate) mod repair;
pub(crate) mod restore;
pub(crate) mod retain;
pub(crate) mod rewind;
pub(crate) mod schema;
pub(crate) mod search;
pub(crate) mod serve;
pub(crate) mod show;
pub(crate) mod spill;
pub(crate) mod streams;
pub(crate) mod tokens;
pub(crate) mod trajectory;
pub(crate) mod ui;
pub(crate) mod upgrade;
pub(crate) mod vacuum;
pub(crate) mod verify;
pub(crate) mod watch;
mod workspace;

use std::collections::HashMap;
use std::sync::Arc;

use context_runtime::transcript::{SourceError, TranscriptSource};
use context_runtime::workspace::Restored;
use context_runtime::{
    BranchName, ChatRef, ContextEngine, Error, Json, MessageId, Metadata, Moved, Store, UserId,
    WrittenIn, limits,
    store::{
        Branch, ChainEnd, Chat, ChatQuery, ChatSummary, Checkpoint, HistoryStore, Maintenance,
        Node, NodeKind, PageWalk, PlacedNode,
    },
};
use schemars::JsonSchema;
use serde::Serialize;

use self::workspace::{RestoredRecord, WorkspaceArgs, report_files};
use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::output::{Output, Style};
use crate::text::{clean, short_id};

/// Returns the chat, which must exist.
async fn existing_chat(history: &dyn HistoryStore, chat: &ChatRef) -> Result<Chat, Failure> {
    let found = history.chat(chat).await?;
    Ok(found
        .ok_or_else(|| Error::not_found("find", "chat", &chat.chat).with("user", &chat.user))?)
}

/// Returns the file that a chat was imported from, if it was imported.
fn source_of(chat: &str, metadata: &Metadata) -> Result<Option<TranscriptSource>, Failure> {
    TranscriptSource::of(metadata).map_err(|error| {
        let chat = chat.to_owned();
        match error {
            SourceError::NewerVersion { version, .. } => Failure::NewerSource { chat, version },
            source => Failure::Source { chat, source },
        }
    })
}

/// Returns all messages of a chat, parents first.
async fn all_messages(
    history: &dyn HistoryStore,
    chat: &ChatRef,
) -> Result<Vec<PlacedNode>, Failure> {
    let read = |after: Option<_>| async move {
        history.all_messages(chat, limits::MAX_PAGE, after.as_ref()).await
    };
    Ok(PageWalk::new("all_messages", "message").collect(read).await?)
}

/// Returns all chats of the user, most recent activity first.
async fn all_chats(app: &App, history: &dyn HistoryStore) -> Result<Vec<ChatSummary>, Failure> {
    all_chats_of(&app.user, history).await
}

/// Returns all chats of a user, most recent activity first.
async fn all_chats_of(
    user: &UserId,
    history: &dyn HistoryStore,
) -> Result<Vec<ChatSummary>, Failure> {
    let read = |after| async move {
        let query = ChatQuery { limit: limits::MAX_PAGE, after, ..ChatQuery::new(user.clone()) };
        history.list_chats(&query).await
    };
    Ok(PageWalk::new("list_chats", "chat").collect(read).await?)
}

/// Returns all users of a store.
async fn all_users(maintenance: &dyn Maintenance) -> Result<Vec<UserId>, Error> {
    let read =
        |after: Option<_>| async move { maintenance.users(limits::MAX_PAGE, after.as_ref()).await };
    PageWalk::new("users", "user").collect(read).await
}

/// Returns the message with this id, or the only message whose id starts or ends with this text.
async fn find_message(
    history: &dyn HistoryStore,
    chat: &ChatRef,
    text: &str,
) -> Result<PlacedNode, Failure> {
    let exact = [MessageId::from(text)];
    if let Some(Some(placed)) = history.messages(chat, &exact).await?.into_iter().next() {
        return Ok(placed);
    }
    let part = text.trim_start_matches('…');
    let fits = |id: &str| !part.is_empty() && (id.starts_with(part) || id.ends_with(part));
    let mut found: Vec<_> = all_messages(history, chat).await?;
    found.retain(|placed| fits(placed.node.id.as_str()));
    if found.len() > 1 {
        let matches = found.iter().take(5).map(|placed| placed.node.id.to_string()).collect();
        return Err(Failure::Ambiguous { subject: "message", text: text.to_owned(), matches });
    }
    let found = found.pop();
    Ok(found
        .ok_or_else(|| Error::not_found("find", "message", text).with("in chat", &chat.chat))?)
}

/// Returns the end of the requested branch, or of the active one.
async fn branch_end(
    history: &dyn HistoryStore,
    chat: &ChatRef,
    branch: Option<&str>,
) -> Result<ChainEnd, Failure> {
    let branch = match branch {
        Some(branch) => branch.into(),
        None => existing_chat(history, chat).await?.active,
    };
    Ok(ChainEnd::Branch(branch))
}

/// Opens an engine on an existing chat.
async fn engine(app: &App, store: Arc<dyn Store>, chat: &str) -> Result<ContextEngine, Failure> {
    let builder = ContextEngine::builder(store).user(app.user.clone()).chat(chat);
    let builder = builder.clock(app.host.clone()).ids(app.host.clone());
    Ok(builder.existing().open().await?)
}

/// The branches and checkpoints at each message.
struct Marks<'a> {
    branches: HashMap<&'a MessageId, Vec<&'a Branch>>,
    checkpoints: HashMap<&'a MessageId, Vec<&'a Checkpoint>>,
}

impl<'a> Marks<'a> {
    fn new(branches: &'a [Branch], checkpoints: &'a [Checkpoint]) -> Self {
        let mut marks = Self { branches: HashMap::new(), checkpoints: HashMap::new() };
        for branch in branches {
            if let Some(head) = &branch.head {
                marks.branches.entry(head).or_default().push(branch);
            }
        }
        for checkpoint in checkpoints {
            marks.checkpoints.entry(&checkpoint.message).or_default().push(checkpoint);
        }
        marks
    }

    fn branches_at(&self, id: &MessageId) -> Vec<String> {
        self.branches.get(id).into_iter().flatten().map(|branch| branch.name.to_string()).collect()
    }

    fn checkpoints_at(&self, id: &MessageId) -> Vec<String> {
        self.checkpoints
            .get(id)
            .into_iter()
            .flatten()
            .map(|checkpoint| checkpoint.name.to_string())
            .collect()
    }

    /// Lists all of them, for example `[main*] [checkpoint: paid]`. The star marks the active
    /// branch.
    fn words(&self, id: &MessageId) -> String {
        let branches = self.branches.get(id).into_iter().flatten().map(|branch| {
            let star = if branch.active { "*" } else { "" };
            format!("[{}{star}]", clean(branch.name.as_str()))
        });
        let checkpoints = self
            .checkpoints_at(id)
            .into_iter()
            .map(|name| format!("[checkpoint: {}]", clean(&name)));
        branches.chain(checkpoints).collect::<Vec<_>>().join(" ")
    }
}

/// Fails for the first message whose body this version cannot read.
fn all_readable<'a>(chat: &str, nodes: impl IntoIterator<Item = &'a Node>) -> Result<(), Failure> {
    let messages = nodes.into_iter().filter(|node| node.kind != NodeKind::Boundary);
    for node in messages {
        node.message().map_err(|source| Failure::Unreadable {
            chat: chat.to_owned(),
            message: node.id.to_string(),
            source: Box::new(source),
        })?;
    }
    Ok(())
}

/// Returns the stored form of a node as JSON, or `None` if it is not JSON.
fn body(node: &Node) -> Option<Json> {
    let text = std::str::from_utf8(node.body().bytes()).ok()?;
    Json::from_text(text).ok()
}

/// Returns the turn and the run that wrote a message, as far as they are recorded.
fn written_in(node: &Node) -> WrittenIn {
    node.message().ok().and_then(|message| message.written_in()).unwrap_or_default()
}

/// JSON record of `fork`, `rewind`, `restore` and `branches --switch`: the branch after the
/// command.
#[derive(Serialize, JsonSchema)]
struct MovedRecord<'a> {
    v: u32,
    chat: &'a str,
    /// The new or activated branch.
    branch: &'a str,
    /// The newest message of the branch.
    head: Option<&'a str>,
    /// Whether the branch is the active one.
    active: bool,
    /// The files that went back too.
    #[serde(skip_serializing_if = "Option::is_none")]
    restored: Option<RestoredRecord<'a>>,
}

/// Reports the result of a move of the conversation, and of the files of a workspace.
fn moved_both(
    out: &mut Output,
    chat: &str,
    result: &Moved,
    workspace: &WorkspaceArgs,
) -> Result<Outcome, Failure> {
    let Moved { branch, head, restored, .. } = result;
    report_move(out, chat, branch, head.as_ref(), true, restored.as_ref())?;
    report_files(workspace, restored.as_ref(), out)
}

/// Reports the result of a move.
fn moved(
    out: &mut Output,
    chat: &str,
    branch: &BranchName,
    head: Option<&MessageId>,
    active: bool,
) -> Result<Outcome, Failure> {
    report_move(out, chat, branch, head, active, None)
}

fn report_move(
    out: &mut Output,
    chat: &str,
    branch: &BranchName,
    head: Option<&MessageId>,
    active: bool,
    restored: Option<&Restored>,
) -> Result<Outcome, Failure> {
    let branch = branch.as_str();
    if out.is_json() {
        let head = head.map(MessageId::as_str);
        let restored = restored.map(RestoredRecord::from);
        out.record(&MovedRecord { v: 1, chat, branch, head, active, restored })?;
    } else {
        let now = if active { "now on" } else { "new branch" };
        let at = head
            .map_or_else(|| "without messages".to_owned(), |head| format!("at {}", short_id(head)));
        let branch = out.paint(Style::Bold, clean(branch)).to_string();
        out.line(format_args!("{}: {now} {branch}, {at}", clean(chat)))?;
    }
    Ok(Outcome::Success)
}
