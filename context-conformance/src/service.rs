//! The servers and the data that tests need.

use std::env;
use std::path::{Path, PathBuf};

use context_simulator::recordings;

use crate::missing::Missing;

/// Returns the address in an environment variable such as `CONTEXT_TEST_POSTGRES_URL`.
///
/// # Errors
///
/// If there is no address.
///
/// # Panics
///
/// If there is no address and `CONTEXT_REQUIRE_SERVICES` is set: nothing may be left out where
/// servers are promised.
pub fn find_server(variable: &str) -> Result<String, Missing> {
    let found = find_optional_server(variable, "a server; `cargo xtask test` starts one");
    let required = env::var_os("CONTEXT_REQUIRE_SERVICES").is_some_and(|value| !value.is_empty());
    assert!(found.is_ok() || !required, "{variable} is not set, and CONTEXT_REQUIRE_SERVICES is");
    found
}

/// Returns the address of a server that not every machine can have, such as another version.
///
/// # Errors
///
/// If there is no address, whether servers are promised or not.
pub fn find_optional_server(variable: &str, what: &str) -> Result<String, Missing> {
    let address = env::var(variable).ok().filter(|url| !url.is_empty());
    address.ok_or_else(|| Missing::new(format!("{variable} is not set; it names {what}")))
}

/// Returns the address in an environment variable such as `CONTEXT_TEST_POSTGRES_URL`. Without an
/// address, the current test ends and is reported as ignored, see [`Missing::ignore_test`].
///
/// # Panics
///
/// As [`find_server`].
pub fn server_url(variable: &str) -> String {
    find_server(variable).unwrap_or_else(|missing| missing.ignore_test())
}

/// Returns a file or a folder of the test data, such as `data/claude-code`. Without it, the current
/// test ends and is reported as ignored, see [`Missing::ignore_test`].
pub fn test_data(name: impl AsRef<Path>) -> PathBuf {
    let path = recordings::root().join(name);
    if !path.exists() {
        let reason = format!(
            "there is no test data at {}; CONTEXT_TEST_DATA names another place",
            path.display()
        );
        Missing::new(reason).ignore_test()
    }
    path
}
