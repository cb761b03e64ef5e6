//! A consistent read of the small state of a chat, which precedes every decision except a plain
//! append.

use std::collections::HashMap;

use bytes::Bytes;
use context_core::store::{Branch, Chat, NewChat};
use context_core::{BranchName, ChatRef, Error, Metadata, Timestamp};
use redis::Value;
use serde::{Deserialize, Serialize};

use crate::error::{Fault, Result};
use crate::history::fields::{Counts, Generation, Tip, broken};
use crate::history::shape::{Piece, Shape};
use crate::reply::Reply;
use crate::scripts::LOOK;
use crate::seals;
use crate::shared::Shared;

/// Title, metadata and owner of a chat, as they are stored.
#[derive(Serialize, Deserialize)]
pub(crate) struct About {
    pub(crate) chat: ChatRef,
    title: Option<String>,
    metadata: Metadata,
    created_at: Timestamp,
}

impl About {
    pub(crate) fn of(chat: &Chat) -> Self {
        Self {
            chat: chat.chat.clone(),
            title: chat.title.clone(),
            metadata: chat.metadata.clone(),
            created_at: chat.created_at,
        }
    }

    pub(crate) fn write(&self) -> Result<Vec<u8>> {
        Ok(seals::seal("m", serde_json::to_vec(self).map_err(|_| broken())?))
    }

    pub(crate) fn read(value: &[u8]) -> Result<Self> {
        serde_json::from_slice(seals::opened("m", value)?).map_err(|_| broken())
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
pub(crate) struct Look {
    pub(crate) version: Bytes,
    pub(crate) generation: Generation,
    pub(crate) chat: Chat,
    pub(crate) shape: Shape,
    /// The list of fragments, unparsed.
    pub(crate) fragments: Option<Bytes>,
    tips: HashMap<BranchName, Tip>,
    /// The requested fields, in their order.
    pub(crate) asked: Vec<Option<Bytes>>,
}

impl Look {
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
            Ok(self.shape.branch(name, piece, tip))
        };
        self.shape.named().map(branch).collect()
    }
}

impl Shared {
    /// Reads a chat and some of its fields. Returns `None` if the chat does not exist.
    pub(crate) async fn look(&self, chat: &ChatRef, fields: &[String]) -> Result<Option<Look>> {
        let mut call = LOOK.key(self.keys.chat(chat));
        for field in fields {
            call.arg(field);
        }
        let mut reply = Reply::of(self.connection.ask::<Value>(&call).await?)?;
        if reply.is_empty() {
            return Ok(None);
        }
        let version = reply.bytes()?;
        let counts = Counts::read(&reply.bytes()?)?;
        let generation = Generation::read(&reply.bytes()?)?;
        let about = About::read(&reply.bytes()?)?;
        let shape = Shape::read(&reply.bytes()?)?;
        let fragments = reply.maybe()?;
        let mut ends = reply.list()?;
        let mut tips = HashMap::new();
        for (name, _) in shape.named() {
            let tip = ends.maybe()?.ok_or(Fault::Corrupt("a branch has no end", None))?;
            tips.insert(name.clone(), Tip::read(&tip)?);
        }
        let mut answers = reply.list()?;
        let asked = fields.iter().map(|_| answers.maybe()).collect::<Result<_>>()?;
        let chat = about.chat(shape.active.clone(), counts.updated_at);
        Ok(Some(Look { version, generation, chat, shape, fragments, tips, asked }))
    }

    /// Reads a chat and some of its fields. Returns a not-found error if the chat does not exist.
    pub(crate) async fn look_at(
        &self,
        operation: &'static str,
        chat: &ChatRef,
        fields: &[String],
    ) -> Result<Look> {
        self.look(chat, fields).await?.ok_or_else(|| absent(operation, chat))
    }
}

pub(crate) fn absent(operation: &'static str, chat: &ChatRef) -> Fault {
    Error::not_found(operation, "chat", &chat.chat).into()
}
