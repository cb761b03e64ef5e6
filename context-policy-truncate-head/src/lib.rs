//! A compaction policy that keeps the newest part of a conversation that is too long.
