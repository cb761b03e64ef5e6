//! Memory: recall of earlier messages, notes and facts in later sessions, only for the user they
//! belong to.
//!
//! The traits of memory providers are always available. The providers need the feature `memory`.

#[cfg(feature = "secrets")]
mod masking;

pub use context_core::MemoryProvider;
pub use context_core::memory::{
    CapturedMessage, CapturedTurn, MemoryReview, MemoryScope, MemoryUse, Quarantine,
    QuarantineTarget, RecallQuery, Recalled, RecalledMemory, Trust, recalled_memories,
};
#[cfg(feature = "memory")]
pub use context_memory::*;
#[cfg(feature = "secrets")]
pub use masking::MaskingMemory;
