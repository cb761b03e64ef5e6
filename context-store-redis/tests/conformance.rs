//! Runs the conformance suite against the store on one server, with one prefix per namespace.

mod subject;

use std::process::ExitCode;

use context_conformance::{find_server, ignore_all};

fn main() -> ExitCode {
    match find_server("CONTEXT_TEST_REDIS_URL") {
        Ok(url) => subject::run("redis", &url),
        Err(missing) => ignore_all(&missing),
    }
}
