//! The public API over real folders.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod instruction_files;
mod skills;
