//! A compaction policy that shortens old results of tools.
