//! The `context` command. All code is in the library, so that it can be tested.

use std::process::ExitCode;

fn main() -> ExitCode {
    context_cli::run()
}
