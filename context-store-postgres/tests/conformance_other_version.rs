//! Runs the conformance suite against a server of another version, where one is installed.

mod subject;

use std::process::ExitCode;

use context_conformance::{find_optional_server, ignore_all};

fn main() -> ExitCode {
    let what = "a PostgreSQL server of another version than the other tests have";
    match find_optional_server("CONTEXT_TEST_OTHER_POSTGRES_URL", what) {
        Ok(url) => subject::run("postgres, another version", url, |config| config),
        Err(missing) => ignore_all(&missing),
    }
}
