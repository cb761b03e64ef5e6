//! A layer that encrypts content before it reaches the backend.
//!
//! # Encrypted and readable data
//!
//! These are encrypted, each record separately with XChaCha20-Poly1305: bodies of messages,
//! boundaries and revisions; fragments, their metadata and earlier versions; titles; values of chat
//! metadata; blobs and their media types; chunks and errors of streams. Of trajectories: titles of
//! rounds; descriptions, texts and JSON of nodes and of their earlier versions; params of steps.
//!
//! These are readable for anyone with access to the backend: ids of users, chats, messages,
//! fragments and streams; names of branches, checkpoints, commit keys and owners of leases, also in
//! the log of references; roles, times, token counts, sizes; keys of metadata; and numbers that are
//! [added](context_core::store::ChatPatch::add) to metadata, with the names of their fields,
//! because the backend adds them. Of trajectories: labels, kinds, ids and authors of nodes; names
//! of edges; names of fields; booleans; links to messages;
//! [measures](context_core::trajectory::Measures), including the names of models and errors; names
//! of steps and of their params; states, times and counts.
//!
//! # Threat model
//!
//! An attacker who reads the backend, its files and its backups learns nothing of the text. An
//! attacker who changes them cannot make a reader see another text: a record can only be decrypted
//! unaltered, at the place it was written to (user, chat, message and role; a chunk at its offset;
//! round, node, field and version), with its key. Anything else is
//! [`Corrupt`](context_core::ErrorKind::Corrupt), and so is text stored without encryption, unless
//! [allowed](EncryptedStore::allow_plain).
//!
//! The layer does not protect from an attacker who restores an older state of the same row, removes
//! rows, reorders messages, or changes readable data. Encryption is deterministic: an observer can
//! see that the same row holds the same text again, and that two chats of one user have the same
//! blob. Nothing else can be compared between rows. This is the price of commits that are safe to
//! repeat, and of needing no random source but for [keys of users](UserKeyFile).
//!
//! # Differences above this layer
//!
//! * There is no search, because an index of words would reveal the text. For the same reason there
//!   are no memories, which are found by their words. Keep them in a separate store.
//! * Filters of listings are applied in this layer, so a filtered listing also reads what it leaves
//!   out.
//! * A blob is found by reading the names of the chat's blobs, unless its name is cached. A listing
//!   reads all names.
//! * Sizes of chats and the limit of 64 MiB of a stream count the encrypted bytes. The number of
//!   bytes of several pruned blobs is exact within 16 bytes each.
//! * Adding a media type to an untyped blob stores the blob once more, and it is then no longer
//!   shared with other chats.
//! * A fragment without an id has a meaningless id in the backend.

mod amounts;
mod associated_data;
mod blob_names;
mod blob_search;
mod blobs;
mod chats;
mod commit;
mod forms;
mod history;
mod key_sources;
mod keys;
mod layer;
mod maintenance;
mod record;
mod rotate;
mod round_forms;
mod rounds;
mod segments;
mod streams;
mod usage;
mod user_keys;

use std::fmt;
use std::sync::Arc;

use context_core::store::{
    BlobStore, Finding, FragmentLogStore, FragmentStore, HistoryStore, LeaseStore, Maintenance,
    OpenedChat, RefLogStore, StoreInfo, StreamStore, TrajectoryStore, Window,
};
use context_core::{BranchName, CancelSignal, ChatRef, Result, Store, UserId};

pub use self::keys::{EncryptionKey, KeyError, KeyId, KeyRing};
use self::layer::{Layer, StoreKeys};
pub use self::record::SealError;
pub use self::rotate::{RotateOptions, Rotated};
pub use self::usage::KeyUsage;
pub use self::user_keys::{UserKeyFile, UserKeys};

/// A store that encrypts its content before it reaches the inner store.
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
    /// Encrypts what is written to `inner` with the current key of the ring.
    pub fn new(inner: Arc<dyn Store>, ring: KeyRing) -> Self {
        Self(Layer::new(inner, StoreKeys::One(Arc::new(ring))))
    }

    /// Encrypts what is written to `inner` with a key of its user, which is made with the first
    /// write. [`erase_user`](Maintenance::erase_user) drops the user's keys before it erases
    /// anything: from then on, copies of the rows that were made earlier cannot be read either, as
    /// long as nobody has a copy of the keys.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use context_store_inmem::InMemoryStore;
    /// use context_store_layers::{EncryptedStore, EncryptionKey, KeyRing, UserKeyFile};
    ///
    /// let folder = tempfile::tempdir().unwrap();
    /// let master = KeyRing::new(EncryptionKey::from_bytes("master", &[7; 32])?);
    /// let keys = UserKeyFile::open(folder.path().join("users.keys"), master)?;
    /// let store = EncryptedStore::per_user(Arc::new(InMemoryStore::default()), Arc::new(keys));
    /// # Ok::<(), context_store_layers::KeyError>(())
    /// ```
    pub fn per_user(inner: Arc<dyn Store>, keys: Arc<dyn UserKeys>) -> Self {
        Self(Layer::new(inner, StoreKeys::PerUser(keys)))
    }

    /// Sets whether to read data that was stored without encryption, in order to migrate an
    /// existing store: [`rotate_user`](Self::rotate_user) encrypts it. While this is enabled,
    /// anyone who can write to the backend can plant any text. The reported sizes of streams that
    /// were written without encryption are too small.
    #[must_use]
    pub fn allow_plain(mut self, allow: bool) -> Self {
        self.0.allow_plain = allow;
        self
    }

    /// Encrypts with the current key the records of a chat that have older keys. Checks `cancel`
    /// between messages and blobs.
    pub async fn rotate_chat(
        &self,
        chat: &ChatRef,
        options: &RotateOptions,
        cancel: &CancelSignal,
    ) -> Result<Rotated> {
        self.0.rotate_chat(chat, options, cancel).await
    }

    /// Rotates all chats of a user, and calls `progress` after each chat with the totals so far.
    /// Rounds of trajectories are not changed but counted. Those with old keys disappear when they
    /// are pruned.
    pub async fn rotate_user(
        &self,
        user: &UserId,
        options: &RotateOptions,
        cancel: &CancelSignal,
        progress: impl FnMut(&ChatRef, &Rotated) + Send,
    ) -> Result<Rotated> {
        self.0.rotate_user(user, options, cancel, progress).await
    }

    /// Counts the records of a user by key. A key without records may be discarded. Reads all
    /// records.
    pub async fn key_usage(&self, user: &UserId, cancel: &CancelSignal) -> Result<KeyUsage> {
        self.0.key_usage(user, cancel).await
    }

    /// Decrypts every record of a user and reports those that cannot be decrypted.
    /// [`Maintenance::check`] does so for all users, if the inner store can list them.
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

    async fn open_chat(
        &self,
        chat: &ChatRef,
        branch: Option<&BranchName>,
        window: &Window,
    ) -> Result<Option<OpenedChat>> {
        let opened = self.0.inner.open_chat(chat, branch, window).await?;
        opened.map(|opened| self.0.opened(opened)).transpose()
    }

    fn ref_log(&self) -> Option<&dyn RefLogStore> {
        self.0.inner.ref_log()
    }

    fn fragment_log(&self) -> Option<&dyn FragmentLogStore> {
        self.0.inner.fragment_log().map(|_| &self.0 as &dyn FragmentLogStore)
    }

    fn blobs(&self) -> Option<&dyn BlobStore> {
        self.0.inner.blobs().map(|_| &self.0 as &dyn BlobStore)
    }

    fn streams(&self) -> Option<&dyn StreamStore> {
        self.0.inner.streams().map(|_| &self.0 as &dyn StreamStore)
    }

    fn leases(&self) -> Option<&dyn LeaseStore> {
        self.0.inner.leases()
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
        shown.field("inner", &self.0.inner).field("keys", self.0.keys()).finish_non_exhaustive()
    }
}
