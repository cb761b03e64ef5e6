//! Chats and messages, encrypted on writing and decrypted on reading.

use async_trait::async_trait;
use context_core::base::{CheckpointName, limits};
use context_core::message::PlacedNode;
use context_core::store::{
    Branch, BranchDeletion, ChainEnd, Chat, ChatPatch, ChatQuery, ChatSize, ChatSummary,
    Checkpoint, Commit, CommitOutcome, Created, Cursor, HistoryStore, NewChat, OpenedChat, Page,
    PageWalk, Revision, Window,
};
use context_core::{BranchName, Chain, ChatRef, MessageId, Result, Timestamp};

use super::chats::{seal_new_chat, seal_patch};
use super::layer::Layer;

#[async_trait]
impl HistoryStore for Layer {
    async fn create_chat(&self, new: NewChat) -> Result<Created> {
        new.check()?;
        let sealer = self.sealer_to_write(&new.chat.user)?;
        let new = seal_new_chat(sealer.ring.current(), new);
        let open = |chat| sealer.open_chat("create_chat", chat);
        Ok(match self.inner.history().create_chat(new).await? {
            Created::New(chat) => Created::New(open(chat)?),
            Created::Existing(chat) => Created::Existing(open(chat)?),
        })
    }

    async fn chat(&self, chat: &ChatRef) -> Result<Option<Chat>> {
        let found = self.inner.history().chat(chat).await?;
        let sealer = self.sealer(&chat.user)?;
        found.map(|chat| sealer.open_chat("chat", chat)).transpose()
    }

    async fn list_chats(&self, query: &ChatQuery) -> Result<Page<ChatSummary>> {
        query.check()?;
        if !query.metadata.is_empty() {
            return self.list_matching(query).await;
        }
        let Page { items, next } = self.inner.history().list_chats(query).await?;
        let sealer = self.sealer(&query.user)?;
        let items: Result<_> =
            items.into_iter().map(|summary| sealer.open_summary(summary)).collect();
        Ok(Page { items: items?, next })
    }

    async fn update_chat(&self, chat: &ChatRef, patch: &ChatPatch, at: Timestamp) -> Result<Chat> {
        // Rejects a patch that exceeds the limits before encryption, with the same error as the
        // backend.
        let mut blank = Chat::new(NewChat::new(chat.clone(), at));
        patch.apply(&mut blank)?;
        let _writing = self.writing(chat).await;
        let patch = self.settled("update_chat", chat, patch).await?;
        let sealer = self.sealer_to_write(&chat.user)?;
        let patch = seal_patch(sealer.ring.current(), chat, &patch);
        let chat = self.inner.history().update_chat(chat, &patch, at).await?;
        sealer.open_chat("update_chat", chat)
    }

    async fn delete_chat(&self, chat: &ChatRef, idle_since: Option<Timestamp>) -> Result<bool> {
        self.inner.history().delete_chat(chat, idle_since).await
    }

    async fn chat_size(&self, chat: &ChatRef) -> Result<ChatSize> {
        self.inner.history().chat_size(chat).await
    }

    async fn commit(&self, commit: Commit) -> Result<CommitOutcome> {
        self.sealed_commit(commit).await
    }

    async fn branches(&self, chat: &ChatRef) -> Result<Vec<Branch>> {
        self.inner.history().branches(chat).await
    }

    async fn activate_branch(
        &self,
        chat: &ChatRef,
        branch: &BranchName,
        at: Timestamp,
    ) -> Result<()> {
        self.inner.history().activate_branch(chat, branch, at).await
    }

    async fn rename_branch(
        &self,
        chat: &ChatRef,
        branch: &BranchName,
        to: &BranchName,
        at: Timestamp,
    ) -> Result<()> {
        self.inner.history().rename_branch(chat, branch, to, at).await
    }

    async fn delete_branch(
        &self,
        chat: &ChatRef,
        branch: &BranchName,
        expected: Option<&MessageId>,
        at: Timestamp,
    ) -> Result<BranchDeletion> {
        self.inner.history().delete_branch(chat, branch, expected, at).await
    }

    async fn set_checkpoint(
        &self,
        chat: &ChatRef,
        name: &CheckpointName,
        message: &MessageId,
        at: Timestamp,
    ) -> Result<Checkpoint> {
        self.inner.history().set_checkpoint(chat, name, message, at).await
    }

    async fn checkpoints(&self, chat: &ChatRef) -> Result<Vec<Checkpoint>> {
        self.inner.history().checkpoints(chat).await
    }

    async fn delete_checkpoint(
        &self,
        chat: &ChatRef,
        name: &CheckpointName,
        at: Timestamp,
    ) -> Result<bool> {
        self.inner.history().delete_checkpoint(chat, name, at).await
    }

    async fn chain(&self, chat: &ChatRef, end: &ChainEnd, window: &Window) -> Result<Chain> {
        self.open_chain(chat, &self.inner.history().chain(chat, end, window).await?)
    }

    async fn messages(&self, chat: &ChatRef, ids: &[MessageId]) -> Result<Vec<Option<PlacedNode>>> {
        let found = self.inner.history().messages(chat, ids).await?;
        let sealer = self.sealer(&chat.user)?;
        let open = |placed| sealer.open_placed("messages", chat, placed);
        found.into_iter().map(|placed| placed.map(open).transpose()).collect()
    }

    async fn all_messages(
        &self,
        chat: &ChatRef,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<PlacedNode>> {
        let Page { items, next } = self.inner.history().all_messages(chat, limit, after).await?;
        let sealer = self.sealer(&chat.user)?;
        let open = |placed| sealer.open_placed("all_messages", chat, placed);
        let items: Result<_> = items.into_iter().map(open).collect();
        Ok(Page { items: items?, next })
    }

    async fn revisions(&self, chat: &ChatRef, message: &MessageId) -> Result<Vec<Revision>> {
        let found = self.inner.history().revisions(chat, message).await?;
        let sealer = self.sealer(&chat.user)?;
        found.into_iter().map(|revision| sealer.open_revision(chat, revision)).collect()
    }
}

impl Layer {
    fn open_chain(&self, chat: &ChatRef, sealed: &Chain) -> Result<Chain> {
        let sealer = self.sealer(&chat.user)?;
        let nodes: Result<Vec<_>> =
            sealed.iter().map(|node| sealer.open_node("chain", chat, node)).collect();
        Ok(Chain::from_nodes(sealed.skipped(), nodes?).with_generation(sealed.generation()))
    }

    /// Decrypts what was read of a chat.
    pub(super) fn opened(&self, sealed: OpenedChat) -> Result<OpenedChat> {
        let chain = self.open_chain(&sealed.chat.chat, &sealed.chain)?;
        let fragments = self.open_fragments(&sealed.chat.chat, &sealed.fragments)?;
        let sealer = self.sealer(&sealed.chat.chat.user)?;
        let chat = sealer.open_chat("open_chat", sealed.chat)?;
        Ok(OpenedChat::new(chat, fragments, chain))
    }

    /// Returns a page of chats that match the filters, which only this layer can evaluate.
    ///
    /// The cursor is one of the backend after the last chat on the page. If a backend's page has
    /// more matching chats than requested, it is read again with a smaller limit.
    async fn list_matching(&self, query: &ChatQuery) -> Result<Page<ChatSummary>> {
        let (history, sealer) = (self.inner.history(), self.sealer(&query.user)?);
        let mut asked =
            ChatQuery { metadata: Vec::new(), limit: limits::MAX_PAGE, ..query.clone() };
        let mut items = Vec::new();
        let mut walk = PageWalk::new("list_chats", "chat");
        loop {
            let page = history.list_chats(&asked).await?;
            let next = walk.next(&page)?;
            let mut fitting = Vec::new();
            for (position, summary) in page.items.into_iter().enumerate() {
                let summary = sealer.open_summary(summary)?;
                if query.matches(&summary.chat) {
                    fitting.push((position, summary));
                }
            }
            let wanted = query.limit - items.len();
            if wanted == 0 && !fitting.is_empty() {
                return Ok(Page { items, next: asked.after });
            }
            if fitting.len() > wanted {
                asked.limit = fitting[wanted - 1].0 + 1;
                continue;
            }
            items.extend(fitting.into_iter().map(|(_, summary)| summary));
            asked.limit = limits::MAX_PAGE;
            asked.after = next;
            if asked.after.is_none() {
                return Ok(Page { items, next: None });
            }
        }
    }
}
