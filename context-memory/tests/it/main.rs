//! Tests of memories through the public API.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod blocks;
mod blocks_race;
mod conforms;
mod facts;
mod facts_capture;
#[cfg(feature = "remote")]
mod remote;
mod slow;
mod trust;
