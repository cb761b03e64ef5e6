//! Tests of the crate through its public API, in one binary.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod instruction_files;
mod reminders;
mod skills;
