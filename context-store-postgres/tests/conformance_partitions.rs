//! Runs the conformance suite against schemas whose tables are divided by users.

mod subject;

use std::process::ExitCode;

use context_conformance::{find_server, ignore_all};

fn main() -> ExitCode {
    match find_server("CONTEXT_TEST_POSTGRES_URL") {
        Ok(url) => subject::run("postgres in partitions", url, |config| config.partitions(4)),
        Err(missing) => ignore_all(&missing),
    }
}
