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
    BlobStore, FragmentStore, HistoryStore, Maintenance, MemoryRecordStore, SearchStore, StoreInfo,
    StreamStore, TrajectoryStore,
};
use context_core::{Error, ErrorKind, Result, Store};

/// A store whose history, with all that belongs to it, is in one backend, and its blobs, streams or
/// trajectories in others: messages in PostgreSQL and large files elsewhere, or answers in flight
/// in Redis.
///
/// # How the others know of chats
///
/// Blobs and streams belong to chats, so the other store has a *shadow* of each chat that has some:
/// a chat without messages, made before the first blob or stream. It is named after the chat and
/// when that was created, so what was left of a chat that was deleted is never taken for that of a
/// new one. A chat of a user of its own, `context.split`, names each user who has shadows, so that
/// a check finds them all; nobody else may be called so.
///
/// Trajectories belong to users and need no chat, so they have no shadow and are passed on as they
/// are.
///
/// Whether a chat exists, the store of the history alone says: each call about blobs and streams
/// asks it first, by one read.
///
/// # In which order
///
/// * **A put** writes to the other store, and looks whether the chat is still there if it had to
///   make the shadow. What refers to the bytes is written by the caller, afterwards.
/// * **A deletion** goes the other way: the history with all references, then the shadow with the
///   bytes. So there is never a reference without bytes. If the second half does not come about,
///   what is left cannot be reached; [`check`](Maintenance::check) finds it, and deleting the chat
///   again takes it away, as does erasing the user.
/// * **Erasing** a user erases the history, then all the others; what was erased is counted in all,
///   and what remains.
///
/// # What it offers
///
/// Search, fragments and memories are those of the store of the history. [`info`](Store::info)
/// promises what the weakest promises, under the name of the store of the history. Maintenance is
/// offered if all offer it; one file cannot hold several stores, so each is [backed
/// up](Maintenance::backup) by itself: the history first, then the others, so that no reference is
/// without bytes.
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

/// Implements the seam apart from [`SplitStore`], so that `store.fragments()` can only mean one
/// thing.
struct Shared {
    main: Arc<dyn Store>,
    blobs: Option<Arc<dyn Store>>,
    streams: Option<Arc<dyn Store>>,
    trajectories: Option<Arc<dyn Store>>,
}

/// Which store keeps what.
#[must_use]
pub struct SplitStoreBuilder(Shared);

impl SplitStore {
    /// Begins with the store of the history, which keeps all that no other one is given for.
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

    /// The store. [`Unsupported`](ErrorKind::Unsupported) if one of them lacks the ability it is
    /// given for.
    pub fn build(self) -> Result<SplitStore> {
        let Shared { blobs, streams, trajectories, .. } = &self.0;
        let lacks = |what| {
            Error::new(ErrorKind::Unsupported, "open", "the store has no such ability")
                .with("ability", what)
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

    /// The stores beside that of the history, each once.
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

    /// Closes all of them, also if one fails, and gives the first error.
    async fn close(&self) -> Result<()> {
        let mut closed = self.0.main.close().await;
        for other in self.0.others() {
            closed = closed.and(other.close().await);
        }
        closed
    }
}
