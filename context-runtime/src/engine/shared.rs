//! Chains that outlive the engines that read them.

use std::fmt;
use std::sync::Arc;

use context_core::{BranchName, ChatRef, Store};
use moka::sync::Cache;

use super::view::View;

/// What engines have read of a store, kept for the next engine: so that a turn on a chat that was
/// read before costs what is new, also where each request opens an engine of its own.
///
/// It holds at most about so many bytes; what was not used for the longest goes first. Nothing in
/// it is trusted: an engine asks the store what came after what is kept, and reads all again if
/// anything else has changed, so writes of other engines and other processes are seen as they are
/// without it. It never holds the only copy of anything.
///
/// Clones share one cache. Give it to
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
    /// A cache of at most about `bytes` bytes of chains of a store.
    pub fn new(store: Arc<dyn Store>, bytes: u64) -> Self {
        let weigh = |(chat, branch): &(ChatRef, BranchName), view: &View| {
            let key = chat.user.as_str().len() + chat.chat.as_str().len() + branch.as_str().len();
            u32::try_from(view.memory() + key).unwrap_or(u32::MAX)
        };
        Self { store, views: Cache::builder().max_capacity(bytes).weigher(weigh).build() }
    }

    /// The store whose chains these are.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// How many bytes it holds, about.
    pub fn bytes(&self) -> u64 {
        self.views.run_pending_tasks();
        self.views.weighted_size()
    }

    /// Forgets everything.
    pub fn clear(&self) {
        self.views.invalidate_all();
    }

    pub(super) fn get(&self, chat: &ChatRef, branch: &BranchName) -> Option<View> {
        self.views.get(&(chat.clone(), branch.clone()))
    }

    pub(super) fn put(&self, chat: &ChatRef, branch: &BranchName, view: &View) {
        self.views.insert((chat.clone(), branch.clone()), view.clone());
    }

    pub(super) fn forget(&self, chat: &ChatRef) {
        // Branches of one chat are few among the keys, and redactions are rare: look at all.
        let keys: Vec<_> =
            self.views.iter().filter(|(key, _)| key.0 == *chat).map(|(key, _)| key).collect();
        keys.iter().for_each(|key| self.views.invalidate(&**key));
    }
}

impl fmt::Debug for ChainCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChainCache").field("store", &self.store.info().name).finish_non_exhaustive()
    }
}
