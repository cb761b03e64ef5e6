//! Numbers of a cache.

/// What a cache did and holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheStats {
    /// Reads that were answered with what was kept and what had followed it.
    pub hits: u64,
    /// Reads for which the chain, or the part that was asked for, was loaded.
    pub misses: u64,
    /// How many chains are kept.
    pub chains: u64,
    /// How many bytes they take, about.
    pub bytes: u64,
}
