//! The tasks of the workspace, run as `cargo xtask TASK`.
//!
//! A task runs cargo and evaluates its results. This crate depends on none of the workspace's
//! crates except `context-servers`, which starts servers and depends on none of the others either.
//! So tasks build even while the other crates do not. The rules ([`layers`], [`tidy`]) are pure
//! functions over data, so that tests can show what each of them finds. Only [`run`] has side
//! effects.
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
pub mod package;
mod paths;
mod process;
mod public_types;
mod python;
mod rooms;
mod screenshots;
mod semver;
mod services;
pub mod source;
mod suites;
mod test;
pub mod tidy;
mod tools;
mod torture;
mod vectors;
mod width;
mod workspace;

pub use cli::{Cli, run};
pub use process::Verdict;

use std::process::ExitCode;

/// Returns the exit code of a task, and prints an error that kept it from ending.
pub fn exit_code(result: anyhow::Result<Verdict>) -> ExitCode {
    match result {
        Ok(Verdict::Passed) => ExitCode::SUCCESS,
        Ok(Verdict::Failed) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
