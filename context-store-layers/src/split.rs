//! History in one store; blobs, streams and trajectories in others.

mod blobs;
mod chats;
mod maintenance;
mod shadow;
mod streams;
mod users;

use std::fmt;
use std::sync::Arc;

use context_core::store::{
    BlobStore, FragmentLogStore, FragmentStore, HistoryStore, LeaseStore, Maintenance,
    MemoryRecordStore, RefLogStore, SearchStore, StoreInfo, StreamStore, TrajectoryStore,
};
use context_core::{Error, ErrorKind, Result, Store};

/// A store that keeps the history in one backend, and blobs, streams or trajectories in others. For
/// example, messages are in PostgreSQL and large files elsewhere, or streaming answers are in
/// Redis.
///
/// # Shadows of chats
///
/// Blobs and streams belong to chats, so the other store has a *shadow* of each chat that has some:
/// a chat without messages, which is created before the first blob or stream. Its name consists of
/// the name and the creation time of the chat, so the remains of a deleted chat are never taken for
/// those of a new one. A special user, `context.split`, has a chat for each user who has shadows,
/// so that a check finds all shadows. No other user may have this name.
///
/// Trajectories belong to users and need no chat, so they have no shadow and are passed on as they
/// are.
///
/// Only the store of the history decides whether a chat exists. Each call about blobs and streams
/// first makes one read of it.
///
/// # Order of writes
///
/// * **A put** writes to the other store. If it had to create the shadow, it then checks that the
///   chat still exists. The caller writes references to the bytes afterwards.
/// * **A deletion** removes the history with all references first, then the shadow with the bytes.
///   So there is never a reference without bytes. If the second step fails, the remains cannot be
///   reached. [`check`](Maintenance::check) finds them, and deleting the chat again or erasing the
///   user removes them.
/// * **Erasing** a user erases the history, then all other stores. The counts of what was erased
///   and of what remains are sums over all stores.
///
/// # Abilities
///
/// Search, fragments and memories are those of the store of the history. [`info`](Store::info)
/// reports the weakest durability under the name of the store of the history. A
/// [commit](context_core::store::Commit::durability) is written to that store alone and may ask for
/// what it can give; the blobs that its messages name are as durable as their own store.
/// Maintenance is offered if all stores offer it. A single file cannot hold several stores, so each
/// is [backed up](Maintenance::backup) separately: first the history, then the others, so that no
/// reference is without bytes.
///
/// ```
/// use std::sync::Arc;
///
/// use context_core::{ChatRef, Store, Timestamp};
/// use context_core::base::BlobId;
/// use context_core::store::{NewBlob, NewChat};
/// use context_store_inmem::InMemoryStore;
/// use context_store_layers::SplitStore;
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let (history, files) = (Arc::new(InMemoryStore::default()), Arc::new(InMemoryStore::default()));
/// let store = SplitStore::builder(history).blobs(files).build()?;
/// let (chat, now) = (ChatRef::new("ada", "trip"), Timestamp::from_micros(1));
/// let _ = store.history().create_chat(NewChat::new(chat.clone(), now)).await?;
/// let blobs = store.blobs().expect("of the second store");
/// blobs.put_blob(&chat, NewBlob::new("a long report", now)).await?;
/// let bytes = blobs.read_blob(&chat, &BlobId::of(b"a long report"), 2..6, None).await?;
/// assert_eq!(bytes.as_deref(), Some(&b"long"[..]));
/// # Ok::<_, context_core::Error>(())
/// # })?;
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
pub struct SplitStore(Shared);

/// The shared state. It implements the store traits in place of [`SplitStore`], so that
/// `store.fragments()` is not ambiguous.
struct Shared {
    main: Arc<dyn Store>,
    blobs: Option<Arc<dyn Store>>,
    streams: Option<Arc<dyn Store>>,
    trajectories: Option<Arc<dyn Store>>,
}

/// A builder of a `SplitStore` that assigns stores to abilities.
#[must_use]
pub struct SplitStoreBuilder(Shared);

impl SplitStore {
    /// Returns a builder with the store of the history, which keeps everything that no other store
    /// is set for.
    pub fn builder(history: Arc<dyn Store>) -> SplitStoreBuilder {
        SplitStoreBuilder(Shared { main: history, blobs: None, streams: None, trajectories: None })
    }
}

impl SplitStoreBuilder {
    /// Keeps blobs in this store.
    pub fn blobs(mut self, store: Arc<dyn Store>) -> Self {
        self.0.blobs = Some(store);
        self
    }

    /// Keeps streams in this store, which may be that of the blobs.
    pub fn streams(mut self, store: Arc<dyn Store>) -> Self {
        self.0.streams = Some(store);
        self
    }

    /// Keeps trajectories in this store, which may be one of the others.
    pub fn trajectories(mut self, store: Arc<dyn Store>) -> Self {
        self.0.trajectories = Some(store);
        self
    }

    /// Returns the store. Returns [`Unsupported`](ErrorKind::Unsupported) if a store lacks the
    /// ability it is set for.
    pub fn build(self) -> Result<SplitStore> {
        let Shared { blobs, streams, trajectories, .. } = &self.0;
        let lacks = |ability| {
            Error::new(ErrorKind::Unsupported, "open", "the store has no such ability")
                .with("ability", ability)
        };
        if blobs.as_ref().is_some_and(|store| store.blobs().is_none()) {
            return Err(lacks("blobs"));
        }
        if streams.as_ref().is_some_and(|store| store.streams().is_none()) {
            return Err(lacks("streams"));
        }
        if trajectories.as_ref().is_some_and(|store| store.trajectories().is_none()) {
            return Err(lacks("trajectories"));
        }
        Ok(SplitStore(self.0))
    }
}

impl fmt::Debug for SplitStoreBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.show(f, "SplitStoreBuilder")
    }
}

impl fmt::Debug for SplitStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.show(f, "SplitStore")
    }
}

impl Shared {
    fn show(&self, f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
        let Self { main, blobs, streams, trajectories } = self;
        let mut shown = f.debug_struct(name);
        shown.field("history", main).field("blobs", blobs).field("streams", streams);
        shown.field("trajectories", trajectories).finish()
    }

    /// Returns the stores other than that of the history, without duplicates.
    fn others(&self) -> Vec<&Arc<dyn Store>> {
        let mut others: Vec<&Arc<dyn Store>> = Vec::new();
        for store in self.blobs.iter().chain(&self.streams).chain(&self.trajectories) {
            if !others.iter().any(|other| Arc::ptr_eq(other, store)) {
                others.push(store);
            }
        }
        others
    }
}

#[async_trait::async_trait]
#[deny(clippy::missing_trait_methods)]
impl Store for SplitStore {
    fn info(&self) -> StoreInfo {
        let mut info = self.0.main.info();
        for other in self.0.others() {
            let other = other.info();
            info.durability = info.durability.min(other.durability);
            info.shared &= other.shared;
            info.encrypted &= other.encrypted;
            info.warning = info.warning.or(other.warning);
        }
        info
    }

    fn history(&self) -> &dyn HistoryStore {
        &self.0
    }

    fn fragments(&self) -> &dyn FragmentStore {
        self.0.main.fragments()
    }

    async fn open_chat(
        &self,
        chat: &context_core::ChatRef,
        branch: Option<&context_core::BranchName>,
        window: &context_core::store::Window,
    ) -> Result<Option<context_core::store::OpenedChat>> {
        self.0.main.open_chat(chat, branch, window).await
    }

    fn ref_log(&self) -> Option<&dyn RefLogStore> {
        self.0.main.ref_log()
    }

    fn fragment_log(&self) -> Option<&dyn FragmentLogStore> {
        self.0.main.fragment_log()
    }

    fn search(&self) -> Option<&dyn SearchStore> {
        self.0.main.search()
    }

    fn blobs(&self) -> Option<&dyn BlobStore> {
        match self.0.blobs {
            Some(_) => Some(&self.0),
            None => self.0.main.blobs(),
        }
    }

    fn streams(&self) -> Option<&dyn StreamStore> {
        match self.0.streams {
            Some(_) => Some(&self.0),
            None => self.0.main.streams(),
        }
    }

    fn leases(&self) -> Option<&dyn LeaseStore> {
        self.0.main.leases()
    }

    fn trajectories(&self) -> Option<&dyn TrajectoryStore> {
        self.0.trajectories.as_ref().unwrap_or(&self.0.main).trajectories()
    }

    fn memories(&self) -> Option<&dyn MemoryRecordStore> {
        self.0.main.memories()
    }

    fn maintenance(&self) -> Option<&dyn Maintenance> {
        let all = self.0.others().iter().all(|other| other.maintenance().is_some());
        (all && self.0.main.maintenance().is_some()).then_some(&self.0)
    }

    /// Closes all stores, even if one fails, and returns the first error.
    async fn close(&self) -> Result<()> {
        let mut closed = self.0.main.close().await;
        for other in self.0.others() {
            closed = closed.and(other.close().await);
        }
        closed
    }
}
