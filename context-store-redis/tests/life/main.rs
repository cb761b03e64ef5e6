//! Tests beyond the conformance suite: chats that expire, keys that others remove, the number of
//! round trips, unusual names, and many writers.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may fail, and says what it skips"
)]

mod blobs_and_streams;
mod contention;
mod damage;
mod durability;
mod fixture;
mod loss;
mod memories;
mod memories_random;
mod names;
mod open;
mod plain_reads;
mod read_only;
mod round_trips;
mod rounds;
mod rounds_random;
