//! Chat-level operations: title, metadata, usage, counts, and the whole graph.

use std::sync::Arc;

use context_core::store::{Chat, ChatPatch};
use context_core::{Error, Fragment, Json, Message, MessageId, Metadata, Node, Result, Role};

use super::pending::Settle;
use super::{ContextEngine, Edits};
use crate::message_graph::MessageGraph;

/// The metadata key of the accumulated usage.
pub(super) const USAGE: &str = "usage";

impl ContextEngine {
    /// Reads the chat from the store.
    pub async fn chat(&self) -> Result<Chat> {
        let chat = self.parts.history().chat(&self.chat).await?;
        chat.ok_or_else(|| Error::not_found("chat", "chat", &self.chat.chat))
    }

    /// Changes title and metadata in one read-write transaction.
    pub async fn update_chat(&mut self, patch: &ChatPatch) -> Result<Chat> {
        self.parts.history().update_chat(&self.chat, patch, self.parts.clock.now()).await
    }

    /// Adds the usage that a model call reported to the chat's metadata, under `usage`, and returns
    /// the sum. Numbers are added at any depth. Safe with any number of concurrent engines.
    pub async fn track_usage(&mut self, usage: impl Into<Json>) -> Result<Json> {
        let patch =
            ChatPatch { add: Metadata::default().with(USAGE, usage), ..ChatPatch::default() };
        let chat = self.update_chat(&patch).await?;
        self.usage = total_usage(&chat.metadata);
        chat.metadata
            .get(USAGE)
            .cloned()
            .ok_or_else(|| Error::not_found("track_usage", "metadata", USAGE))
    }

    /// Returns how many user messages the branch has, stored and pending. Transient messages do
    /// not count.
    pub async fn turn_count(&mut self) -> Result<usize> {
        let stored = self.whole_view().await?.turns();
        let view = self.view.as_mut().expect("just read");
        let settled = self.pending.settle(view, Settle::Stored).map_err(super::resolve::refuse)?;
        let new = settled.nodes.iter().filter(|node| node.is_turn());
        Ok(stored + new.filter(|node| view.position(&node.id).is_none()).count())
    }

    /// Returns the first user message of the branch, stored or pending. Compactions since then make
    /// no difference.
    pub async fn first_user_message(&mut self) -> Result<Option<Arc<Node>>> {
        let messages = self.full_chain(Settle::Stored).await?;
        let is_shown = |node: &&Arc<Node>| node.role() == Some(Role::User) && node.is_shown();
        let first = messages.iter().find(is_shown);
        Ok(first.map(|node| self.decoded.decode(node, &self.parts.codecs)))
    }

    /// Returns the newest message: the last pending one, else the last stored one of the branch.
    /// Placeholders are included, transient messages are not.
    pub async fn head_message(&mut self) -> Result<Option<Arc<Node>>> {
        if !self.view().await?.chain().iter().any(|node| node.role().is_some()) {
            self.whole_view().await?;
        }
        let view = self.view.as_mut().expect("just read");
        let settled = self.pending.settle(view, Settle::Stored).map_err(super::resolve::refuse)?;
        let stored = || view.chain().iter().rev().find(|node| node.role().is_some());
        let head = settled.nodes.last().or_else(stored);
        Ok(head.map(|node| self.decoded.decode(node, &self.parts.codecs)))
    }

    /// Sets the next input of a turn and saves immediately.
    ///
    /// A user message is followed by an assistant placeholder, whose id is returned. Prompts leave
    /// the placeholder out until it is filled. An assistant message with that id fills the
    /// placeholder in place.
    pub async fn continue_turn(&mut self, input: Fragment) -> Result<MessageId> {
        const OPERATION: &str = "continue_turn";
        let role = input.message().map_err(super::resolve::refuse)?.map(|message| message.role);
        match role {
            Some(Role::User) => {
                let id = MessageId::from(self.parts.ids.next_id());
                let placeholder =
                    Fragment::from(Message::new(Role::Assistant, [])).with_id(id.clone());
                self.set([input, placeholder]);
                let _saved = self.save().await?;
                Ok(id)
            }
            Some(Role::Assistant) => {
                let id = input.id().cloned().map(MessageId::from).ok_or_else(|| {
                    Error::invalid(
                        OPERATION,
                        "an answer needs the id of the placeholder that it fills",
                    )
                })?;
                self.set([input]);
                let _saved = self.save_with(Edits::Amend).await?;
                Ok(id)
            }
            _ => Err(Error::invalid(
                OPERATION,
                "a turn continues with a user or an assistant message",
            )
            .with("fragment", input.name())),
        }
    }

    /// Reads the whole chat, page by page, for example to [draw](MessageGraph::draw) it.
    pub async fn graph(&self) -> Result<MessageGraph> {
        MessageGraph::read(self.parts.history(), &self.chat).await
    }
}

/// Returns the total number of tokens in the usage of a chat's metadata.
pub(super) fn total_usage(metadata: &Metadata) -> Option<u64> {
    metadata.get(USAGE).map(context_instructions::total_tokens)
}
