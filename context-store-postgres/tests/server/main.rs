//! What the conformance suite does not ask: schemas and their versions, connections, round trips, row-level security, what stands
//! beside messages.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod beside;
mod connections;
mod lab;
mod proxy;
mod round_trips;
mod row_security;
mod schemas;
mod search;
