//! The settings that the durability of a commit depends on. They take effect when the statement is
//! prepared, so no test prepares them together with the others.

/// Flushes the log at each commit.
pub(crate) const FLUSH_EACH_COMMIT: &str = "PRAGMA synchronous = FULL";
/// Flushes the log before its pages are moved into the file.
pub(crate) const FLUSH_AT_CHECKPOINTS: &str = "PRAGMA synchronous = NORMAL";
