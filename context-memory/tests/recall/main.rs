//! Episodes, the queue before them and the chain around them, through the public API.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod chain;
mod conforms;
mod episodes;
mod kit;
mod queue;
mod ranking;
