//! Runs the conformance suite against the store, with one schema per case.

mod subject;

use std::process::ExitCode;

use context_conformance::{find_server, ignore_all};

fn main() -> ExitCode {
    match find_server("CONTEXT_TEST_POSTGRES_URL") {
        Ok(url) => subject::run("postgres", url, |config| config),
        Err(missing) => ignore_all(&missing),
    }
}
