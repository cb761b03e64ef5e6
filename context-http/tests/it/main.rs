//! Tests of the client against servers on loopback.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod client;
mod events;
mod server;
