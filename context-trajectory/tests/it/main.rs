//! Tests of the crate through its public API.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod factory;
mod files;
mod fixture;
mod mentions;
mod messages;
mod portraits;
mod queues;
mod random_rounds;
mod record_chat;
mod recorded_message;
mod recorder;
mod replay;
mod restore;
mod rounds;
mod shared;
mod transcript;
