//! Runs the conformance suite through a pooler of transactions, such as PgBouncer, which the
//! variable `CONTEXT_TEST_POOLER_URL` names.

mod subject;

use std::process::ExitCode;

use context_conformance::{find_optional_server, ignore_all};

fn main() -> ExitCode {
    match find_optional_server("CONTEXT_TEST_POOLER_URL", "a pooler of transactions") {
        Ok(url) => {
            subject::run("postgres behind a pooler", url, |config| config.statement_cache(0))
        }
        Err(missing) => ignore_all(&missing),
    }
}
