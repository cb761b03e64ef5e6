//! Runs the conformance suite through a pooler of transactions, such as PgBouncer, which the
//! variable `CONTEXT_TEST_POOLER_URL` names.

mod subject;

use std::process::ExitCode;

#[expect(clippy::print_stderr, reason = "what is skipped is said")]
fn main() -> ExitCode {
    let variable = "CONTEXT_TEST_POOLER_URL";
    match std::env::var(variable).ok().filter(|url| !url.is_empty()) {
        Some(url) => {
            subject::run("postgres behind a pooler", url, |config| config.statement_cache(0))
        }
        None => {
            eprintln!("SKIPPED: {variable} is not set; it names a pooler of transactions");
            ExitCode::SUCCESS
        }
    }
}
