//! The seam of memories: what is worth remembering comes back before a turn, and is kept behind it.
//!
//! Where records of memories are kept is another seam,
//! [`MemoryRecordStore`](crate::MemoryRecordStore).

mod provider;
mod recall;
mod scope;
mod turn;

pub use provider::MemoryProvider;
pub use recall::{RecallQuery, Recalled, RecalledMemory};
pub use scope::MemoryScope;
pub use turn::{CapturedMessage, CapturedTurn};
