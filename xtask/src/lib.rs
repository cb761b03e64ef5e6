//! The workspace's tasks, run as `cargo xtask TASK`.
//!
//! A task drives cargo and judges what comes out; it links none of our crates, so that it builds
//! while they do not, but the one that starts servers, which depends on none of them either. Rules
//! ([`layers`], [`tidy`]) are pure functions over data, so that a test can show that each of them
//! finds what it is for; only [`run`] touches the world.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line program")]

mod bench;
mod ci;
mod cli;
pub mod conformance;
mod coverage;
mod environment;
mod fuzz;
mod guarantees;
pub mod layers;
mod limits;
mod mutants;
mod process;
mod semver;
mod services;
pub mod source;
mod test;
pub mod tidy;
mod tools;
mod torture;
mod vectors;
mod workspace;

pub use cli::{Cli, run};
pub use process::Verdict;
