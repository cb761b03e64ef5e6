//! The life cycle of chats in a file: deletion, redaction, erasure, files of older versions, and
//! large files.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]
#![allow(clippy::print_stdout, reason = "times of long tests")]

mod backup;
mod blobs;
mod damage;
mod listing;
mod log_length;
mod memories;
mod memories_random;
mod opening;
mod pieces;
mod random;
mod rounds;
mod rounds_one;
mod rounds_random;
mod rows;
mod salvage;
mod scale;
mod store_fixture;
mod streams;
mod traces;
mod upgrade;
