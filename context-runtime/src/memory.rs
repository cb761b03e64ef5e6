//! Memories: what was said, notes and facts come back in later sessions, and only to whom they
//! belong.
//!
//! The seam of providers is always here; the providers are with the feature `memory`.

pub use context_core::MemoryProvider;
pub use context_core::memory::{
    CapturedMessage, CapturedTurn, MemoryScope, RecallQuery, Recalled, RecalledMemory,
    recalled_memories,
};
#[cfg(feature = "memory")]
pub use context_memory::*;
