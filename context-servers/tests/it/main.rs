//! Checks that servers start, are killed, come back with their committed data, and leave nothing
//! behind.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test may fail, and says what it skips"
)]

mod cluster;
mod owner;
mod postgres;
mod redis_server;
mod s3;

use context_servers::{Postgres, Redis, ServerError};

/// Whether a program is installed. Panics if it is missing where servers are promised.
fn there<T>(found: Result<T, ServerError>) -> bool {
    if let Err(missing) = &found {
        let required =
            std::env::var_os("CONTEXT_REQUIRE_SERVICES").is_some_and(|value| !value.is_empty());
        assert!(!required, "{missing}, and CONTEXT_REQUIRE_SERVICES is set");
        eprintln!("SKIPPED: {missing}");
    }
    found.is_ok()
}

fn has_postgres() -> bool {
    there(Postgres::programs())
}

fn has_redis() -> bool {
    there(Redis::program())
}

/// Whether a process exists.
fn exists(id: u32) -> bool {
    std::process::Command::new("sh")
        .args(["-c", &format!("kill -s 0 {id} 2>&-")])
        .status()
        .unwrap()
        .success()
}
