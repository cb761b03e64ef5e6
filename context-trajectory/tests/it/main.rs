//! Tests of the crate through its public API.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod factory;
mod files;
mod files_of_questions;
mod fixture;
mod lives;
mod messages;
mod portraits;
mod queues;
mod recorder;
mod replay;
mod restore;
mod rounds;
mod transcript;
