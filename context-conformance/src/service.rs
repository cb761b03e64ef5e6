//! Where the servers are that tests need.

use std::env;

/// The address that a variable of the environment holds, such as `CONTEXT_TEST_POSTGRES_URL`.
///
/// If there is none, says on standard error that what needs it is skipped, and how to have it run.
///
/// # Panics
///
/// If there is none and `CONTEXT_REQUIRE_SERVICES` is set: where servers are promised, nothing is
/// skipped.
#[expect(clippy::print_stderr, reason = "a test that asks nothing must say so")]
pub fn server_url(variable: &str) -> Option<String> {
    let url = env::var(variable).ok().filter(|url| !url.is_empty());
    if url.is_none() {
        let required =
            env::var_os("CONTEXT_REQUIRE_SERVICES").is_some_and(|value| !value.is_empty());
        assert!(!required, "{variable} is not set, and CONTEXT_REQUIRE_SERVICES is");
        eprintln!(
            "SKIPPED: {variable} is not set; `cargo xtask test` starts the server and sets it"
        );
    }
    url
}
