//! Digests of chats, so that two chats can be compared without holding either in memory.
//!
//! A digest shows whether a copy is complete. It is not a signature: the hashes of messages and
//! blobs are added up in any order, because each store lists them in its own order.

use std::fmt;

use blake3::Hasher;
use context_core::base::BlobId;
use context_core::store::{Branch, Chat, Checkpoint};
use context_core::{ChatRef, Encoded, Metadata, Node, Result, Store};

use super::reader::ChatReader;
use super::record::{BlobRecord, ChatMessageRecord, ChatRecord};
use super::writer::INCOMPLETE;

/// Counts and hashes of everything of a chat that is [transferred](super), except its name. Two
/// chats with equal digests have the same content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChatDigest {
    /// Title, metadata, the active branch, timestamps.
    pub chat: PartDigest,
    /// Branches with their heads, in their order.
    pub branches: PartDigest,
    /// Checkpoints.
    pub checkpoints: PartDigest,
    /// Persisted fragments, in their order.
    pub fragments: PartDigest,
    /// Blobs, in any order.
    pub blobs: PartDigest,
    /// Messages with positions, bodies and revisions, in any order.
    pub messages: PartDigest,
}

/// The digest of one kind of item in a chat.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartDigest {
    /// The number of items.
    pub count: u64,
    /// The sum of their hashes, lane by lane.
    sum: [u64; 4],
}

impl PartDigest {
    fn add(&mut self, hash: &FieldHasher) {
        self.count += 1;
        let hash = hash.0.finalize();
        for (sum, lane) in self.sum.iter_mut().zip(hash.as_bytes().chunks_exact(8)) {
            let lane = lane.iter().fold(0u64, |lane, byte| lane << 8 | u64::from(*byte));
            *sum = sum.wrapping_add(lane);
        }
    }
}

/// Shows the count, and the hash in hexadecimal.
impl fmt::Debug for PartDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.count)?;
        self.sum.iter().try_for_each(|lane| write!(f, "{lane:016x}"))
    }
}

impl ChatDigest {
    /// Reads a chat, page by page. Returns [`NotFound`](context_core::ErrorKind::NotFound) if it
    /// does not exist.
    pub async fn read(store: &dyn Store, chat: &ChatRef) -> Result<Self> {
        Self::read_telling(store, chat, &mut |_| {}).await
    }

    /// Reads a chat, and calls `progress` with the number of messages read so far.
    pub(super) async fn read_telling(
        store: &dyn Store,
        chat: &ChatRef,
        progress: &mut (dyn FnMut(u64) + Send),
    ) -> Result<Self> {
        let mut reader = ChatReader::open(store, chat).await?;
        let mut digest = Self::default();
        while let Some(record) = reader.next().await? {
            digest.push(&record);
            progress(digest.messages.count);
        }
        Ok(digest)
    }

    /// Reads the chat itself, its branches, checkpoints and fragments, but neither messages nor
    /// blobs.
    pub async fn read_outline(store: &dyn Store, chat: &ChatRef) -> Result<Self> {
        let mut reader = ChatReader::open(store, chat).await?;
        let mut digest = Self::default();
        while let Some(record) = reader.next_of_outline() {
            digest.push(&record);
        }
        Ok(digest)
    }

    /// Adds a record.
    pub fn push(&mut self, record: &ChatRecord) {
        match record {
            ChatRecord::Chat(chat) => self.chat.add(&FieldHasher::default().chat(chat)),
            ChatRecord::Branch(branch) => {
                let at = self.branches.count;
                self.branches.add(&FieldHasher::default().number(at).branch(branch));
            }
            ChatRecord::Checkpoint(checkpoint) => {
                self.checkpoints.add(&FieldHasher::default().checkpoint(checkpoint));
            }
            ChatRecord::Fragment(fragment) => {
                let at = self.fragments.count;
                let hashing = FieldHasher::default().number(at);
                let hashing = hashing.optional(fragment.id.as_ref().map(|id| id.as_str()));
                self.fragments.add(&hashing.metadata(&fragment.metadata).body(&fragment.body));
            }
            ChatRecord::Blob(blob) => self.blobs.add(&FieldHasher::default().blob(blob)),
            ChatRecord::Message(message) => {
                self.messages.add(&FieldHasher::default().message(message))
            }
            ChatRecord::End { .. } => {}
        }
    }

    /// Returns the first part that differs: `chat`, `branches`, `checkpoints`, `fragments`, `blobs`
    /// or `messages`.
    pub fn difference(&self, other: &Self) -> Option<&'static str> {
        let parts = [
            ("chat", &self.chat, &other.chat),
            ("branches", &self.branches, &other.branches),
            ("checkpoints", &self.checkpoints, &other.checkpoints),
            ("fragments", &self.fragments, &other.fragments),
            ("blobs", &self.blobs, &other.blobs),
            ("messages", &self.messages, &other.messages),
        ];
        parts.into_iter().find(|(_, ours, others)| ours != others).map(|(name, ..)| name)
    }
}

/// Shows one hash of all parts, in hexadecimal.
impl fmt::Display for ChatDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut hasher = Hasher::new();
        let Self { chat, branches, checkpoints, fragments, blobs, messages } = self;
        for part in [chat, branches, checkpoints, fragments, blobs, messages] {
            hasher.update(&part.count.to_be_bytes());
            part.sum.iter().for_each(|lane| {
                hasher.update(&lane.to_be_bytes());
            });
        }
        f.write_str(&hasher.finalize().to_hex())
    }
}

/// A hash of fields. Each is hashed with its length, so that different lists of fields never have
/// the same bytes.
#[derive(Default)]
struct FieldHasher(Hasher);

impl FieldHasher {
    fn number(mut self, number: u64) -> Self {
        self.0.update(&number.to_be_bytes());
        self
    }

    fn time(self, at: context_core::Timestamp) -> Self {
        self.number(at.as_micros().cast_unsigned())
    }

    fn bytes(self, bytes: &[u8]) -> Self {
        let mut hashing = self.number(bytes.len() as u64);
        hashing.0.update(bytes);
        hashing
    }

    fn optional(self, text: Option<&str>) -> Self {
        match text {
            None => self.number(0),
            Some(text) => self.number(1).bytes(text.as_bytes()),
        }
    }

    /// In the order of the keys, because a store need not keep another order.
    fn metadata(self, metadata: &Metadata) -> Self {
        let mut entries: Vec<_> = metadata.iter().filter(|(key, _)| *key != INCOMPLETE).collect();
        entries.sort_unstable_by_key(|(key, _)| *key);
        let hashing = self.number(entries.len() as u64);
        entries.into_iter().fold(hashing, |hashing, (key, value)| {
            hashing.bytes(key.as_bytes()).bytes(value.as_str().as_bytes())
        })
    }

    fn body(self, body: &Encoded) -> Self {
        self.bytes(body.kind().as_bytes()).number(body.version().into()).bytes(body.bytes())
    }

    fn chat(self, chat: &Chat) -> Self {
        let hashing = self.optional(chat.title.as_deref()).metadata(&chat.metadata);
        hashing.bytes(chat.active.as_str().as_bytes()).time(chat.created_at).time(chat.updated_at)
    }

    fn branch(self, branch: &Branch) -> Self {
        let head = branch.head.as_ref().map(|head| head.as_str());
        self.bytes(branch.name.as_str().as_bytes()).optional(head).time(branch.created_at)
    }

    fn checkpoint(self, checkpoint: &Checkpoint) -> Self {
        let hashing = self.bytes(checkpoint.name.as_str().as_bytes());
        hashing.bytes(checkpoint.message.as_str().as_bytes()).time(checkpoint.created_at)
    }

    fn blob(self, blob: &BlobRecord) -> Self {
        let hashing = self.bytes(BlobId::of(&blob.bytes).to_string().as_bytes());
        hashing.optional(blob.media_type.as_deref()).time(blob.created_at).time(blob.used_at)
    }

    fn message(self, message: &ChatMessageRecord) -> Self {
        let hashing =
            self.node(&message.node).optional(message.parent.as_ref().map(|id| id.as_str()));
        let hashing = hashing.number(message.revisions.len() as u64);
        message.revisions.iter().fold(hashing, |hashing, revision| {
            hashing.node(&revision.node).time(revision.replaced_at)
        })
    }

    fn node(self, node: &Node) -> Self {
        // A boundary has no role.
        let kind = node.role().map(|role| role.as_str());
        let hashing = self.bytes(node.id.as_str().as_bytes()).optional(kind).time(node.created_at);
        let tokens = node.tokens.map_or(0, |tokens| u64::from(tokens) + 1);
        hashing.number(node.revision.into()).number(tokens).body(node.body())
    }
}
