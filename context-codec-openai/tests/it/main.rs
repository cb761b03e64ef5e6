//! Tests of the wire forms through the public API.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may fail, and say what it found"
)]

mod chat;
mod chat_answer;
mod chat_recorded;
mod chat_request;
mod data;
mod prompt_cache;
mod responses;
mod responses_answers;
mod responses_data;
mod responses_read;
mod sent;
