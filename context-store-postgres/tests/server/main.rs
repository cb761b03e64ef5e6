//! Tests beyond the conformance suite: schemas and their versions, connections, round trips,
//! row-level security, blobs and streams, memories.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod blobs_and_streams;
mod connections;
mod damage;
mod database;
mod durability;
mod every_column;
mod fixture;
mod memories;
mod memories_load;
mod memory_tables;
mod partitions;
mod proxy;
mod reading;
mod round_tables;
mod round_trips;
mod rounds;
mod row_security;
mod schemas;
mod search;
mod together;
