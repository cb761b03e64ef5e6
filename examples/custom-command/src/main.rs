//! The `context` command with the store of `custom-store`: `--store redb:PATH`.
#![forbid(unsafe_code)]

mod factory;

use std::process::ExitCode;

use context_runtime::store::StoreRegistry;

use crate::factory::RedbFactory;

fn main() -> ExitCode {
    let mut stores = StoreRegistry::default();
    stores.register("redb", RedbFactory);
    context_cli::main_with(stores)
}
