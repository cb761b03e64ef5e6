//! Statistics of a cache.

/// The counters and the size of a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheStats {
    /// Reads that were answered from the cache and the messages that followed.
    pub hits: u64,
    /// Reads that loaded the chain or the requested part of it.
    pub misses: u64,
    /// The number of cached chains.
    pub chains: u64,
    /// Their approximate size in bytes.
    pub bytes: u64,
}
