//! Tests of the codec through its public API.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may fail, and says what it skips"
)]

mod answers;
mod cached_content;
mod contents;
mod interactions;
mod properties;
mod recorded;
mod sending;
mod sending_media;
mod shared;
mod streams;
