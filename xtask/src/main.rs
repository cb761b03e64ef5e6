//! The entry point: parses the arguments, runs the task, returns the exit code.

use std::process::ExitCode;

use clap::Parser;
use xtask::{Cli, exit_code, run};

fn main() -> ExitCode {
    exit_code(run(Cli::parse()))
}
