//! `context-conformance`: `cargo xtask conformance` for other repositories, to be installed from
//! the source of their dependencies.

use std::process::ExitCode;

use clap::Parser;
use xtask::conformance::Command;

fn main() -> ExitCode {
    xtask::exit_code(Command::parse().run())
}
