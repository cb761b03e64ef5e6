//! A compaction policy that takes media out of a conversation, oldest first.
