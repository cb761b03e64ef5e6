//! Key rotation: records of older keys and plain records are encrypted with the current key.
//!
//! A rotation can be interrupted and started again. Records that are done are skipped. A rotation
//! does not count as activity ([`Chat::updated_at`](context_core::store::Chat::updated_at) does not
//! change). A message is replaced by redacting it with the same content: the old record is not
//! kept, the message's revision increases by one, and readers load the chat again.
//!
//! Earlier versions of fragments are deleted if any of them has an old key.
//!
//! A store cannot change earlier revisions. A message with revisions is therefore left with its old
//! key, unless the revisions may be dropped. Streams (which end and are pruned), rounds of
//! trajectories, and fragments without an id that were stored without encryption are left as well.
//! Records that are left keep their key in use.
//!
//! Within one handle no concurrent amendment is lost. An amendment of the same message by another
//! process, in the moment between reading and writing, would be lost. Let only one process write to
//! a chat while it is rotated.

use std::sync::Arc;

use bytes::Bytes;
use context_core::base::limits;
use context_core::store::{Chat, ChatQuery, Commit, PageWalk, Target};
use context_core::{CancelSignal, ChatRef, Error, Node, Result, UserId};
use serde::Serialize;

use super::blob_names::OpenedBlob;
use super::forms::{seal_fragment, seal_node};
use super::layer::Layer;
use super::record::text_record;

/// The number of messages processed between two checks of the cancel signal.
const PAGE: usize = 100;
/// The maximum number of bytes of messages written at once. A single message may be larger.
const BATCH_BYTES: usize = 8 << 20;

/// Options of a rotation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RotateOptions {
    /// Whether to drop the earlier revisions of a message if they or the message have older keys.
    /// If false, such messages are left.
    pub drop_revisions: bool,
}

/// Counts of the records that a rotation has encrypted again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Rotated {
    /// Chats that were processed to their end.
    pub chats: u64,
    /// Messages.
    pub messages: u64,
    /// Fragments.
    pub fragments: u64,
    /// Chats whose title and metadata were encrypted again.
    pub titles: u64,
    /// Blobs.
    pub blobs: u64,
    /// Messages with revisions, fragments, streams and rounds of trajectories that do not have the
    /// current key and could not be rotated.
    pub left: u64,
}

impl RotateOptions {
    /// Sets whether to drop the earlier revisions of messages that are encrypted again.
    #[must_use]
    pub fn drop_revisions(mut self, drop: bool) -> Self {
        self.drop_revisions = drop;
        self
    }
}

impl Rotated {
    pub(super) fn add(&mut self, other: Self) {
        self.chats += other.chats;
        self.messages += other.messages;
        self.fragments += other.fragments;
        self.titles += other.titles;
        self.blobs += other.blobs;
        self.left += other.left;
    }
}

impl Layer {
    pub(super) async fn rotate_user(
        &self,
        user: &UserId,
        options: &RotateOptions,
        cancel: &CancelSignal,
        mut progress: impl FnMut(&ChatRef, &Rotated) + Send,
    ) -> Result<Rotated> {
        let mut all = Rotated::default();
        let mut query = ChatQuery { limit: limits::MAX_PAGE, ..ChatQuery::new(user.clone()) };
        let mut walk = PageWalk::new("list_chats", "chat");
        loop {
            let page = self.inner.history().list_chats(&query).await?;
            let next = walk.next(&page)?;
            for summary in page.items {
                let chat = summary.chat.chat;
                match self.rotate_chat(&chat, options, cancel).await {
                    // The chat was deleted in the meantime.
                    Err(error) if error.is_not_found() => continue,
                    rotated => all.add(rotated?),
                }
                progress(&chat, &all);
            }
            query.after = next;
            if query.after.is_none() {
                break;
            }
        }
        all.left += self.old_rounds(user, cancel).await?;
        Ok(all)
    }

    pub(super) async fn rotate_chat(
        &self,
        chat: &ChatRef,
        options: &RotateOptions,
        cancel: &CancelSignal,
    ) -> Result<Rotated> {
        const OPERATION: &str = "rotate";
        let history = self.inner.history();
        let found = history.chat(chat).await?;
        let stored = found.ok_or_else(|| Error::not_found(OPERATION, "chat", &chat.chat))?;
        let sealer = self.sealer_to_write(&chat.user)?;
        let mut rotated = Rotated::default();
        let mut after = None;
        let mut walk = PageWalk::new("all_messages", "message");
        loop {
            cancel.check(OPERATION)?;
            let _rotating = self.rotating(chat).await;
            let page = history.all_messages(chat, PAGE, after.as_ref()).await?;
            let next = walk.next(&page)?;
            let nodes = page.items.into_iter().map(|placed| placed.node).collect();
            self.rotate_nodes(&stored, nodes, options, &mut rotated).await?;
            after = next;
            if after.is_none() {
                break;
            }
        }
        cancel.check(OPERATION)?;
        self.rotate_beside(&stored, &mut rotated).await?;
        if self.inner.blobs().is_some() {
            let (found, broken) = self.all_blobs(chat).await?;
            if let Some((id, error)) = broken.into_iter().next() {
                return Err(error.of(OPERATION, "blob", &id.to_string()));
            }
            for found in found.into_iter().filter(|found| found.old) {
                cancel.check(OPERATION)?;
                self.rotate_blob(chat, &found).await?;
                rotated.blobs += 1;
            }
        }
        if let Some(streams) = self.inner.streams() {
            let mut after = None;
            let mut walk = PageWalk::new("streams", "stream");
            loop {
                let page = streams.streams(chat, limits::MAX_PAGE, after.as_ref()).await?;
                let next = walk.next(&page)?;
                for stream in page.items {
                    let part = streams.read_stream(chat, &stream.id, 0, 1).await?;
                    let first = part.and_then(|part| part.chunks.into_iter().next());
                    rotated.left += u64::from(first.is_some_and(|chunk| sealer.is_old(&chunk)));
                }
                after = next;
                if after.is_none() {
                    break;
                }
            }
        }
        rotated.chats = 1;
        Ok(rotated)
    }

    async fn rotate_nodes(
        &self,
        stored: &Chat,
        nodes: Vec<Arc<Node>>,
        options: &RotateOptions,
        rotated: &mut Rotated,
    ) -> Result<()> {
        let (chat, history) = (&stored.chat, self.inner.history());
        let sealer = self.sealer_to_write(&chat.user)?;
        let mut batch = Vec::new();
        let mut bytes = 0;
        for node in nodes {
            let mut is_old = sealer.is_old_form(node.body());
            if node.revision > 0 {
                let revisions = history.revisions(chat, &node.id).await?;
                is_old |= revisions.iter().any(|revision| sealer.is_old_form(revision.node.body()));
                if is_old && !revisions.is_empty() && !options.drop_revisions {
                    rotated.left += 1;
                    continue;
                }
            }
            if !is_old {
                continue;
            }
            let opened = sealer.open_node("rotate", chat, &node)?;
            if bytes + opened.body().bytes().len() > BATCH_BYTES && !batch.is_empty() {
                rotated.messages += self.redact(stored, std::mem::take(&mut batch)).await?;
                bytes = 0;
            }
            bytes += opened.body().bytes().len();
            batch.push(seal_node(sealer.ring.current(), chat, &opened));
        }
        rotated.messages += self.redact(stored, batch).await?;
        Ok(())
    }

    async fn redact(&self, stored: &Chat, redactions: Vec<Arc<Node>>) -> Result<u64> {
        let count = redactions.len() as u64;
        if count > 0 {
            let commit = Commit::new(stored.chat.clone(), Target::Stay, stored.updated_at);
            // A rotation changes no content, so it runs beside the owner of a lease.
            let lease = match self.inner.leases() {
                Some(leases) => leases.lease(&stored.chat).await?.map(|lease| lease.number),
                None => None,
            };
            // The commit has no target, so it cannot conflict.
            let _ = self.inner.history().commit(Commit { redactions, lease, ..commit }).await?;
        }
        Ok(count)
    }

    /// Rotates fragments, title and metadata.
    async fn rotate_beside(&self, stored: &Chat, rotated: &mut Rotated) -> Result<()> {
        let chat = &stored.chat;
        let sealer = self.sealer_to_write(&chat.user)?;
        let _rotating = self.rotating(chat).await;
        let mut anew = Vec::new();
        for fragment in self.inner.fragments().fragments(chat).await? {
            let values =
                fragment.metadata.iter().map(|(_, value)| value.to_text().unwrap_or_default());
            let old_value = |text: String| {
                !matches!(text_record(&text),
                Some(Ok(record)) if !sealer.is_old(&record))
            };
            if !sealer.is_old_form(&fragment.body) && !values.into_iter().any(old_value) {
                continue;
            }
            let opened = sealer.open_fragment(chat, &fragment)?;
            match fragment.id {
                Some(id) => anew.push(seal_fragment(sealer.ring.current(), chat, id, &opened)),
                None => rotated.left += 1,
            }
        }
        for fragment in anew {
            self.inner.fragments().put_fragments(chat, &[fragment], stored.updated_at).await?;
            rotated.fragments += 1;
        }
        // Earlier versions cannot be written again. Those of an old key would keep it in use.
        if let Some(log) = self.inner.fragment_log() {
            let stored = log.fragment_log(chat).await?;
            let mut bodies =
                stored.versions().iter().filter_map(|version| version.fragment.as_ref());
            if bodies.any(|fragment| sealer.is_old_form(&fragment.body)) {
                log.clear_fragment_log(chat).await?;
            }
        }
        let Some(now) = self.inner.history().chat(chat).await? else { return Ok(()) };
        if let Some(patch) = sealer.reseal_chat(&now)? {
            self.inner.history().update_chat(chat, &patch, now.updated_at).await?;
            rotated.titles += 1;
        }
        Ok(())
    }

    /// Stores the encrypted bytes again, then removes the old ones. In between they are stored
    /// twice, but shown once.
    async fn rotate_blob(&self, chat: &ChatRef, found: &OpenedBlob) -> Result<()> {
        let bytes = self.read_whole(chat, found).await?;
        let variant = found.sealing.as_ref().map_or(0, |sealing| sealing.variant);
        let (id, sealing, sealed) = self.seal_bytes(chat, Some(found.id), variant, bytes).await?;
        let media_type = found.media_type.as_deref();
        let new = self
            .put_sealed(chat, &id, &sealing, sealed, media_type, found.stored.created_at)
            .await?;
        self.touch(chat, &new, found.stored.used_at).await?;
        self.blobs()?.remove_blob(chat, &found.stored.id).await?;
        Ok(())
    }

    /// Returns all bytes of a stored blob.
    pub(super) async fn read_whole(&self, chat: &ChatRef, found: &OpenedBlob) -> Result<Bytes> {
        const OPERATION: &str = "read_blob";
        let part = found.sealing.as_ref().map(|sealing| sealing.part(0..u64::MAX));
        let range = match &part {
            None => 0..u64::MAX,
            Some(None) => 0..0,
            Some(Some(part)) => part.sealed.clone(),
        };
        let read = self.blobs()?.read_blob(chat, &found.stored.id, range, None).await?;
        let read = read.ok_or_else(|| Error::not_found(OPERATION, "blob", found.id))?;
        match part {
            None => Ok(read),
            Some(None) => Ok(Bytes::new()),
            Some(Some(part)) => found
                .open(&self.sealer(&chat.user)?, chat, &part, &read)
                .map_err(|error| error.of(OPERATION, "blob", &found.id.to_string())),
        }
    }
}
