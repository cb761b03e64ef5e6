//! The entry point: parses the arguments, runs the task, returns the exit code.
#![allow(clippy::print_stderr, reason = "a command line program")]

use std::process::ExitCode;

use clap::Parser;
use xtask::{Cli, Verdict, run};

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(Verdict::Passed) => ExitCode::SUCCESS,
        Ok(Verdict::Failed) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
