//! Runs the conformance suite against the store, with one schema per case.

mod subject;

use std::process::ExitCode;

use context_conformance::server_url;

fn main() -> ExitCode {
    let Some(url) = server_url("CONTEXT_TEST_POSTGRES_URL") else { return ExitCode::SUCCESS };
    subject::run("postgres", url, |config| config)
}
