//! Runs the conformance suite against the store on one server, with one prefix per namespace.

mod subject;

use std::process::ExitCode;

fn main() -> ExitCode {
    match context_conformance::server_url("CONTEXT_TEST_REDIS_URL") {
        Some(url) => subject::run("redis", &url),
        None => ExitCode::SUCCESS,
    }
}
