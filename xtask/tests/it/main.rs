//! The rules find what they are for, and our own workspace keeps them.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test may fail, and says what it skips"
)]

mod conformance;
mod layers;
mod services;
mod tidy;
