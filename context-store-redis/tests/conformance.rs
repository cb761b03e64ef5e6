//! The store on one server passes the conformance suite, each namespace under a prefix of its own.

mod subject;

use std::process::ExitCode;

fn main() -> ExitCode {
    match context_conformance::server_url("CONTEXT_TEST_REDIS_URL") {
        Some(url) => subject::run("redis", &url),
        None => ExitCode::SUCCESS,
    }
}
