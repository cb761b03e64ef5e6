//! The `context` command. All code is in the library, so that it can be tested.

use std::process::ExitCode;

use context_runtime::store::StoreRegistry;

fn main() -> ExitCode {
    context_cli::main_with(StoreRegistry::default())
}
