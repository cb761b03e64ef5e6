//! All stores give the same results for the same calls.
//!
//! The program starts its own servers.

mod subjects;

use std::sync::Arc;

use context_conformance::{CaseSettings, StoreFixture, assert_same};
use context_servers::{Postgres, PostgresOptions, Redis, RedisOptions};

use crate::subjects::{InMemory, PostgresSubject, RedisSubject, Sqlite};

/// Runs random sequences of all calls. `CONTEXT_CONFORMANCE_CASES` sets how many.
async fn compare(subjects: &[Arc<dyn StoreFixture>]) {
    let mut settings = CaseSettings::from_env();
    if std::env::var_os("CONTEXT_CONFORMANCE_CASES").is_none() {
        // Each sequence runs in every store; a store alone is tested with more.
        settings.sequences = 20;
    }
    assert_same(subjects, &settings).await;
}

#[tokio::test]
async fn random_sequences_come_to_the_same_in_memory_and_in_a_file() {
    compare(&[Arc::new(InMemory), Arc::new(Sqlite::new())]).await;
}

#[tokio::test]
#[ignore = "needs PostgreSQL and Redis; `cargo xtask test` runs it"]
async fn random_sequences_come_to_the_same_on_servers() {
    let postgres = Postgres::start(PostgresOptions::new()).unwrap();
    let redis = Redis::start(RedisOptions::new()).unwrap();
    compare(&[
        Arc::new(InMemory),
        Arc::new(PostgresSubject(postgres.url("postgres"))),
        Arc::new(RedisSubject(redis.url())),
    ])
    .await;
}
