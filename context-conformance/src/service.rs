//! The addresses of servers that tests need.

use std::env;

/// Returns the address in an environment variable such as `CONTEXT_TEST_POSTGRES_URL`.
///
/// Without an address, prints on standard error that the test is skipped, and how to run it.
///
/// # Panics
///
/// If there is no address and `CONTEXT_REQUIRE_SERVICES` is set: tests must not be skipped where
/// servers are promised.
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
