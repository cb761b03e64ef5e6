//! All stores give the same results for the same calls.
//!
//! The program starts its own servers. One that is not installed is skipped with a message, or
//! fails with `CONTEXT_REQUIRE_SERVICES`.

mod subjects;

use std::sync::Arc;

use context_conformance::{CaseSettings, StoreFixture, assert_same};
use context_servers::{Postgres, PostgresOptions, Redis, RedisOptions, ServerError};

use crate::subjects::{InMemory, PostgresSubject, RedisSubject, Sqlite};

/// Returns a server, or `None` if it is not installed.
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

/// Runs random sequences of all calls. `CONTEXT_CONFORMANCE_CASES` sets how many.
#[tokio::test]
async fn random_sequences_come_to_the_same_in_all_stores() {
    let postgres = started(Postgres::start(PostgresOptions::new()));
    let redis = started(Redis::start(RedisOptions::new()));
    let mut subjects: Vec<Arc<dyn StoreFixture>> =
        vec![Arc::new(InMemory), Arc::new(Sqlite::new())];
    subjects.extend(postgres.as_ref().map(|server| {
        let subject: Arc<dyn StoreFixture> = Arc::new(PostgresSubject(server.url("postgres")));
        subject
    }));
    subjects.extend(redis.as_ref().map(|server| {
        let subject: Arc<dyn StoreFixture> = Arc::new(RedisSubject(server.url()));
        subject
    }));
    let mut settings = CaseSettings::from_env();
    if std::env::var_os("CONTEXT_CONFORMANCE_CASES").is_none() {
        // Each sequence runs in every store; a store alone is tested with more.
        settings.sequences = 20;
    }
    assert_same(&subjects, &settings).await;
}
