//! Tests of the codec through its public API.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may fail and say why")]

mod answers;
mod compactions;
mod data;
mod marks;
mod messages;
mod recorded;
mod requests;
