//! The crate through its public API, in one binary.

mod reminders;
