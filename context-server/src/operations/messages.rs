//! Messages of a chat: stored ones page by page, and new ones.

use std::sync::Arc;
use std::time::Duration;

use context_runtime::store::{
    ChainEnd, Commit, CommitOutcome, Created, NewChat, Node, Target, Window,
};
use context_runtime::{
    BranchName, ChatRef, Error, ErrorKind, Message, MessageId, Metadata, Part, Retry, Role,
    Timestamp, limits,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Operations;
use crate::OperationError;

/// The number of messages in a page, unless the request names another.
const PAGE: usize = 100;
/// The most messages in a page.
const LARGEST_PAGE: usize = 1_000;

/// The number of times that an append is repeated after a failure that may pass.
const RETRIES: u32 = 5;
/// The wait before the first repetition. It grows by itself with each further one.
const PAUSE: Duration = Duration::from_millis(10);

/// A message as it is stored.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[non_exhaustive]
pub struct StoredMessage {
    /// The id.
    #[schema(value_type = String)]
    pub id: MessageId,
    /// The role of the author, or the kind of a node that is no message.
    pub kind: &'static str,
    /// The creation time, in microseconds since 1970.
    #[schema(value_type = i64)]
    pub created_at: Timestamp,
    /// The number of amendments.
    pub revision: u32,
    /// The content: `{"role": …, "parts": […], "metadata"?: …}` for a message.
    #[schema(value_type = HashMap<String, Value>)]
    pub body: serde_json::Value,
}

impl StoredMessage {
    /// Creates the form of a stored node.
    pub(crate) fn of(node: &Node) -> Self {
        let bytes = node.body().bytes();
        let text = || String::from_utf8_lossy(bytes).into_owned().into();
        Self {
            id: node.id.clone(),
            kind: context_runtime::display::role(node),
            created_at: node.created_at,
            revision: node.revision,
            body: serde_json::from_slice(bytes).unwrap_or_else(|_| text()),
        }
    }
}

/// A part of a branch that is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[non_exhaustive]
pub struct MessageQuery {
    /// The branch. Default: the active one.
    pub branch: Option<String>,
    /// Only messages before this one: the `earlier` of the page after it.
    pub before: Option<String>,
    /// Only messages after this one: the `head` of an earlier page.
    pub after: Option<String>,
    /// The `generation` of the page that had this head. Without it, or if stored messages have
    /// changed since, the whole branch is read to find the message.
    pub generation: Option<u64>,
    /// The most messages in the page, at most 1,000. Default: 100.
    pub limit: Option<usize>,
}

/// Consecutive messages of a branch.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[non_exhaustive]
pub struct MessagePage {
    /// The branch.
    pub branch: String,
    /// The messages, oldest first.
    pub messages: Vec<StoredMessage>,
    /// The newest message of the page, to pass as `after`. `None` if there is none.
    pub head: Option<String>,
    /// The generation of the chat, to pass with `after`.
    pub generation: u64,
    /// The message to pass as `before` for the page before. `None` on the first page.
    pub earlier: Option<String>,
    /// Whether there are newer messages than the page has.
    pub more: bool,
}

/// A message to append.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct NewMessage {
    /// The id, unique in the chat. Default: a new one.
    pub id: Option<String>,
    /// The role of the author: `system`, `user`, `assistant` or `tool`.
    #[schema(value_type = String, example = "user")]
    pub role: Role,
    /// The content of a message of one text, instead of `parts`.
    pub text: Option<String>,
    /// The content, such as `[{"type": "text", "text": "Hello"}]`. Types: `text`, `reasoning`,
    /// `tool_call`, `tool_result`, `image`, `document`, `audio`, `data`, `opaque`.
    #[serde(default)]
    #[schema(value_type = Vec<HashMap<String, Value>>)]
    pub parts: Vec<Part>,
    /// Facts of the application.
    #[serde(default)]
    #[schema(value_type = HashMap<String, Value>)]
    pub metadata: Metadata,
}

impl NewMessage {
    fn into_message(self) -> Result<(Option<String>, Message), OperationError> {
        let parts = match (self.text, self.parts) {
            (Some(text), parts) if parts.is_empty() => vec![Part::text(text)],
            (Some(_), _) => {
                return Err(OperationError::invalid("messages", "a message has text or parts"));
            }
            (None, parts) => parts,
        };
        let mut message = Message::new(self.role, parts);
        message.metadata = self.metadata;
        Ok((self.id, message))
    }
}

/// Messages to append to a branch.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct AppendMessages {
    /// The branch. Default: the active one.
    pub branch: Option<String>,
    /// The messages, oldest first. At least one.
    pub messages: Vec<NewMessage>,
}

/// The conditions of an append.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AppendConditions {
    /// The head that the branch must have: `Some(None)` for an empty branch. `None`: any.
    pub expected: Option<Option<MessageId>>,
    /// A key under which the append happens once: a repetition with the key changes nothing.
    pub key: Option<String>,
}

/// The outcome of an append.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[non_exhaustive]
pub struct AppendedMessages {
    /// The branch.
    pub branch: String,
    /// The ids of the messages, in order.
    pub ids: Vec<String>,
    /// The newest of them, which was the head of the branch when they were appended.
    pub head: String,
    /// Whether they had been appended before, by a request with the same key or ids.
    pub replayed: bool,
}

impl Operations {
    /// Returns consecutive messages of a branch: the newest, or those next to a message.
    pub async fn messages(
        &self,
        chat: &str,
        query: &MessageQuery,
    ) -> Result<MessagePage, OperationError> {
        let chat = self.checked(chat)?;
        let limit = query.limit.unwrap_or(PAGE);
        if limit == 0 || limit > LARGEST_PAGE {
            let problem = format!("a page has 1 to {LARGEST_PAGE} messages");
            return Err(OperationError::invalid("limit", problem));
        }
        let branch = match &query.branch {
            Some(branch) => BranchName::from(branch.as_str()),
            None => self.stored_chat(&chat).await?.active,
        };
        let of_branch = ChainEnd::Branch(branch.clone());
        let (chain, from, more) = match (&query.before, &query.after) {
            (Some(_), Some(_)) => {
                return Err(OperationError::invalid("before", "`after` excludes it"));
            }
            (Some(before), None) => {
                // One more, because the chain ends with the message itself.
                let end = ChainEnd::Message(MessageId::from(before.as_str()));
                let window = Window::Last(limit.saturating_add(1));
                let chain = self.history().chain(&chat, &end, &window).await?;
                let chain = chain.prefix(chain.len().saturating_sub(1));
                (chain, 0, true)
            }
            (None, Some(after)) => {
                let message = MessageId::from(after.as_str());
                let generation = query.generation.unwrap_or(u64::MAX);
                let window = Window::After { message: message.clone(), generation };
                let chain = self.history().chain(&chat, &of_branch, &window).await?;
                let from = match chain.skipped() {
                    0 => chain.position(&message).map(|at| at + 1).ok_or_else(|| {
                        Error::not_found("messages", "message", &message).with("branch", &branch)
                    })?,
                    _ => 0,
                };
                let more = chain.len().saturating_sub(from) > limit;
                (chain, from, more)
            }
            (None, None) => {
                let window = Window::Last(limit);
                (self.history().chain(&chat, &of_branch, &window).await?, 0, false)
            }
        };
        let shown = (from..chain.len()).take(limit).filter_map(|at| chain.get(at));
        let messages: Vec<_> = shown.map(|node| StoredMessage::of(node)).collect();
        let is_first = chain.skipped() + from as u64 == 0;
        let id = |message: Option<&StoredMessage>| message.map(|message| message.id.to_string());
        Ok(MessagePage {
            branch: branch.to_string(),
            head: id(messages.last()),
            generation: chain.generation(),
            earlier: id(messages.first().filter(|_| !is_first)),
            more,
            messages,
        })
    }

    /// Returns one message of a chat, on any branch.
    pub async fn message(
        &self,
        chat: &str,
        message: &str,
    ) -> Result<StoredMessage, OperationError> {
        let (chat, id) = (self.checked(chat)?, MessageId::from(message));
        let found = self.history().messages(&chat, std::slice::from_ref(&id)).await?;
        let node = found.into_iter().flatten().next();
        let node = node.ok_or_else(|| Error::not_found("message", "message", &id))?;
        Ok(StoredMessage::of(&node.node))
    }

    /// Returns the newest message of the active branch.
    pub async fn newest_message(&self, chat: &str) -> Result<MessageId, OperationError> {
        let (found, branches, _) = self.chat(chat).await?;
        let active = branches.into_iter().find(|branch| branch.name == found.active);
        let head = active.and_then(|branch| branch.head);
        Ok(head.ok_or_else(|| Error::not_found("chat", "message of", chat))?)
    }

    /// Appends messages to a branch, in one commit. A chat that does not exist is created.
    ///
    /// Without an expected head the messages follow whatever is the newest message. A repetition
    /// with the same key or the same ids changes nothing, however the branch has grown since.
    pub async fn append(
        &self,
        chat: &str,
        append: AppendMessages,
        conditions: AppendConditions,
    ) -> Result<AppendedMessages, OperationError> {
        self.check_writable()?;
        let chat = self.checked(chat)?;
        if append.messages.is_empty() {
            return Err(OperationError::invalid("messages", "there is none to append"));
        }
        let now = self.clock.now();
        let mut nodes = Vec::with_capacity(append.messages.len());
        for (at, new) in append.messages.into_iter().enumerate() {
            let (id, message) = new.into_message()?;
            let id = match (id, &conditions.key) {
                (Some(id), _) => MessageId::from(id),
                (None, Some(key)) => MessageId::from(format!("{key}-{}", at + 1)),
                (None, None) => MessageId::from(self.ids.next_id()),
            };
            nodes.push(Arc::new(Node::new(id, message, now)));
        }
        let branch = match &append.branch {
            Some(branch) => BranchName::from(branch.as_str()),
            None => self.active_branch(&chat).await?,
        };
        self.commit_messages(&chat, branch, nodes, conditions.expected).await
    }

    async fn commit_messages(
        &self,
        chat: &ChatRef,
        branch: BranchName,
        nodes: Vec<Arc<Node>>,
        fixed: Option<Option<MessageId>>,
    ) -> Result<AppendedMessages, OperationError> {
        let target = match fixed {
            // Whoever names no newest message appends to whatever it is.
            None => Target::Graft { branch: branch.clone(), seen: None },
            Some(expected) => Target::Extend { branch: branch.clone(), expected },
        };
        let ids: Vec<_> = nodes.iter().map(|node| node.id.clone()).collect();
        let appended = |replayed| AppendedMessages {
            branch: branch.to_string(),
            head: ids.last().map(ToString::to_string).unwrap_or_default(),
            ids: ids.iter().map(ToString::to_string).collect(),
            replayed,
        };
        let commit = Commit { nodes, ..Commit::new(chat.clone(), target, self.clock.now()) };
        let (mut created, mut retries) = (false, 0);
        let outcome = loop {
            match self.history().commit(commit.clone()).await {
                Ok(outcome) => break outcome,
                // Another writer may create the chat at the same time. What is missing after that
                // is the branch.
                Err(error) if error.is_not_found() && !created => {
                    self.create_missing(chat).await?;
                    created = true;
                }
                // Another process has the store's lock, for instance to recover after a crash.
                Err(error) if error.retry() == Retry::Safe && retries < RETRIES => {
                    retries += 1;
                    tokio::time::sleep(PAUSE * retries).await;
                }
                Err(error) => return Err(error.into()),
            }
        };
        match outcome {
            CommitOutcome::Applied(_) => Ok(appended(false)),
            CommitOutcome::Replayed(_) => Ok(appended(true)),
            CommitOutcome::Conflict { actual } => {
                let newest = actual.map_or_else(|| "none".to_owned(), |id| id.to_string());
                let text = "the branch has another newest message than the one expected";
                let error = Error::new(ErrorKind::Conflict, "append", text);
                Err(error.with("branch", &branch).with("newest", newest).into())
            }
            CommitOutcome::Exists { .. } if self.are_stored(chat, &commit.nodes).await? => {
                Ok(appended(true))
            }
            CommitOutcome::Exists { ids } => {
                let text = "other messages of the chat have these ids";
                let taken: Vec<_> = ids.iter().map(MessageId::as_str).collect();
                let error = Error::new(ErrorKind::Conflict, "append", text);
                Err(error.with("ids", taken.join(", ")).into())
            }
            _ => {
                let text = "the store returned an unknown outcome";
                Err(Error::new(ErrorKind::Bug, "append", text).into())
            }
        }
    }

    /// Whether all of these messages are stored, one after the other, with the same content.
    async fn are_stored(
        &self,
        chat: &ChatRef,
        nodes: &[Arc<Node>],
    ) -> Result<bool, OperationError> {
        let ids: Vec<_> = nodes.iter().map(|node| node.id.clone()).collect();
        let stored = self.history().messages(chat, &ids).await?;
        let mut before = None;
        Ok(stored.iter().zip(nodes).all(|(stored, node)| {
            let Some(stored) = stored else { return false };
            let follows = before.is_none_or(|before| stored.parent.as_ref() == Some(before));
            before = Some(&node.id);
            follows && stored.node.body().bytes() == node.body().bytes()
        }))
    }

    /// Creates a chat unless it exists.
    pub(super) async fn create_missing(&self, chat: &ChatRef) -> Result<(), OperationError> {
        let new = NewChat::new(chat.clone(), self.clock.now());
        let (Created::New(_) | Created::Existing(_)) = self.history().create_chat(new).await?;
        Ok(())
    }

    async fn active_branch(&self, chat: &ChatRef) -> Result<BranchName, OperationError> {
        let found = self.history().chat(chat).await?;
        Ok(found.map_or_else(BranchName::main, |chat| chat.active))
    }

    /// Returns the reference to a chat of the user whose id is valid.
    pub(super) fn checked(&self, chat: &str) -> Result<ChatRef, OperationError> {
        limits::check_id("chat", "chat", chat)?;
        Ok(self.chat_ref(chat))
    }
}
