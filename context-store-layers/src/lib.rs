//! Stores over stores: each layer is a [`Store`](context_core::Store) that wraps another store and
//! keeps all of its guarantees.
//!
//! | feature | layer | what it does |
//! |---|---|---|
//! | `masking` | `MaskingStore` | replaces secrets by marks before they are written; `MaskingTrajectories` does so for local files of trajectories |
//! | `cached` | `CachedStore` | keeps chains in memory, bounded by bytes; never returns stale data |
//! | `traced` | `TracedStore` | opens a span of `tracing` for each call, with stable names |
//! | `retry` | `RetryStore` | retries calls that failed temporarily, and returns the correct answer after a lost reply |
//! | `split` | `SplitStore` | keeps history in one backend; blobs, streams and trajectories in others |
//! | `encrypted` | `EncryptedStore` | encrypts content before it reaches the backend |
//!
//! All features are enabled by default. Layers may be stacked in any order. A sensible order, from
//! the outside in, is *masking, traced, retry, cached, encrypted, split*: no other layer sees a
//! secret, traces show what is stored, a retry asks the cache again, the cache holds plain text
//! once, and no backend sees plain text.
//!
//! A layer offers the abilities of the inner store: `search` and `memories` (except for an
//! encrypted store), `blobs`, `streams`, `trajectories` and `maintenance`. A layer has no
//! connections and no tasks of its own, and takes times, ids and waits from outside.

#[cfg(any(
    feature = "cached",
    feature = "masking",
    feature = "retry",
    feature = "split",
    feature = "traced"
))]
mod abilities;
#[cfg(feature = "cached")]
mod cached;
#[cfg(any(
    feature = "cached",
    feature = "masking",
    feature = "retry",
    feature = "split",
    feature = "traced"
))]
mod call;
#[cfg(feature = "encrypted")]
mod encrypted;
#[cfg(any(
    feature = "cached",
    feature = "masking",
    feature = "retry",
    feature = "split",
    feature = "traced"
))]
mod forward;
#[cfg(any(feature = "retry", feature = "traced"))]
mod forward_store;
#[cfg(feature = "masking")]
mod masking;
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
    SealError, UserKeyFile, UserKeys,
};
#[cfg(feature = "masking")]
pub use masking::{MaskError, MaskEvent, MaskObserver, MaskingStore, MaskingTrajectories};
#[cfg(feature = "retry")]
pub use retry::{RetryPolicy, RetryStore, Sleeper, TokioSleeper};
#[cfg(feature = "split")]
pub use split::{SplitStore, SplitStoreBuilder};
#[cfg(feature = "traced")]
pub use traced::TracedStore;
