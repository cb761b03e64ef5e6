//! The interface of memories: recall before a turn, capture after it.
//!
//! Records are stored through another interface,
//! [`MemoryRecordStore`](crate::store::MemoryRecordStore).

mod forget;
mod fragment;
pub(crate) mod provider;
mod recall;
mod record;
mod review;
mod scope;
mod trust;
mod turn;

pub use forget::{MemoriesForgotten, MemoryForget};
pub use fragment::recalled_memories;
pub use recall::{RecallQuery, Recalled, RecalledMemory};
pub use record::{MemoryRecord, MemorySource, MemoryVector, StoredMemory};
pub use review::{MemoryReview, MemoryUse, Quarantine, QuarantineTarget};
pub use scope::MemoryScope;
pub use trust::Trust;
pub use turn::{CapturedMessage, CapturedTurn};
