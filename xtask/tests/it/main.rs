//! Tests of the rules, on examples and on this workspace.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test may fail, and says what it skips"
)]

mod conformance;
mod conformance_command;
mod conformance_outside;
mod guide;

mod layers;
mod package;
mod services;
mod tidy;
