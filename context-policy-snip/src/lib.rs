//! A compaction policy that leaves out turns in the middle.
