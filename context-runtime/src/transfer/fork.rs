//! Writing one path of a chat as a new chat.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use context_core::base::BlobId;
use context_core::store::{Branch, Chat, Checkpoint};
use context_core::{BranchName, Chain, ChatRef, Error, MessageId, Node, Result, Store};

use super::record::{BlobRecord, ChatMessageRecord, ChatRecord};
use super::writer::{ChatWriter, WrittenChat};
use crate::removal::blobs_in;

/// Writes the new chat of a fork: the nodes of `path` with their revisions, on one branch, the
/// checkpoints that point to them, the persisted fragments of `chat`, and the blobs that these
/// name. A new chat that fails is deleted; an incomplete one of a process that ended is written
/// again.
///
/// Returns [`ErrorKind::Invalid`](context_core::ErrorKind::Invalid) if the new chat exists.
pub(crate) async fn write_fork(
    store: &dyn Store,
    chat: &ChatRef,
    path: &Chain,
    new: &Chat,
) -> Result<WrittenChat> {
    // A source that is incomplete itself must not be deleted for its own fork.
    let writer = match new.chat == *chat {
        true => None,
        false => ChatWriter::create(store, new.chat.clone(), new).await?,
    };
    let writer = writer.ok_or_else(|| {
        Error::invalid("fork", "there is a chat of this name").with("chat", &new.chat.chat)
    })?;
    let fork = Fork { store, chat, writer, blobs: HashSet::new() };
    let written = fork.write(path, new).await;
    if written.is_err() {
        store.history().delete_chat(&new.chat, None).await?;
    }
    written
}

struct Fork<'a> {
    store: &'a dyn Store,
    chat: &'a ChatRef,
    writer: ChatWriter<'a>,
    /// The blobs that were looked for.
    blobs: HashSet<BlobId>,
}

impl Fork<'_> {
    async fn write(mut self, path: &Chain, new: &Chat) -> Result<WrittenChat> {
        let (head, length) = (path.head().cloned(), path.len() as u64);
        let branch = Branch::new(BranchName::main(), head, length, true, new.created_at);
        self.writer.push(ChatRecord::Branch(branch)).await?;
        for fragment in self.store.fragments().fragments(self.chat).await? {
            self.copy_blobs(fragment.body.bytes()).await?;
            self.writer.push(ChatRecord::Fragment(fragment)).await?;
        }
        let mut checkpoints: HashMap<MessageId, Vec<Checkpoint>> = HashMap::new();
        if !path.is_empty() {
            for checkpoint in self.store.history().checkpoints(self.chat).await? {
                checkpoints.entry(checkpoint.message.clone()).or_default().push(checkpoint);
            }
        }
        let mut parent = None;
        for node in path.iter() {
            for checkpoint in checkpoints.remove(&node.id).unwrap_or_default() {
                self.writer.push(ChatRecord::Checkpoint(checkpoint)).await?;
            }
            self.copy_message(node, parent.replace(node.id.clone())).await?;
        }
        self.writer.finish().await
    }

    async fn copy_message(&mut self, node: &Arc<Node>, parent: Option<MessageId>) -> Result<()> {
        let mut revisions = Vec::new();
        if node.revision > 0 {
            revisions = self.store.history().revisions(self.chat, &node.id).await?;
            // The message may have been amended since the path was read.
            revisions.truncate(node.revision as usize);
        }
        for form in revisions.iter().map(|revision| &revision.node).chain([node]) {
            self.copy_blobs(form.body().bytes()).await?;
        }
        let record = ChatMessageRecord::new(Arc::clone(node), parent, revisions);
        self.writer.push(ChatRecord::Message(record)).await
    }

    /// Copies the blobs that a body names. Within a store, that adds a reference.
    async fn copy_blobs(&mut self, body: &[u8]) -> Result<()> {
        let Some(blobs) = self.store.blobs() else { return Ok(()) };
        for id in blobs_in(body) {
            if !self.blobs.insert(id) {
                continue;
            }
            let Some(blob) = blobs.blob(self.chat, &id).await? else { continue };
            let Some(bytes) = blobs.read_blob(self.chat, &id, 0..blob.bytes, None).await? else {
                continue;
            };
            let record = BlobRecord::new(bytes, blob.media_type, blob.created_at, blob.used_at);
            self.writer.push(ChatRecord::Blob(record)).await?;
        }
        Ok(())
    }
}
