//! Chains that were read before, kept in memory.

mod chains;
mod kept;
mod loads;
mod stats;
mod writes;

use std::fmt;
use std::sync::Arc;

use context_core::Store;
use context_core::store::{
    BlobStore, FragmentStore, HistoryStore, Maintenance, MemoryRecordStore, SearchStore, StoreInfo,
    StreamStore, TrajectoryStore,
};

use self::kept::Kept;
use self::loads::Loads;
pub use self::stats::CacheStats;

/// A store that keeps the chains it has read, at most about so many bytes of them.
///
/// # What it promises
///
/// * **Nothing stale.** Every read of a chain asks the store inside, by one call, what follows the
///   newest message that is kept and whether the chat is still of the same edition
///   ([`Window::After`](context_core::store::Window::After)). So writes of other handles and other
///   processes are seen as they are without the cache. What is saved is the transport and the
///   reading of messages that were read before, not the question.
/// * **One load at a time.** Of those who read the same chain when it is not kept, one loads it;
///   each other asks what came after.
/// * **Bounded.** What was used least goes when the bytes are full. What does not fit at all is
///   read each time.
/// * **All else passes.** Chats, branches, checkpoints, fragments, messages by id, searches, blobs,
///   streams and trajectories are those of the store inside: to ask whether they are still right
///   would cost what reading them costs.
///
/// A window that what is kept does not reach is read as it is asked for, and kept. After an
/// amendment, a redaction or a deletion the next read of a branch of that chat reads all of it.
///
/// What is redacted or removed through this layer leaves its memory at once. What somebody else
/// redacts leaves it when the branch is read the next time, when it has to make room, or with
/// [`clear`](Self::clear).
///
/// # Beside the cache of engines
///
/// The facade's `ChainCache` keeps views: what engines made of chains, with all that they count and
/// hide. It serves engines of one process that open and close often. This one keeps what the store
/// said, for whoever reads through it: a server, a command, an export, engines with or without a
/// cache of their own. Both ask the store the same question; neither trusts what it has.
///
/// ```
/// use std::sync::Arc;
///
/// use context_core::{ChatRef, Message, Node, Role, Store, Timestamp};
/// use context_core::store::{ChainEnd, Commit, NewChat, Target, Window};
/// use context_store_inmem::InMemoryStore;
/// use context_store_layers::CachedStore;
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let store = CachedStore::new(Arc::new(InMemoryStore::default()), 64 << 20);
/// let (chat, now) = (ChatRef::new("ada", "trip"), Timestamp::from_micros(1));
/// let _ = store.history().create_chat(NewChat::new(chat.clone(), now)).await?;
/// let target = Target::Extend { branch: "main".into(), expected: None };
/// let node = Node::new("m1", Message::text(Role::User, "hello"), now);
/// let commit = Commit { nodes: vec![Arc::new(node)], ..Commit::new(chat.clone(), target, now) };
/// let _ = store.history().commit(commit).await?;
/// for _ in 0..3 {
///     store.history().chain(&chat, &ChainEnd::Branch("main".into()), &Window::Whole).await?;
/// }
/// let stats = store.stats();
/// assert_eq!((stats.hits, stats.misses, stats.chains), (2, 1, 1));
/// # Ok::<_, context_core::Error>(())
/// # })?;
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
///
/// Clones share one cache.
#[derive(Clone)]
pub struct CachedStore(Arc<Shared>);

/// Implements the seam apart from [`CachedStore`], so that `store.fragments()` can only mean one
/// thing.
struct Shared {
    inner: Arc<dyn Store>,
    kept: Kept,
    loads: Loads,
}

impl CachedStore {
    /// Keeps at most about `bytes` bytes of the chains of a store.
    pub fn new(store: Arc<dyn Store>, bytes: u64) -> Self {
        Self(Arc::new(Shared { inner: store, kept: Kept::new(bytes), loads: Loads::default() }))
    }

    /// What it did so far and what it holds now.
    pub fn stats(&self) -> CacheStats {
        self.0.kept.stats()
    }

    /// Forgets all chains.
    pub fn clear(&self) {
        self.0.kept.clear();
    }
}

impl fmt::Debug for CachedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CachedStore").field("inner", &self.0.inner).finish_non_exhaustive()
    }
}

#[async_trait::async_trait]
#[deny(clippy::missing_trait_methods)]
impl Store for CachedStore {
    fn info(&self) -> StoreInfo {
        self.0.inner.info()
    }

    fn history(&self) -> &dyn HistoryStore {
        &*self.0
    }

    fn fragments(&self) -> &dyn FragmentStore {
        self.0.inner.fragments()
    }

    fn search(&self) -> Option<&dyn SearchStore> {
        self.0.inner.search()
    }

    fn blobs(&self) -> Option<&dyn BlobStore> {
        self.0.inner.blobs()
    }

    fn streams(&self) -> Option<&dyn StreamStore> {
        self.0.inner.streams()
    }

    fn trajectories(&self) -> Option<&dyn TrajectoryStore> {
        self.0.inner.trajectories()
    }

    fn memories(&self) -> Option<&dyn MemoryRecordStore> {
        self.0.inner.memories()
    }

    fn maintenance(&self) -> Option<&dyn Maintenance> {
        self.0.inner.maintenance().map(|_| &*self.0 as &dyn Maintenance)
    }

    async fn close(&self) -> context_core::Result<()> {
        self.clear();
        self.0.inner.close().await
    }
}
