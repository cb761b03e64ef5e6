//! Files read into a store and written back, through the public API.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod agents;
mod answer_trees;
mod documents;
mod exports;
mod files;
mod fixture;
mod forms;
mod growth;
mod logs;
mod opencode;
mod openhands;
mod openhands_v0;
mod pi;
mod rollouts;
mod sessions;
