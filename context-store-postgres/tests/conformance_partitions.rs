//! Runs the conformance suite against schemas whose tables are divided by users.

mod subject;

use std::process::ExitCode;

use context_conformance::server_url;

fn main() -> ExitCode {
    let Some(url) = server_url("CONTEXT_TEST_POSTGRES_URL") else { return ExitCode::SUCCESS };
    subject::run("postgres in partitions", url, |config| config.partitions(4))
}
