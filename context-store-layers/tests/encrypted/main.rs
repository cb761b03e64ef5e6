//! The encrypted store through its public API, and what reaches the store beneath.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod altered;
mod kit;
mod readable;
mod rotation;
mod rounds;
mod values;
