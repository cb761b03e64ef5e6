//! Pins: messages of a chat that no compaction removes or changes.

use std::sync::Arc;

use context_core::store::Target;
use context_core::{Error, ErrorKind, Message, MessageId, Node, Result};

use super::ContextEngine;

impl ContextEngine {
    /// Pins a saved message, which may be on any branch: no later compaction removes or changes it,
    /// nor the step that it belongs to. A message that a stored compaction left out stays left out
    /// until that compaction is undone. Returns whether the message was not pinned before.
    ///
    /// The pin is an amendment of the message's metadata: id and position stay, and the form
    /// without the pin is kept as an earlier revision. A message that is not saved yet is pinned
    /// with [`Message::pinned`].
    ///
    /// # Errors
    ///
    /// [`NotFound`](ErrorKind::NotFound) for a message that is not in the chat, and
    /// [`Invalid`](ErrorKind::Invalid) for a boundary, or a message that a codec of its own stored.
    pub async fn pin(&mut self, message: &MessageId) -> Result<bool> {
        self.set_pin("pin", message, true).await
    }

    /// Removes the pin of a saved message. Returns whether the message was pinned. The errors are
    /// those of [`pin`](Self::pin).
    pub async fn unpin(&mut self, message: &MessageId) -> Result<bool> {
        self.set_pin("unpin", message, false).await
    }

    async fn set_pin(
        &mut self,
        operation: &'static str,
        id: &MessageId,
        pinned: bool,
    ) -> Result<bool> {
        let history = self.parts.history();
        let found = history.messages(&self.chat, std::slice::from_ref(id)).await?;
        let placed = found.into_iter().flatten().next();
        let node = placed.ok_or_else(|| Error::not_found(operation, "message", id))?.node;
        if node.role().is_none() {
            return Err(
                Error::invalid(operation, "a boundary cannot be pinned").with("message", id)
            );
        }
        let message = node.message().map_err(|error| {
            Error::invalid(operation, "the message is stored in a form that cannot be pinned")
                .with("message", id)
                .with_source(error)
        })?;
        if message.is_pinned() == pinned {
            return Ok(false);
        }
        let message = Message::clone(message);
        let message = if pinned { message.pinned() } else { message.unpinned() };
        if message.is_pinned() != pinned {
            let text = "a message that a compaction wrote cannot be pinned";
            return Err(Error::invalid(operation, text).with("message", id));
        }
        let node = Arc::new(Node::new(id.clone(), message, node.created_at));
        let mut commit = self.new_commit(Target::Stay);
        commit.amendments = vec![Arc::clone(&node)];
        commit.key = self.parts.fresh_key();
        let outcome = self.parts.history().commit(commit).await?;
        outcome.committed().ok_or_else(|| {
            Error::new(ErrorKind::Bug, operation, "an amendment of a stored message met a conflict")
        })?;
        if let Some(view) = &mut self.view {
            view.amend(&node);
            view.amended();
        }
        self.share();
        Ok(true)
    }
}
