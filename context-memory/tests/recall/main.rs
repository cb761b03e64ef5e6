//! Tests of episodes, the queue and the chain through the public API.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod chain;
mod conforms;
mod episodes;
mod fused;
mod kit;
mod queue;
mod ranking;
