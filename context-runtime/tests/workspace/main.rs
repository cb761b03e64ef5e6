//! Tests of workspaces: snapshots with git, and files that move with the conversation.

#![allow(clippy::unwrap_used, reason = "a test may fail")]
#![cfg(unix)]

mod fake;
mod git;
mod git_interrupted;
mod git_repository;
mod moves;
mod unfinished_moves;
