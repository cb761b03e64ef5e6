//! Tests of the layers beyond the conformance suite.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod cached;
mod closing;
mod fixture;
mod linear;
mod memories;
mod retry;
mod retry_property;
mod split;
mod traced;
