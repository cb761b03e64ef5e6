//! A consistent read of the small state of a chat, which precedes every decision except a plain
//! append.

use std::collections::HashMap;

use bytes::Bytes;
use context_core::store::{Branch, Chat, NewChat};
use context_core::{BranchName, ChatRef, Error, Metadata, Timestamp};
use redis::Value;
use serde::{Deserialize, Serialize};

use crate::chat::fields::{ChatCounts, Generation, Tip};
use crate::chat::tree::{BranchTree, Piece};
use crate::checksums;
use crate::connections::shared::Shared;
use crate::error::{Fault, Result};
use crate::scripts::CHAT_READ;
use crate::scripts::reply::Reply;
use crate::values::unreadable;

/// Title, metadata and owner of a chat, as they are stored.
#[derive(Serialize, Deserialize)]
pub(crate) struct ChatHeader {
    pub(crate) chat: ChatRef,
    title: Option<String>,
    metadata: Metadata,
    created_at: Timestamp,
}

impl ChatHeader {
    pub(crate) fn of(chat: &Chat) -> Self {
        Self {
            chat: chat.chat.clone(),
            title: chat.title.clone(),
            metadata: chat.metadata.clone(),
            created_at: chat.created_at,
        }
    }

    pub(crate) fn write(&self) -> Result<Vec<u8>> {
        Ok(checksums::seal("m", serde_json::to_vec(self).map_err(|_| unreadable())?))
    }

    pub(crate) fn read(value: &[u8]) -> Result<Self> {
        serde_json::from_slice(checksums::opened("m", value)?).map_err(|_| unreadable())
    }

    /// Returns the chat, completed with the values of other fields.
    pub(crate) fn chat(self, active: BranchName, updated_at: Timestamp) -> Chat {
        let new = NewChat {
            title: self.title,
            metadata: self.metadata,
            ..NewChat::new(self.chat, self.created_at)
        };
        let mut chat = Chat::new(new);
        chat.active = active;
        chat.updated_at = updated_at;
        chat
    }
}

/// A chat as it was at one moment.
pub(crate) struct ChatSnapshot {
    pub(crate) version: Bytes,
    pub(crate) generation: Generation,
    pub(crate) chat: Chat,
    pub(crate) tree: BranchTree,
    /// The list of fragments, unparsed.
    pub(crate) fragments: Option<Bytes>,
    tips: HashMap<BranchName, Tip>,
    /// The requested fields, in their order.
    pub(crate) requested: Vec<Option<Bytes>>,
}

impl ChatSnapshot {
    /// Returns the end of a branch, if the branch exists.
    pub(crate) fn tip(&self, branch: &BranchName) -> Option<&Tip> {
        self.tips.get(branch)
    }

    pub(crate) fn tip_of(&self, operation: &'static str, branch: &BranchName) -> Result<&Tip> {
        self.tip(branch).ok_or_else(|| Error::not_found(operation, "branch", branch).into())
    }

    /// Returns the number of messages of a piece.
    pub(crate) fn own(&self, piece: &Piece) -> u64 {
        piece.name.as_ref().and_then(|name| self.tip(name)).map_or(piece.own, |tip| tip.own)
    }

    pub(crate) fn branches(&self) -> Result<Vec<Branch>> {
        let branch = |(name, piece)| {
            let tip = self.tip(name).ok_or(Fault::Corrupt("a branch has no end", None))?;
            Ok(self.tree.branch(name, piece, tip))
        };
        self.tree.named().map(branch).collect()
    }
}

impl Shared {
    /// Reads a chat and some of its fields. Returns a not-found error if the chat does not exist.
    pub(crate) async fn snapshot(
        &self,
        operation: &'static str,
        chat: &ChatRef,
        fields: &[String],
    ) -> Result<ChatSnapshot> {
        let mut call = CHAT_READ.key(self.keys.chat(chat));
        for field in fields {
            call.arg(field);
        }
        let mut reply = Reply::of(self.connection.ask::<Value>(&call).await?)?;
        if reply.is_empty() {
            return Err(chat_not_found(operation, chat));
        }
        let version = reply.bytes()?;
        let counts = ChatCounts::read(&reply.bytes()?)?;
        let generation = Generation::read(&reply.bytes()?)?;
        let about = ChatHeader::read(&reply.bytes()?)?;
        let tree = BranchTree::read(&reply.bytes()?)?;
        let fragments = reply.maybe()?;
        let mut ends = reply.list()?;
        let mut tips = HashMap::new();
        for (name, _) in tree.named() {
            let tip = ends.maybe()?.ok_or(Fault::Corrupt("a branch has no end", None))?;
            tips.insert(name.clone(), Tip::read(&tip)?);
        }
        let mut answers = reply.list()?;
        let requested = fields.iter().map(|_| answers.maybe()).collect::<Result<_>>()?;
        let chat = about.chat(tree.active.clone(), counts.updated_at);
        Ok(ChatSnapshot { version, generation, chat, tree, fragments, tips, requested })
    }
}

/// Returns the error for a chat that does not exist, or that belongs to another user.
pub(crate) fn chat_not_found(operation: &'static str, chat: &ChatRef) -> Fault {
    Error::not_found(operation, "chat", &chat.chat).into()
}
