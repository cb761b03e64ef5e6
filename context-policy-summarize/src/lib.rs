//! A compaction policy that lets a checkpoint stand for earlier messages.
