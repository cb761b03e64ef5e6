//! Tests of the crate through its public API, in one binary.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod amounts;
mod answers;
mod at_provider;
mod branches;
mod checkpoints;
mod covering;
mod fixture;
mod properties;
mod recorded;
mod requests;
