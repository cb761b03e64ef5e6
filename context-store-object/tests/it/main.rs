//! What the suite cannot do: services that fail in the middle of a call, processes that die
//! between two requests, and calls that interleave request by request.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod deaths;
mod fixture;
mod layout;
mod races;
#[cfg(feature = "s3")]
mod server;
mod stops;
