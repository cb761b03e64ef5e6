//! The seam of memories: what is worth remembering comes back before a turn, and is kept behind it.
//!
//! Where records of memories are kept is another seam,
//! [`MemoryRecordStore`](crate::store::MemoryRecordStore).

mod forget;
mod fragment;
pub(crate) mod provider;
mod recall;
mod record;
mod scope;
mod turn;

pub use forget::{MemoriesForgotten, MemoryForget};
pub use fragment::recalled_memories;
pub use recall::{RecallQuery, Recalled, RecalledMemory};
pub use record::{MemoryRecord, MemorySource, MemoryVector, StoredMemory};
pub use scope::MemoryScope;
pub use turn::{CapturedMessage, CapturedTurn};
