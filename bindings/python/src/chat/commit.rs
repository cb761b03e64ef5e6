//! The layer below `append`: single commits and blobs.

use std::sync::Arc;

use context_runtime::store::{
    BlobId, BlobStore, BranchDeletion, ChainEnd, Commit, CommitOutcome, ForkName, NewBlob, Node,
    Target, Window,
};
use context_runtime::{
    Clock, Error, ErrorKind, IdGenerator, MessageId, Result, SystemClock, Uuid7Ids,
};
use serde::Serialize;

use super::ChatOperations;
use crate::json::{JsonArgument, Reply};
use crate::message_form::{GivenMessage, stored};
use crate::slot::Slot;
use crate::store::missing;

/// The outcome of a commit.
#[derive(Serialize)]
struct Outcome {
    outcome: &'static str,
    branch: Option<String>,
    /// The head of the branch: the new one, or the one that the commit did not expect.
    head: Option<MessageId>,
    /// Ids that the chat uses for something else.
    taken: Vec<MessageId>,
}

impl Outcome {
    fn new(outcome: &'static str) -> Self {
        Self { outcome, branch: None, head: None, taken: Vec::new() }
    }
}

impl ChatOperations {
    pub(super) async fn commit(
        &self,
        messages: JsonArgument,
        branch: String,
        expected: Option<String>,
        at: Option<String>,
        create: bool,
        next_version: bool,
        activate: bool,
    ) -> Result<Reply> {
        let messages: Vec<GivenMessage> = messages.parse("commit")?;
        let now = SystemClock.now();
        let node = |mut message: GivenMessage| {
            let id = message.id.take().unwrap_or_else(|| Uuid7Ids.next_id());
            Arc::new(Node::new(id, message.into_message(), now))
        };
        let nodes = messages.into_iter().map(node).collect();
        let target = match create {
            false => {
                Target::Extend { branch: branch.into(), expected: expected.map(MessageId::from) }
            }
            true => Target::Fork {
                name: match next_version {
                    true => ForkName::NextVersionOf(branch.into()),
                    false => ForkName::Exact(branch.into()),
                },
                at: at.map(MessageId::from),
                activate,
            },
        };
        let Slot { store, chat, .. } = &self.slot;
        let commit = Commit { nodes, ..Commit::new(chat.clone(), target, now) };
        let outcome = match store.history().commit(commit).await? {
            CommitOutcome::Applied(done) => Outcome {
                branch: done.branch.map(|branch| branch.to_string()),
                head: done.head,
                ..Outcome::new("applied")
            },
            CommitOutcome::Replayed(done) => Outcome {
                branch: done.branch.map(|branch| branch.to_string()),
                head: done.head,
                ..Outcome::new("replayed")
            },
            CommitOutcome::Conflict { actual } => {
                Outcome { head: actual, ..Outcome::new("conflict") }
            }
            CommitOutcome::Exists { ids } => Outcome { taken: ids, ..Outcome::new("exists") },
            _ => {
                let text = "the store returned an unknown outcome";
                return Err(Error::new(ErrorKind::Bug, "commit", text));
            }
        };
        Reply::json(&outcome)
    }

    pub(super) async fn remove_branch(
        &self,
        branch: String,
        expected: Option<String>,
    ) -> Result<Reply> {
        let Slot { store, chat, .. } = &self.slot;
        let expected = expected.map(MessageId::from);
        let now = SystemClock.now();
        let deleted =
            store.history().delete_branch(chat, &branch.into(), expected.as_ref(), now).await?;
        Reply::json(&matches!(deleted, BranchDeletion::Deleted { .. }))
    }

    pub(super) async fn path(&self, message: String) -> Result<Reply> {
        let Slot { store, chat, .. } = &self.slot;
        let end = ChainEnd::Message(message.into());
        let chain = store.history().chain(chat, &end, &Window::Whole).await?;
        Reply::json(&chain.iter().filter_map(|node| stored(node)).collect::<Vec<_>>())
    }

    pub(super) async fn lookup(&self, ids: Vec<String>) -> Result<Reply> {
        let Slot { store, chat, .. } = &self.slot;
        let ids: Vec<_> = ids.into_iter().map(MessageId::from).collect();
        let found = store.history().messages(chat, &ids).await?;
        let forms = found.iter().map(|placed| placed.as_ref().and_then(|at| stored(&at.node)));
        Reply::json(&forms.collect::<Vec<_>>())
    }

    pub(super) async fn replace(&self, messages: JsonArgument) -> Result<Reply> {
        const OPERATION: &str = "replace";
        let messages: Vec<GivenMessage> = messages.parse(OPERATION)?;
        let now = SystemClock.now();
        let node = |mut message: GivenMessage| {
            let id = message.id.take();
            let id = id.ok_or_else(|| Error::invalid(OPERATION, "a message has no id"))?;
            Ok(Arc::new(Node::new(id, message.into_message(), now)))
        };
        let redactions = messages.into_iter().map(node).collect::<Result<_>>()?;
        let Slot { store, chat, .. } = &self.slot;
        let mut commit = Commit { redactions, ..Commit::new(chat.clone(), Target::Stay, now) };
        commit.key = Some(Uuid7Ids.next_id().into());
        store.history().commit(commit).await?.committed().ok_or_else(|| {
            Error::new(ErrorKind::Bug, OPERATION, "a commit without a branch met a conflict")
        })?;
        Ok(Reply::none())
    }

    pub(super) async fn known(&self, ids: Vec<String>) -> Result<Reply> {
        let Slot { store, chat, .. } = &self.slot;
        let ids: Vec<_> = ids.into_iter().map(MessageId::from).collect();
        let found = store.history().messages(chat, &ids).await?;
        Reply::json(&found.iter().map(Option::is_some).collect::<Vec<_>>())
    }

    fn blobs(&self) -> Result<&dyn BlobStore> {
        let store = &*self.slot.store;
        store.blobs().ok_or_else(|| missing(store, "blobs"))
    }

    pub(super) async fn put_blob(
        &self,
        data: Vec<u8>,
        media_type: Option<String>,
    ) -> Result<Reply> {
        let mut blob = NewBlob::new(data, SystemClock.now());
        blob.media_type = media_type;
        let blob = self.blobs()?.put_blob(&self.slot.chat, blob).await?;
        Reply::json(&blob.id.to_string())
    }

    pub(super) async fn blob(&self, id: String) -> Result<Reply> {
        let id = blob_id(&id)?;
        let bytes = self.blobs()?.read_blob(&self.slot.chat, &id, 0..u64::MAX, None).await?;
        Ok(Reply::Bytes(bytes.map(Vec::from)))
    }

    pub(super) async fn remove_blobs(
        &self,
        ids: Vec<String>,
        unused_since: Option<i64>,
    ) -> Result<Reply> {
        let (blobs, chat) = (self.blobs()?, &self.slot.chat);
        for id in ids {
            let id = blob_id(&id)?;
            if let Some(since) = unused_since {
                let found = blobs.blob(chat, &id).await?;
                if found.is_some_and(|blob| blob.used_at.as_micros() >= since) {
                    continue;
                }
            }
            blobs.remove_blob(chat, &id).await?;
        }
        Ok(Reply::none())
    }
}

fn blob_id(text: &str) -> Result<BlobId> {
    text.parse().map_err(|_| Error::invalid("blob", "not the name of a blob"))
}
