//! Tests of the inspector: its pages and API without a socket, and in a browser.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod access;
// The secrets of the tests of `context-secrets`.
#[path = "../../../context-secrets/tests/it/corpus.rs"]
mod corpus;
mod export;
mod mcp;
mod memory;
mod pages;
mod run;
mod run_file;
mod sent;
mod service;
mod site;
