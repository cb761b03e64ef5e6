//! A store over a store that encrypts what people said before it reaches the backend.
//!
//! # What is sealed, and what stays readable
//!
//! Sealed, each record by itself with XChaCha20-Poly1305: bodies of messages, boundaries and
//! revisions; fragments and their metadata; titles; values of chat metadata; blobs and their media
//! types; chunks and errors of streams. Of trajectories: titles of rounds; descriptions, texts and
//! JSON of nodes, as they are and as they were; params of steps.
//!
//! Readable for whoever reads the backend: ids of users, chats, messages, fragments and streams;
//! names of branches, checkpoints and commit keys; roles, times, counts of tokens, sizes; keys of
//! metadata; and numbers that are [added](context_core::store::ChatPatch::add) to metadata, with
//! the names of their fields, since the backend adds them. Of trajectories: labels, kinds, ids and
//! authors of nodes; names of edges; names of fields; yes or no; links to messages;
//! [measures](context_core::trajectory::Measures), the names of models and errors among them; names
//! of steps and of their params; states, times and counts.
//!
//! # What it protects from
//!
//! Someone who reads the backend, its files and its backups learns nothing of the text. Someone who
//! changes them cannot make a reader see another text: a record opens only where it was written
//! (user, chat, message and role; a chunk at its offset; round, node, field and version),
//! unaltered, under its key. Anything else is [`Corrupt`](context_core::ErrorKind::Corrupt), and so
//! is text stored without encryption, unless [allowed](EncryptedStore::allow_plain).
//!
//! It does not protect from someone who puts back an older state of the same row, removes rows,
//! reorders messages, or changes what is readable. And sealing is deterministic: that the same row
//! holds the same text again can be seen, as can that two chats of one user keep the same blob.
//! Nothing of that holds between rows. This is the price for commits that stay safe to repeat, and
//! for the lack of any random source.
//!
//! # What is different above it
//!
//! * There is no search: an index of words would be the text. For the same reason there are no
//!   memories, which are found by their words: whoever wants them keeps them in a store of their
//!   own.
//! * Filters of listings are compared on this side, so a filtered listing reads what it leaves out.
//! * A blob is found by looking through the names of the chat's blobs, unless it is remembered; a
//!   listing reads all names.
//! * Sizes of chats and the 64 MiB of a stream count what the backend keeps. Bytes of several
//!   pruned blobs are right within 16 bytes each.
//! * A type added to an untyped blob stores it once more, and it is then no longer shared with
//!   other chats.
//! * A fragment without an id has one in the backend, which says nothing.

mod amounts;
mod blob_names;
mod blob_search;
mod blobs;
mod chats;
mod commit;
mod forms;
mod history;
mod keys;
mod layer;
mod place;
mod record;
mod rotate;
mod round_forms;
mod rounds;
mod segments;
mod streams;
mod upkeep;
mod usage;

use std::fmt;
use std::sync::Arc;

use context_core::store::{
    BlobStore, Finding, FragmentStore, HistoryStore, Maintenance, StoreInfo, StreamStore,
    TrajectoryStore,
};
use context_core::{CancelSignal, ChatRef, Result, Store, UserId};

pub use self::keys::{EncryptionKey, KeyError, KeyId, KeyRing};
use self::layer::Layer;
pub use self::record::SealError;
use self::record::Sealer;
pub use self::rotate::{RotateOptions, Rotated};
pub use self::usage::KeyUsage;

/// A store whose content is sealed before it reaches the store beneath.
///
/// ```
/// use std::sync::Arc;
///
/// use context_core::Store;
/// use context_store_inmem::InMemoryStore;
/// use context_store_layers::{EncryptedStore, EncryptionKey, KeyRing};
///
/// let key = EncryptionKey::from_bytes("2026-11", &[7; 32])?;
/// let store = EncryptedStore::new(Arc::new(InMemoryStore::default()), KeyRing::new(key));
/// assert!(store.info().encrypted && store.search().is_none() && store.memories().is_none());
/// # Ok::<(), context_store_layers::KeyError>(())
/// ```
pub struct EncryptedStore(Layer);

impl EncryptedStore {
    /// Encrypts what goes to `inner` with the current key of the ring.
    pub fn new(inner: Arc<dyn Store>, ring: KeyRing) -> Self {
        Self(Layer::new(inner, Sealer { ring, allow_plain: false }))
    }

    /// Also reads what was stored without encryption, to move an existing store:
    /// [`rotate_user`](Self::rotate_user) seals it. While this is on, whoever can write to the
    /// backend can put any text into it; and sizes of streams that were written before are too
    /// small.
    #[must_use]
    pub fn allow_plain(mut self, allow: bool) -> Self {
        self.0.sealer.allow_plain = allow;
        self
    }

    /// Seals with the current key what of a chat is sealed with older ones. Asks `cancel` between
    /// messages and blobs.
    pub async fn rotate_chat(
        &self,
        chat: &ChatRef,
        options: &RotateOptions,
        cancel: &CancelSignal,
    ) -> Result<Rotated> {
        self.0.rotate_chat(chat, options, cancel).await
    }

    /// Does so for all chats of a user, and tells `progress` after each what was done so far.
    /// Rounds of trajectories are left as they are, and counted: those of old keys go when they are
    /// pruned.
    pub async fn rotate_user(
        &self,
        user: &UserId,
        options: &RotateOptions,
        cancel: &CancelSignal,
        progress: impl FnMut(&ChatRef, &Rotated) + Send,
    ) -> Result<Rotated> {
        self.0.rotate_user(user, options, cancel, progress).await
    }

    /// How many records of a user are sealed with which key: one that has none may be forgotten.
    /// Reads all of them.
    pub async fn key_usage(&self, user: &UserId, cancel: &CancelSignal) -> Result<KeyUsage> {
        self.0.key_usage(user, cancel).await
    }

    /// Opens every record of a user, and says which cannot be. [`Maintenance::check`] does so for
    /// all users, if the store beneath can list them.
    pub async fn check_user(&self, user: &UserId, cancel: &CancelSignal) -> Result<Vec<Finding>> {
        self.0.check_records(user, cancel).await
    }
}

#[async_trait::async_trait]
impl Store for EncryptedStore {
    fn info(&self) -> StoreInfo {
        let mut info = self.0.inner.info();
        info.encrypted = true;
        info
    }

    fn history(&self) -> &dyn HistoryStore {
        &self.0
    }

    fn fragments(&self) -> &dyn FragmentStore {
        &self.0
    }

    fn blobs(&self) -> Option<&dyn BlobStore> {
        self.0.inner.blobs().map(|_| &self.0 as &dyn BlobStore)
    }

    fn streams(&self) -> Option<&dyn StreamStore> {
        self.0.inner.streams().map(|_| &self.0 as &dyn StreamStore)
    }

    fn trajectories(&self) -> Option<&dyn TrajectoryStore> {
        self.0.inner.trajectories().map(|_| &self.0 as &dyn TrajectoryStore)
    }

    fn maintenance(&self) -> Option<&dyn Maintenance> {
        self.0.inner.maintenance().map(|_| &self.0 as &dyn Maintenance)
    }

    async fn close(&self) -> Result<()> {
        self.0.inner.close().await
    }
}

impl fmt::Debug for EncryptedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("EncryptedStore");
        shown
            .field("inner", &self.0.inner)
            .field("keys", &self.0.sealer.ring)
            .finish_non_exhaustive()
    }
}
