//! A cache of chains in memory.

mod chains;
mod loads;
mod read;
mod stats;
mod writes;

use std::fmt;
use std::sync::Arc;

use context_core::store::{
    BlobStore, FragmentLogStore, FragmentStore, HistoryStore, LeaseStore, Maintenance,
    MemoryRecordStore, OpenedChat, RefLogStore, SearchStore, StoreInfo, StreamStore,
    TrajectoryStore, Window,
};
use context_core::{BranchName, ChatRef, Result, Store};

use self::chains::CachedChains;
use self::loads::Loads;
pub use self::stats::CacheStats;

/// A store that caches the chains it has read, up to about the given number of bytes.
///
/// # Guarantees
///
/// * **Nothing stale.** Every read of a chain makes one call to the inner store. The call returns
///   the messages after the newest cached one and the current generation of the chat
///   ([`Window::After`](context_core::store::Window::After)). Writes of other handles and other
///   processes are therefore seen as without the cache. The cache saves the transfer and decoding
///   of messages that were read before, not the round trip.
/// * **One load at a time.** If several callers read the same uncached chain, one of them loads it.
///   Each of the others asks for the messages that followed.
/// * **Bounded.** The least used chains are evicted when the bytes are exceeded. A chain that is
///   too large for the cache is read each time.
/// * **Everything else is passed through.** Chats, branches, checkpoints, fragments, messages by
///   id, searches, blobs, streams and trajectories are read from the inner store, because
///   validating a cached copy would cost as much as reading.
///
/// A window that reaches beyond the cached part is read as requested, and cached. After an
/// amendment, a redaction or a deletion, the next read of a branch of that chat reads the whole
/// chain.
///
/// Content that is redacted or removed through this layer is dropped from memory at once. Content
/// that is redacted elsewhere is dropped when the branch is read the next time, when the entry is
/// evicted, or with [`clear`](Self::clear).
///
/// # Difference to the cache of engines
///
/// The facade's `ChainCache` keeps views, which engines derive from chains, with token counts and
/// hidden messages. It serves engines of one process that open and close often. This cache keeps
/// the chains as the store returned them, for any reader: a server, a command, an export, or
/// engines with or without a cache of their own. Both caches ask the store the same question, and
/// neither trusts its content without asking.
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

/// The shared state. It implements the store traits in place of [`CachedStore`], so that
/// `store.fragments()` is not ambiguous.
struct Shared {
    inner: Arc<dyn Store>,
    chains: CachedChains,
    loads: Loads,
}

impl CachedStore {
    /// Caches the chains of a store, up to about `bytes` bytes.
    pub fn new(store: Arc<dyn Store>, bytes: u64) -> Self {
        Self(Arc::new(Shared {
            inner: store,
            chains: CachedChains::new(bytes),
            loads: Loads::default(),
        }))
    }

    /// Returns the counters and the current size of the cache.
    pub fn stats(&self) -> CacheStats {
        self.0.chains.stats()
    }

    /// Drops all cached chains.
    pub fn clear(&self) {
        self.0.chains.clear();
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

    /// Messages come from the cache, so they are a call of their own.
    async fn open_chat(
        &self,
        chat: &ChatRef,
        branch: Option<&BranchName>,
        window: &Window,
    ) -> Result<Option<OpenedChat>> {
        OpenedChat::read(self, chat, branch, window).await
    }

    fn ref_log(&self) -> Option<&dyn RefLogStore> {
        self.0.inner.ref_log()
    }

    fn fragment_log(&self) -> Option<&dyn FragmentLogStore> {
        self.0.inner.fragment_log()
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

    fn leases(&self) -> Option<&dyn LeaseStore> {
        self.0.inner.leases()
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
