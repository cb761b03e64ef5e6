//! Chats: messages, branches, checkpoints, blobs.

use std::sync::Arc;

use context_runtime::store::{Branch, ChainEnd, ChatPatch, SearchScope, TitleChange, Window};
use context_runtime::{
    BranchName, Error, ErrorKind, GraphFormat, MessageId, Metadata, Moved, Result, SaveOutcome,
    Saved, SystemClock,
};
use pyo3::prelude::*;
use serde::Serialize;

use crate::json::{JsonArgument, Reply};
use crate::message_form::{GivenMessage, stored};
use crate::prepare::Preparation;
use crate::slot::Slot;
use crate::store::{chat_object, search};

mod commit;
mod compact;
mod items;

/// Adds the classes to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Chat>()?;
    module.add_class::<AsyncChat>()
}

/// A chat of a user, on one of its branches.
pub(crate) struct ChatOperations {
    pub(crate) slot: Slot,
}

/// The place of a chat after a write.
#[derive(Serialize)]
struct Position<'a> {
    branch: &'a BranchName,
    head: Option<&'a MessageId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<&'static str>,
}

impl<'a> From<&'a Moved> for Position<'a> {
    fn from(moved: &'a Moved) -> Self {
        Self { branch: &moved.branch, head: moved.head.as_ref(), outcome: None }
    }
}

impl<'a> From<&'a Saved> for Position<'a> {
    fn from(saved: &'a Saved) -> Self {
        let outcome = match saved.outcome {
            SaveOutcome::Unchanged => "unchanged",
            SaveOutcome::Edited { .. } => "edited",
            SaveOutcome::Grafted { .. } => "grafted",
            SaveOutcome::Forked { .. } => "forked",
            _ => "saved",
        };
        Self { branch: &saved.branch, head: saved.head.as_ref(), outcome: Some(outcome) }
    }
}

impl ChatOperations {
    async fn about(&self) -> Result<Reply> {
        let Slot { store, chat, .. } = &self.slot;
        let found = store.history().chat(chat).await?;
        Reply::json(&found.ok_or_else(|| Error::not_found("chat", "chat", &chat.chat))?)
    }

    async fn update(
        &self,
        title: Option<String>,
        set: Option<JsonArgument>,
        remove: Option<Vec<String>>,
    ) -> Result<Reply> {
        const OPERATION: &str = "update";
        let patch = ChatPatch {
            title: title.map_or(TitleChange::Keep, TitleChange::Set),
            set: set.map(|set| set.parse(OPERATION)).transpose()?.unwrap_or_default(),
            remove: remove.unwrap_or_default(),
            ..ChatPatch::default()
        };
        let Slot { store, chat, .. } = &self.slot;
        let now = context_runtime::Clock::now(&SystemClock);
        Reply::json(&store.history().update_chat(chat, &patch, now).await?)
    }

    async fn branch(&self) -> Result<Reply> {
        Reply::json(&self.slot.branch().await)
    }

    async fn append(&self, messages: JsonArgument) -> Result<Reply> {
        let messages: Vec<GivenMessage> = messages.parse("append")?;
        let mut lent = self.slot.engine().await?;
        lent.engine.set(messages.into_iter().map(GivenMessage::into_fragment));
        let saved = lent.engine.save().await?;
        lent.give_back();
        Reply::json(&Position::from(&saved))
    }

    /// The end of a branch, or of the one that the handle is on.
    async fn end(&self, branch: Option<String>) -> Result<ChainEnd> {
        Ok(ChainEnd::Branch(match branch {
            Some(branch) => branch.into(),
            None => self.slot.branch().await,
        }))
    }

    async fn messages(&self, branch: Option<String>, last: Option<usize>) -> Result<Reply> {
        let window = last.map_or(Window::Whole, Window::Last);
        let end = self.end(branch).await?;
        let chain = self.slot.store.history().chain(&self.slot.chat, &end, &window).await?;
        Reply::json(&chain.iter().filter_map(|node| stored(node)).collect::<Vec<_>>())
    }

    async fn page(
        &self,
        limit: usize,
        before: Option<String>,
        branch: Option<String>,
    ) -> Result<Reply> {
        #[derive(Serialize)]
        struct MessagePage<T> {
            messages: Vec<T>,
            /// The message before which the next page ends. `None` on the last page.
            next: Option<MessageId>,
        }
        if limit == 0 {
            return Err(Error::invalid("page", "a page has at least one message"));
        }
        let (end, skip) = match before {
            Some(before) => (ChainEnd::Message(before.into()), 1),
            None => (self.end(branch).await?, 0),
        };
        let window = Window::Last(limit.saturating_add(skip));
        let chain = self.slot.store.history().chain(&self.slot.chat, &end, &window).await?;
        let nodes: Vec<_> = chain.iter().take(chain.len().saturating_sub(skip)).collect();
        let oldest = nodes.first().map(|node| node.id.clone());
        Reply::json(&MessagePage {
            messages: nodes.iter().filter_map(|node| stored(node)).collect(),
            next: oldest.filter(|_| chain.skipped() > 0),
        })
    }

    async fn message(&self, id: String) -> Result<Reply> {
        let ids = [MessageId::from(id)];
        let found = self.slot.store.history().messages(&self.slot.chat, &ids).await?;
        let found = found.into_iter().next().flatten();
        let placed = found.ok_or_else(|| Error::not_found("message", "message", &ids[0]))?;
        Reply::json(&stored(&placed.node))
    }

    async fn branches(&self, prefix: Option<String>) -> Result<Reply> {
        let mut found = self.slot.store.history().branches(&self.slot.chat).await?;
        if let Some(prefix) = prefix {
            found.retain(|branch: &Branch| branch.name.as_str().starts_with(&prefix));
        }
        Reply::json(&found)
    }

    async fn checkpoints(&self) -> Result<Reply> {
        Reply::json(&self.slot.store.history().checkpoints(&self.slot.chat).await?)
    }

    async fn fork(&self, chat: Option<String>, at: Option<String>) -> Result<Reply> {
        let mut lent = self.slot.engine().await?;
        let reply = match (chat, at) {
            (None, None) => {
                let moved = lent.engine.fork_here().await?;
                Reply::json(&Position::from(&moved))?
            }
            (None, Some(_)) => {
                return Err(Error::invalid("fork", "`at` needs `chat`: use `rewind` in a chat"));
            }
            (Some(chat), at) => {
                let forked = match at {
                    Some(at) => lent.engine.fork_at(chat, &at.into()).await?,
                    None => lent.engine.fork(chat).await?,
                };
                let reference = forked.chat_ref().clone();
                let store = Arc::clone(&self.slot.store);
                chat_object(Slot::open(store, reference, None, true, Metadata::default()).await?)
            }
        };
        lent.give_back();
        Ok(reply)
    }

    async fn rewind(&self, message: String) -> Result<Reply> {
        let mut lent = self.slot.engine().await?;
        let moved = lent.engine.rewind(&message.into()).await?;
        lent.give_back();
        Reply::json(&Position::from(&moved))
    }

    async fn switch(&self, branch: String) -> Result<Reply> {
        let mut lent = self.slot.engine().await?;
        let moved = lent.engine.switch_branch(branch).await?;
        lent.give_back();
        Reply::json(&Position::from(&moved))
    }

    async fn delete_branch(&self, branch: String) -> Result<Reply> {
        let mut lent = self.slot.engine().await?;
        let messages = lent.engine.delete_branch(&branch.into()).await?;
        lent.give_back();
        Reply::json(&messages)
    }

    async fn checkpoint(&self, name: String) -> Result<Reply> {
        let mut lent = self.slot.engine().await?;
        let checkpoint = lent.engine.checkpoint(name).await?;
        lent.give_back();
        Reply::json(&checkpoint)
    }

    async fn restore(&self, name: String) -> Result<Reply> {
        let mut lent = self.slot.engine().await?;
        let moved = lent.engine.restore(name).await?;
        lent.give_back();
        Reply::json(&Position::from(&moved))
    }

    async fn graph(&self, format: String) -> Result<Reply> {
        let format: GraphFormat = format
            .parse()
            .map_err(|error| Error::new(ErrorKind::Unsupported, "graph", format!("{error}")))?;
        let lent = self.slot.engine().await?;
        let graph = lent.engine.graph().await?;
        lent.give_back();
        Reply::json(&graph.draw(format))
    }

    async fn search(
        &self,
        text: String,
        limit: usize,
        after: Option<String>,
        prefix: bool,
    ) -> Result<Reply> {
        let Slot { store, chat, .. } = &self.slot;
        let scope = SearchScope::Chat(chat.chat.clone());
        search(&**store, chat.user.clone(), scope, text, limit, after, prefix).await
    }

    async fn prepare(
        &self,
        provider: String,
        model: String,
        window: Option<u64>,
        max_output_tokens: Option<u64>,
        policies: Option<Vec<String>>,
        system: Option<String>,
        tools: Option<JsonArgument>,
    ) -> Result<Reply> {
        let preparation =
            Preparation { provider, model, window, max_output_tokens, policies, system, tools };
        preparation.prepare(&self.slot).await
    }
}

faces! {
    ChatOperations => Chat, AsyncChat;
    both {
        /// The owner of the chat.
        #[getter]
        fn user(&self) -> &str {
            self.operations.slot.chat.user.as_str()
        }

        /// The id of the chat.
        #[getter]
        fn id(&self) -> &str {
            self.operations.slot.chat.chat.as_str()
        }

        fn __repr__(&self) -> String {
            format!("<chat {:?}>", self.operations.slot.chat.chat.as_str())
        }
    }
    blocking {
        /// The same chat for asyncio.
        fn to_async(&self) -> AsyncChat {
            AsyncChat { operations: Arc::clone(&self.operations) }
        }
    }
    asyncio {
        /// The same chat for blocking code.
        fn to_blocking(&self) -> Chat {
            Chat { operations: Arc::clone(&self.operations) }
        }
    }

    /// Returns title, metadata, active branch and times.
    fn about();

    /// Changes title and metadata.
    #[pyo3(signature = (*, title=None, set=None, remove=None))]
    fn update(title: Option<String>, set: Option<JsonArgument>, remove: Option<Vec<String>>);

    /// Returns the name of the branch that the handle is on.
    fn branch();

    /// Appends messages in one commit.
    fn append(messages: JsonArgument);

    /// Returns the messages of a branch, oldest first.
    #[pyo3(signature = (*, branch=None, last=None))]
    fn messages(branch: Option<String>, last: Option<usize>);

    /// Returns a page of messages, the newest page first.
    #[pyo3(signature = (*, limit=100, before=None, branch=None))]
    fn page(limit: usize, before: Option<String>, branch: Option<String>);

    /// Returns a message by id, from any branch.
    fn message(id: String);

    /// Lists the branches, in the order of their creation.
    #[pyo3(signature = (*, prefix=None))]
    fn branches(prefix: Option<String>);

    /// Lists the checkpoints, by name.
    fn checkpoints();

    /// Makes a branch at the head, or a new chat with the messages of this branch.
    #[pyo3(signature = (chat=None, *, at=None))]
    fn fork(chat: Option<String>, at: Option<String>);

    /// Goes back to a message, on a new branch.
    fn rewind(message: String);

    /// Moves to a branch and makes it the active one.
    fn switch(branch: String);

    /// Deletes a branch with the messages that only it reaches.
    fn delete_branch(branch: String);

    /// Names the head of the branch.
    fn checkpoint(name: String);

    /// Goes back to a checkpoint, on a new branch.
    fn restore(name: String);

    /// Draws the tree of messages: `text`, `mermaid` or `dot`.
    #[pyo3(signature = (format="text".to_owned()))]
    fn graph(format: String);

    /// Searches the messages of all branches.
    #[pyo3(signature = (text, *, limit=20, after=None, prefix=false))]
    fn search(text: String, limit: usize, after: Option<String>, prefix: bool);

    /// Prepares the request body of a model call.
    #[pyo3(signature = (
        provider, model, *, window=None, max_output_tokens=None, policies=None, system=None,
        tools=None
    ))]
    fn prepare(
        provider: String,
        model: String,
        window: Option<u64>,
        max_output_tokens: Option<u64>,
        policies: Option<Vec<String>>,
        system: Option<String>,
        tools: Option<JsonArgument>,
    );

    /// Cuts the history that a model is shown, by a boundary that can be undone.
    #[pyo3(signature = (model, *, window=None, policies=None))]
    fn compact(model: String, window: Option<u64>, policies: Option<Vec<String>>);

    /// Undoes the newest compaction, and returns its boundary or `None`.
    fn undo_compaction();

    /// Writes one commit: the layer below `append`, for programs that keep trees of their own.
    #[pyo3(signature = (messages, *, branch, expected=None, at=None, create=false,
        next_version=false, activate=false))]
    fn commit(
        messages: JsonArgument,
        branch: String,
        expected: Option<String>,
        at: Option<String>,
        create: bool,
        next_version: bool,
        activate: bool,
    );

    /// Appends items of OpenAI's Responses API, each as a message.
    fn append_items(items: JsonArgument);

    /// Returns the newest items of a branch, oldest first, as they were appended.
    #[pyo3(signature = (*, last=None, branch=None))]
    fn items(last: Option<usize>, branch: Option<String>);

    /// Removes the newest item and returns it, or `None` if there is none.
    fn pop_item();

    /// Deletes a branch if its head is the expected one.
    #[pyo3(signature = (branch, expected=None))]
    fn remove_branch(branch: String, expected: Option<String>);

    /// Returns the messages up to one message of any branch, oldest first.
    fn path(message: String);

    /// Returns messages by id, from any branch: `None` for one that is not stored.
    fn lookup(ids: Vec<String>);

    /// Replaces the content of stored messages, whose old content is destroyed.
    fn replace(messages: JsonArgument);

    /// Returns which of these messages are stored.
    fn known(ids: Vec<String>);

    /// Stores bytes under their hash, and returns their name.
    #[pyo3(signature = (data, *, media_type=None))]
    fn put_blob(data: Vec<u8>, media_type: Option<String>);

    /// Returns the bytes of a blob, or `None`.
    fn blob(id: String);

    /// Removes blobs of the chat, or those among them that were last used before a time.
    #[pyo3(signature = (ids, *, unused_since=None))]
    fn remove_blobs(ids: Vec<String>, unused_since: Option<i64>);
}
