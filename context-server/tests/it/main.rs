//! Tests of the inspector: its pages and API without a socket, and in a browser.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod access;
mod export;
mod memory;
mod pages;
mod run;
mod sent;
mod site;
