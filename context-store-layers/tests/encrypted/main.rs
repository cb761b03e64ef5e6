//! The encrypted store through its public API, and the data in the inner store.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod altered;
mod fixture;
mod readable;
mod rotation;
mod rounds;
mod user_keys;
mod values;
