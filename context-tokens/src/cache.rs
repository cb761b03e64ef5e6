//! A cache of token counts.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use context_core::message::{Media, MessageHash};
use context_core::model::{Framing, MediaKind, TokenCount, TokenCounter, Tool};
use context_core::{Message, Part};

/// A counter that counts every message once and caches the count.
///
/// A message that is [shared](TokenCounter::count_shared) is recognised by its address, without a
/// look at its content. Any other message is recognised by its hash, which is not computed if the
/// caller [knows it](TokenCounter::count_hashed). So of n messages of which one is new, only the
/// new one is counted. A message never changes, so a cached count is never wrong. Memory is
/// bounded: of the messages that were asked for most recently at least `capacity` are cached, and
/// at most twice as many. The cache does not keep messages alive.
///
/// ```
/// use std::sync::Arc;
/// use context_core::Message;
/// use context_core::model::TokenCounter;
/// use context_tokens::{CachedCounter, ModelCounter};
///
/// let counter = CachedCounter::new(Arc::new(ModelCounter::for_model("gpt-4o")));
/// let history = [Arc::new(Message::from("Two tickets to Lisbon, please."))];
/// assert_eq!(counter.count_messages(&history), counter.count_messages(&history));
/// ```
#[derive(Debug)]
pub struct CachedCounter {
    inner: Arc<dyn TokenCounter>,
    counts: Mutex<CachedCounts>,
}

/// The cached counts of messages.
#[derive(Debug)]
struct CachedCounts {
    /// By address. The weak pointer keeps the address from being reused for another message.
    shared: Recent<usize, (Weak<Message>, TokenCount), BuildHasherDefault<AddressHasher>>,
    by_hash: Recent<MessageHash, TokenCount, BuildHasherDefault<FirstBytes>>,
}

/// The default capacity of the cache, in messages.
pub const DEFAULT_CAPACITY: usize = 1 << 16;

impl CachedCounter {
    /// Creates a cache for the counts of [`DEFAULT_CAPACITY`] messages.
    pub fn new(inner: Arc<dyn TokenCounter>) -> Self {
        Self::with_capacity(inner, DEFAULT_CAPACITY)
    }

    /// Creates a cache for the counts of `capacity` messages, at least one.
    pub fn with_capacity(inner: Arc<dyn TokenCounter>, capacity: usize) -> Self {
        let counts = CachedCounts { shared: Recent::new(capacity), by_hash: Recent::new(capacity) };
        Self { inner, counts: Mutex::new(counts) }
    }

    /// Locks the maps. They are valid even if a thread panicked while it held the lock.
    fn counts(&self) -> MutexGuard<'_, CachedCounts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the count of a message, and caches it by content, and by address if it has one that
    /// others share.
    fn by_hash(
        &self,
        message: &Message,
        hash: &MessageHash,
        shared: Option<&Arc<Message>>,
    ) -> TokenCount {
        let known = self.counts().by_hash.get(hash);
        // The lock is not held while counting: other threads go on meanwhile, and counting a
        // message twice does no harm.
        let count = known.unwrap_or_else(|| self.inner.count_message(message));
        let mut counts = self.counts();
        if known.is_none() {
            counts.by_hash.insert(*hash, count);
        }
        if let Some(shared) = shared {
            counts.shared.insert(address(shared), (Arc::downgrade(shared), count));
        }
        count
    }
}

impl CachedCounts {
    /// Makes room for this many messages.
    fn reserve(&mut self, messages: usize) {
        self.shared.reserve(messages);
        self.by_hash.reserve(messages);
    }

    fn shared(&mut self, message: &Arc<Message>) -> Option<TokenCount> {
        let (cached, count) = self.shared.get(&address(message))?;
        (cached.as_ptr() == Arc::as_ptr(message)).then_some(count)
    }
}

fn address(message: &Arc<Message>) -> usize {
    Arc::as_ptr(message).addr()
}

impl TokenCounter for CachedCounter {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn count(&self, text: &str) -> TokenCount {
        self.inner.count(text)
    }

    fn count_media(&self, kind: MediaKind, media: &Media) -> TokenCount {
        self.inner.count_media(kind, media)
    }

    fn framing(&self) -> Framing {
        self.inner.framing()
    }

    fn count_part(&self, part: &Part) -> TokenCount {
        self.inner.count_part(part)
    }

    fn count_tool(&self, tool: &Tool) -> TokenCount {
        self.inner.count_tool(tool)
    }

    fn count_message(&self, message: &Message) -> TokenCount {
        self.by_hash(message, &message.hash(), None)
    }

    fn count_shared(&self, message: &Arc<Message>) -> TokenCount {
        let cached = self.counts().shared(message);
        cached.unwrap_or_else(|| self.by_hash(message, &message.hash(), Some(message)))
    }

    fn count_hashed(&self, message: &Arc<Message>, hash: &MessageHash) -> TokenCount {
        let cached = self.counts().shared(message);
        cached.unwrap_or_else(|| self.by_hash(message, hash, Some(message)))
    }

    fn count_messages(&self, messages: &[Arc<Message>]) -> TokenCount {
        let mut unknown = Vec::new();
        let mut total = TokenCount::ZERO;
        {
            let mut counts = self.counts();
            for message in messages {
                match counts.shared(message) {
                    Some(count) => total += count,
                    None => unknown.push(message),
                }
            }
            counts.reserve(unknown.len());
        }
        let count = |message: &Arc<Message>| self.by_hash(message, &message.hash(), Some(message));
        total + unknown.into_iter().map(count).sum()
    }
}

/// A map of recently used entries. When `new` is full, it replaces `old`, and the entries that were
/// not used since are dropped.
#[derive(Debug)]
struct Recent<K, V, S> {
    capacity: usize,
    new: HashMap<K, V, S>,
    old: HashMap<K, V, S>,
}

impl<K: Clone + Eq + Hash, V: Clone, S: Default + std::hash::BuildHasher> Recent<K, V, S> {
    fn new(capacity: usize) -> Self {
        Self { capacity: capacity.max(1), new: HashMap::default(), old: HashMap::default() }
    }

    fn get(&mut self, key: &K) -> Option<V> {
        if let Some(value) = self.new.get(key) {
            return Some(value.clone());
        }
        let (key, value) = self.old.remove_entry(key)?;
        self.insert(key, value.clone());
        Some(value)
    }

    fn reserve(&mut self, more: usize) {
        self.new.reserve(more.min(self.capacity.saturating_sub(self.new.len())));
    }

    fn insert(&mut self, key: K, value: V) {
        if self.new.len() >= self.capacity && !self.new.contains_key(&key) {
            self.old = std::mem::take(&mut self.new);
        }
        self.new.insert(key, value);
    }
}

/// Hashes addresses, whose low bits are zero.
#[derive(Debug, Default)]
struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_usize(usize::from(*byte));
        }
    }

    fn write_usize(&mut self, value: usize) {
        self.0 = (self.0 ^ value as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(26);
    }
}

/// Uses the first bytes of a key that is already a hash.
#[derive(Debug, Default)]
struct FirstBytes(u64);

impl Hasher for FirstBytes {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        if let Some(first) = bytes.first_chunk() {
            self.0 = u64::from_le_bytes(*first);
        }
    }

    fn write_usize(&mut self, _length: usize) {}
}
