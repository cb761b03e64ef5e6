//! The cached chains, by their ends, bounded by bytes.

use std::sync::atomic::{AtomicU64, Ordering};

use context_core::message::NodeKind;
use context_core::store::{ChainEnd, Window};
use context_core::{BranchName, Chain, ChatRef, MessageId, UserId};
use moka::sync::Cache;

use super::stats::CacheStats;

/// The chat of a chain and the end of the chain.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    chat: ChatRef,
    end: CachedEnd,
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum CachedEnd {
    Branch(BranchName),
    Message(MessageId),
}

impl Key {
    pub(super) fn new(chat: &ChatRef, end: &ChainEnd) -> Self {
        let end = match end {
            ChainEnd::Branch(branch) => CachedEnd::Branch(branch.clone()),
            ChainEnd::Message(message) => CachedEnd::Message(message.clone()),
        };
        Self { chat: chat.clone(), end }
    }

    pub(super) fn branch(chat: &ChatRef, branch: &BranchName) -> Self {
        Self { chat: chat.clone(), end: CachedEnd::Branch(branch.clone()) }
    }

    fn bytes(&self) -> usize {
        let end = match &self.end {
            CachedEnd::Branch(branch) => branch.as_str(),
            CachedEnd::Message(message) => message.as_str(),
        };
        self.chat.user.as_str().len() + self.chat.chat.as_str().len() + end.len()
    }
}

/// Cached chains, none of them empty. Each was the state of its chat in one generation. Only the
/// store knows whether it still is.
pub(super) struct CachedChains {
    chains: Cache<Key, Chain>,
    capacity: u64,
    hits: AtomicU64,
    misses: AtomicU64,
}

impl CachedChains {
    pub(super) fn new(bytes: u64) -> Self {
        let chains = Cache::builder().max_capacity(bytes).weigher(weight).build();
        Self { chains, capacity: bytes, hits: AtomicU64::new(0), misses: AtomicU64::new(0) }
    }

    /// Returns the cached part of a chain, if it covers this window.
    pub(super) fn get(&self, key: &Key, window: &Window) -> Option<Chain> {
        self.chains.get(key).filter(|chain| reaches(chain, window))
    }

    /// Returns the cached part of a chain that ends with this message.
    pub(super) fn ending_with(&self, key: &Key, head: &MessageId) -> Option<Chain> {
        self.chains.get(key).filter(|chain| chain.head() == Some(head))
    }

    /// Caches a chain, unless a longer part of the same generation is cached, or the chain exceeds
    /// the capacity.
    pub(super) fn put(&self, key: &Key, chain: &Chain) {
        if u64::from(weight(key, chain)) > self.capacity {
            return self.forget(key);
        }
        let has_more = |cached: &Chain| {
            cached.generation() == chain.generation() && cached.skipped() < chain.skipped()
        };
        if !chain.is_empty() && !self.chains.get(key).is_some_and(|cached| has_more(&cached)) {
            self.chains.insert(key.clone(), chain.clone());
        }
    }

    pub(super) fn forget(&self, key: &Key) {
        self.chains.invalidate(key);
    }

    /// Drops all chains of a chat.
    pub(super) fn forget_chat(&self, chat: &ChatRef) {
        self.forget_where(|key| key.chat == *chat);
    }

    /// Drops all chains of a user.
    pub(super) fn forget_user(&self, user: &UserId) {
        self.forget_where(|key| key.chat.user == *user);
    }

    /// Removals are rare, so all keys are scanned instead of maintaining an index.
    fn forget_where(&self, gone: impl Fn(&Key) -> bool) {
        let keys: Vec<_> = self.chains.iter().map(|(key, _)| key).filter(|key| gone(key)).collect();
        keys.iter().for_each(|key| self.chains.invalidate(&**key));
        // An invalidated entry holds its chain until the cache runs its pending tasks.
        self.chains.run_pending_tasks();
    }

    pub(super) fn clear(&self) {
        self.chains.invalidate_all();
        self.chains.run_pending_tasks();
    }

    pub(super) fn hit(&self) {
        self.hits.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn miss(&self) {
        self.misses.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn stats(&self) -> CacheStats {
        self.chains.run_pending_tasks();
        CacheStats {
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            chains: self.chains.entry_count(),
            bytes: self.chains.weighted_size(),
        }
    }
}

/// Returns the approximate size of an entry in bytes.
fn weight(key: &Key, chain: &Chain) -> u32 {
    u32::try_from(chain.memory() + key.bytes() + size_of::<Key>()).unwrap_or(u32::MAX)
}

/// Whether the window of the whole chain lies within this part of the chain, even if more messages
/// follow.
pub(super) fn reaches(part: &Chain, window: &Window) -> bool {
    if part.is_whole() {
        return true;
    }
    match window {
        Window::Last(n) => *n <= part.len(),
        Window::Boundary => part.iter().rev().any(|node| node.kind == NodeKind::Boundary),
        // The node before the window must be known not to fit into it.
        Window::Tokens(_) => window.of(part).len() < part.len(),
        Window::After { message, generation } => {
            *generation == part.generation() && part.position(message).is_some()
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use context_core::{Encoded, Message, Node, Role, Timestamp};

    fn chain(boundary: usize) -> Chain {
        let nodes = (0..9).map(|i| {
            let (id, at) = (format!("m{i}"), Timestamp::default());
            Arc::new(if i == boundary {
                Node::from_encoded(id.into(), NodeKind::Boundary, at, Encoded::new("cut", 1, ""))
                    .with_tokens(10)
            } else {
                Node::new(id, Message::text(Role::User, "x"), at).with_tokens(10)
            })
        });
        Chain::from_nodes(0, nodes).with_generation(7)
    }

    /// Wherever the cached part begins, every window that it covers is the same as that of the
    /// whole chain.
    #[test]
    fn a_part_answers_as_the_whole_or_not_at_all() {
        let after =
            |message: &str, generation| Window::After { message: message.into(), generation };
        let windows = [
            (Window::Whole, 0),
            (Window::Last(3), 6),
            (Window::Boundary, 4),
            (Window::Tokens(30), 5),
            (Window::Tokens(0), 7),
            (after("m5", 7), 5),
            (after("m5", 6), 0),
            (after("ghost", 7), 0),
        ];
        let whole = chain(4);
        for (window, last_start) in windows {
            for start in 0..whole.len() {
                let part = whole.suffix(start);
                assert_eq!(reaches(&part, &window), start <= last_start, "{window:?} from {start}");
                if reaches(&part, &window) {
                    assert_eq!(window.of(&part), window.of(&whole), "{window:?} from {start}");
                }
            }
        }
    }
}
