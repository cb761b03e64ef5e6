//! Forking: a new chat from the history or the context of another one.

use context_core::base::limits;
use context_core::store::{Chat, NewChat};
use context_core::{BranchName, Chain, ChatId, ChatRef, Error, Json, MessageId, Metadata, Result};
use serde::{Deserialize, Serialize};

use super::builder::ContextEngineBuilder;
use super::chat::USAGE;
use super::{ContextEngine, View};
use crate::transfer::write_fork;
use crate::workspace::without_records;

/// The metadata key of the origin of a fork.
const FORKED_FROM: &str = "forked_from";

/// The origin of a chat that was [forked](ContextEngine::fork), from the metadata of the chat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ForkedFrom {
    /// The chat of the same user.
    pub chat: ChatId,
    /// Its branch.
    pub branch: BranchName,
    /// The last message that was copied. Both chats have it under this id. `None` if no message was
    /// copied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageId>,
}

impl ForkedFrom {
    /// Reads the origin of a chat. `None` if the chat is no fork.
    pub fn of(chat: &Chat) -> Option<Self> {
        chat.metadata.get(FORKED_FROM)?.parse().ok()
    }
}

impl ContextEngine {
    /// Copies the saved messages of the branch to a new chat of the same user, and returns an
    /// engine on it. This chat and engine stay as they are.
    ///
    /// The new chat has one branch, `main`, with the messages under their ids, their revisions and
    /// compactions, the checkpoints that point to them, the blobs that they name, the persisted
    /// context fragments, and title and metadata. Its metadata also name the
    /// [origin](ForkedFrom). The accumulated usage starts at zero. Streams, recorded rounds,
    /// memories and snapshots of a workspace are not copied.
    ///
    /// The engine has the settings of this one, its context fragments in the same order, so that
    /// the prompt is the same, and its reminders. Pending messages and a pending compaction stay
    /// here.
    ///
    /// Returns [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) if the new chat exists, which is
    /// not changed then. A fork that fails is deleted. What an ended process left of a fork is
    /// marked as incomplete and replaced by the next fork of this name.
    ///
    /// [`fork_here`](Self::fork_here) makes a branch instead, which copies nothing.
    ///
    /// ```
    /// use context_runtime::{ContextEngine, ForkedFrom, role, user};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = context_runtime::open("mem:").await?;
    /// let mut chat = ContextEngine::builder(store).user("ada").chat("lisbon").open().await?;
    /// chat.set([role("You book trips."), user("Two tickets.").with_id("ask")]).save().await?;
    ///
    /// let mut porto = chat.fork("porto").await?;
    /// porto.set([user("To Porto instead.")]).save().await?;
    /// assert_eq!(porto.resolve().await?.messages.len(), 2);
    /// let from = ForkedFrom::of(&porto.chat().await?).ok_or("a fork")?;
    /// assert_eq!((from.chat, from.message), ("lisbon".into(), Some("ask".into())));
    /// assert_eq!(chat.resolve().await?.messages.len(), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn fork(&mut self, new: impl Into<ChatId>) -> Result<Self> {
        let path = self.whole_view().await?.chain().clone();
        self.fork_path(new.into(), &path).await
    }

    /// Forks as [`fork`](Self::fork) does, with the messages of the branch up to this one.
    ///
    /// Returns [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if the branch has no such
    /// message.
    pub async fn fork_at(&mut self, new: impl Into<ChatId>, last: &MessageId) -> Result<Self> {
        let path =
            self.whole_view().await?.up_to(last).as_ref().map(|view| View::chain(view).clone());
        let path = path.ok_or_else(|| {
            Error::not_found("fork", "message", last).with("branch", &self.branch)
        })?;
        self.fork_path(new.into(), &path).await
    }

    /// Forks as [`fork`](Self::fork) does, without messages, title and metadata: the new chat
    /// starts with the context of this one alone.
    pub async fn fork_empty(&mut self, new: impl Into<ChatId>) -> Result<Self> {
        let new = self.new_chat(new.into(), None)?;
        self.fork_to(new, &Chain::default()).await
    }

    async fn fork_path(&mut self, new: ChatId, path: &Chain) -> Result<Self> {
        let mut new = self.new_chat(new, path.head().cloned())?;
        let source = self.chat().await?;
        new.title = source.title;
        let own = std::mem::take(&mut new.metadata);
        new.metadata = without_records(&source.metadata);
        new.metadata.remove(USAGE);
        own.iter().for_each(|(key, value)| new.metadata.insert(key, value.clone()));
        self.fork_to(new, path).await
    }

    /// Returns the new chat with its origin in its metadata.
    fn new_chat(&self, new: ChatId, message: Option<MessageId>) -> Result<Chat> {
        let chat = ChatRef::new(self.chat.user.clone(), new);
        limits::check_chat("fork", &chat)?;
        let from =
            ForkedFrom { chat: self.chat.chat.clone(), branch: self.branch.clone(), message };
        let from = Json::from_serialize(&from).map_err(|error| {
            Error::invalid("fork", "the origin has no JSON form").with_source(error)
        })?;
        let metadata = Metadata::default().with(FORKED_FROM, from);
        Ok(Chat::new(NewChat { metadata, ..NewChat::new(chat, self.parts.clock.now()) }))
    }

    async fn fork_to(&self, new: Chat, path: &Chain) -> Result<Self> {
        let written = write_fork(&*self.parts.store, &self.chat, path, &new).await?;
        let builder = ContextEngineBuilder::with_parts(self.parts.clone(), &new.chat);
        let builder = builder.freeze_prompt(self.standing.is_some());
        let mut fork = match builder.open().await {
            Ok(fork) => fork,
            Err(error) => {
                let _deleted = self.parts.history().delete_chat(&new.chat, None).await;
                return Err(error);
            }
        };
        fork.fragments = self.fragments.forked(std::mem::take(&mut fork.fragments));
        fork.loads = self.loads.clone();
        fork.reminders = self.reminders.clone();
        fork.opened_with.extend(written.diagnostics);
        Ok(fork)
    }
}
