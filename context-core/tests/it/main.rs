//! Tests of the crate through its public API: the documented JSON forms, and traits that must stay
//! usable as trait objects.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod answers;
mod boundaries;
mod fragment_json;
mod message_json;
mod seams;
mod stored_messages;
mod trajectory;
