//! Stores over stores: each layer is a [`Store`](context_core::Store) that changes how another one
//! is used, and nothing of what it promises.
//!
//! | feature | layer | what it does |
//! |---|---|---|
//! | `cached` | `CachedStore` | keeps chains in memory, bounded by bytes; never shows what is out of date |
//! | `traced` | `TracedStore` | a span of `tracing` for each call, with stable names |
//! | `retry` | `RetryStore` | repeats what failed for now, and says what is true after a lost reply |
//! | `split` | `SplitStore` | history in one backend; blobs, streams and trajectories in others |
//! | `encrypted` | `EncryptedStore` | encrypts what people said before it reaches the backend |
//!
//! All are on by default. They may be stacked in any order; from the outside in, *traced, retry,
//! cached, encrypted, split* is one that makes sense: what is traced is what the program sees, a
//! repetition asks the cache again, what is kept is kept readable and once, and no backend sees
//! what was said.
//!
//! A layer offers what the store inside offers: `search` and `memories` (but for an encrypted one),
//! `blobs`, `streams`, `trajectories` and `maintenance` are there if they are there. It has no
//! connections and no tasks of its own, and takes times, ids and waits from outside.

#[cfg(any(feature = "cached", feature = "retry", feature = "split", feature = "traced"))]
mod abilities;
#[cfg(feature = "cached")]
mod cached;
#[cfg(any(feature = "cached", feature = "retry", feature = "split", feature = "traced"))]
mod call;
#[cfg(feature = "encrypted")]
mod encrypted;
#[cfg(any(feature = "cached", feature = "retry", feature = "split", feature = "traced"))]
mod forward;
#[cfg(any(feature = "retry", feature = "traced"))]
mod offer;
#[cfg(feature = "retry")]
mod retry;
#[cfg(feature = "split")]
mod split;
#[cfg(feature = "traced")]
mod traced;

#[cfg(feature = "cached")]
pub use cached::{CacheStats, CachedStore};
#[cfg(feature = "encrypted")]
pub use encrypted::{
    EncryptedStore, EncryptionKey, KeyError, KeyId, KeyRing, KeyUsage, RotateOptions, Rotated,
    SealError,
};
#[cfg(feature = "retry")]
pub use retry::{RetryPolicy, RetryStore, Sleeper, TokioSleeper};
#[cfg(feature = "split")]
pub use split::{SplitStore, SplitStoreBuilder};
#[cfg(feature = "traced")]
pub use traced::TracedStore;
