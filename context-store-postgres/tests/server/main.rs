//! Tests beyond the conformance suite: schemas and their versions, connections, round trips,
//! row-level security, blobs and streams, memories.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod beside;
mod connections;
mod damage;
mod database;
mod lab;
mod memories;
mod memories_at_once;
mod memories_kept;
mod planted;
mod proxy;
mod reading;
mod round_tables;
mod round_trips;
mod rounds;
mod row_security;
mod schemas;
mod search;
