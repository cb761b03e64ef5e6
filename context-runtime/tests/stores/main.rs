//! All stores come to the same, whatever is done to them.
//!
//! The servers are this program's own. One that is not installed is left out, and said so; with
//! `CONTEXT_REQUIRE_SERVICES` that fails.

mod subjects;

use std::sync::Arc;

use context_conformance::{Settings, Subject, assert_same};
use context_servers::{Postgres, PostgresOptions, Redis, RedisOptions, ServerError};

use crate::subjects::{InMemory, OnPostgres, OnRedis, Sqlite};

/// A server, unless it is not installed.
#[expect(clippy::print_stderr, reason = "a test that asks less must say so")]
fn started<T>(server: Result<T, ServerError>) -> Option<T> {
    let required =
        std::env::var_os("CONTEXT_REQUIRE_SERVICES").is_some_and(|value| !value.is_empty());
    match server {
        Ok(server) => Some(server),
        Err(error @ ServerError::NotInstalled { .. }) if !required => {
            eprintln!("SKIPPED: {error}");
            None
        }
        Err(error) => panic!("a server of the test: {error}"),
    }
}

/// Sequences of all calls; how many, `CONTEXT_CONFORMANCE_CASES` says.
#[tokio::test]
async fn random_sequences_come_to_the_same_in_all_stores() {
    let postgres = started(Postgres::start(PostgresOptions::new()));
    let redis = started(Redis::start(RedisOptions::new()));
    let mut subjects: Vec<Arc<dyn Subject>> = vec![Arc::new(InMemory), Arc::new(Sqlite::new())];
    subjects.extend(postgres.as_ref().map(|server| {
        let subject: Arc<dyn Subject> = Arc::new(OnPostgres(server.url("postgres")));
        subject
    }));
    subjects.extend(redis.as_ref().map(|server| {
        let subject: Arc<dyn Subject> = Arc::new(OnRedis(server.url()));
        subject
    }));
    assert_same(&subjects, &Settings::from_env()).await;
}
