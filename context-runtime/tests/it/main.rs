//! The facade through its public API.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod conflicts;
mod edits;
mod fragments;
mod invariants;
mod kit;
mod lazy;
mod lost_replies;
mod travel;
mod trees;
mod turns;
