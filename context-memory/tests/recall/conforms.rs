//! The contract of memories, by the suite that proves it of any.
