//! A cache of chains, shared between engines.

use std::fmt;
use std::sync::Arc;

use context_core::{BranchName, ChatRef, Store};
use moka::sync::Cache;

use super::SharedViews;
use super::view::View;

/// A cache of the chains that engines have read from a store. A turn on a chat that was read before
/// only reads what is new, also if each request opens an engine of its own.
///
/// The cache holds approximately the given number of bytes and evicts the least recently used
/// chains first. Cached chains are never trusted as current: an engine asks the store for what came
/// after the cached chain, and reads all of it again if anything else has changed. So the writes of
/// other engines and processes are seen as without the cache. The cache never holds the only copy
/// of anything.
///
/// Clones share one cache. Pass it to
/// [`ContextEngineBuilder::cache`](crate::ContextEngineBuilder::cache).
///
/// ```
/// use std::sync::Arc;
///
/// use context_runtime::{ChainCache, ContextEngine, user};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = context_runtime::open("mem:").await?;
/// let cache = ChainCache::new(Arc::clone(&store), 64 << 20); // for all chats together
/// for text in ["A train?", "A cheaper one?"] {
///     // An engine for each request of a server; the second one reads only what is new.
///     let builder = ContextEngine::builder(Arc::clone(&store)).cache(&cache);
///     let mut chat = builder.user("ada").chat("lisbon").open().await?;
///     chat.set([user(text)]).save().await?;
/// }
/// assert!(cache.bytes() > 0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ChainCache {
    store: Arc<dyn Store>,
    views: Cache<(ChatRef, BranchName), View>,
}

impl ChainCache {
    /// Creates a cache of at most approximately `bytes` bytes of chains of a store.
    pub fn new(store: Arc<dyn Store>, bytes: u64) -> Self {
        let weigh = |(chat, branch): &(ChatRef, BranchName), view: &View| {
            let key = chat.user.as_str().len() + chat.chat.as_str().len() + branch.as_str().len();
            u32::try_from(memory(view) + key).unwrap_or(u32::MAX)
        };
        Self { store, views: Cache::builder().max_capacity(bytes).weigher(weigh).build() }
    }

    /// The store of these chains.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Returns the approximate number of bytes in the cache.
    pub fn bytes(&self) -> u64 {
        self.views.run_pending_tasks();
        self.views.weighted_size()
    }

    /// Removes all chains.
    pub fn clear(&self) {
        self.views.invalidate_all();
    }
}

impl SharedViews for ChainCache {
    fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    fn get(&self, chat: &ChatRef, branch: &BranchName) -> Option<View> {
        self.views.get(&(chat.clone(), branch.clone()))
    }

    fn put(&self, chat: &ChatRef, branch: &BranchName, view: &View) {
        self.views.insert((chat.clone(), branch.clone()), view.clone());
    }

    fn forget(&self, chat: &ChatRef) {
        // Redactions are rare, so a scan of all keys is acceptable.
        let keys: Vec<_> =
            self.views.iter().filter(|(key, _)| key.0 == *chat).map(|(key, _)| key).collect();
        keys.iter().for_each(|key| self.views.invalidate(&**key));
    }
}

/// Returns the approximate size of a view in memory, in bytes.
fn memory(view: &View) -> usize {
    // The size of a position map entry per message.
    const POSITION: usize = 96;
    let front = view.front().map(|node| node.body_length() + size_of_val(&**node));
    view.chain().memory() + view.chain().len() * POSITION + front.sum::<usize>()
}

impl fmt::Debug for ChainCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChainCache").field("store", &self.store.info().name).finish_non_exhaustive()
    }
}
