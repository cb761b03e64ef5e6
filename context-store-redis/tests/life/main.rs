//! Tests beyond the conformance suite: chats that expire, keys that others remove, the number of
//! round trips, unusual names, and many writers.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may fail, and says what it skips"
)]

mod beside;
mod damage;
mod lab;
mod loss;
mod memories;
mod memories_beside;
mod names;
mod open;
mod reading;
mod rivals;
mod rounds;
mod rounds_beside;
mod trips;
