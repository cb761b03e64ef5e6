//! Every statement fits the schema, and reads no more than it needs.

use sqlx::{Executor, Row, SqlSafeStr};

use super::*;
use crate::{SqliteConfig, SqliteStore};

#[tokio::test]
async fn every_statement_fits_the_schema() {
    let folder = tempfile::tempdir().unwrap();
    let config = SqliteConfig::new(folder.path().join("s.db"));
    let connections = SqliteStore::open(config).await.unwrap().into_connections();
    let mut writer = connections.writer().await.unwrap();
    sqlx::query(words::LIST_WORDS).execute(&mut writer.connection).await.unwrap();
    let parts = [ALL, leases::ALL, memories::ALL, ref_log::ALL, rounds::ALL, words::ALL];
    for (name, text) in parts.into_iter().chain([fragment_versions::ALL]).flatten() {
        let prepared = (&mut writer.connection).prepare(text.into_sql_str()).await;
        assert!(prepared.is_ok(), "{name}: {:?}\n{text}", prepared.err());
    }
    assert_eq!(row!().matches('?').count(), ROW_VALUES);
}

/// Statements that go through whole tables: the check, and counting what is left of a user.
const WHOLE: [&str; 12] = [
    "SEAL_SCHEMA",
    "COUNT_USERS",
    "REMAINING",
    "MISCOUNTED",
    "STRAY_RUNS",
    "STRAY_BOUNDARIES",
    "STRAY_PIECES",
    "WRONG_BLOB_REFS",
    "STRAY_STREAM_CHUNKS",
    "STRAY_NODES",
    "WRONG_MESSAGES",
    "STRAY_UNINDEXED",
];

/// A read of a branch's tail joined the runs with `ON false`, for which SQLite goes through all
/// runs of the file: a turn in a file of a thousand chats took twenty times as long as in a
/// file of one.
#[tokio::test]
async fn no_statement_goes_through_what_it_does_not_need() {
    let folder = tempfile::tempdir().unwrap();
    let config = SqliteConfig::new(folder.path().join("s.db"));
    let connections = SqliteStore::open(config).await.unwrap().into_connections();
    let mut writer = connections.writer().await.unwrap();
    let parts = [ALL, leases::ALL, ref_log::ALL, rounds::ALL, fragment_versions::ALL];
    for (name, text) in parts.into_iter().flatten().filter(|(name, _)| !WHOLE.contains(name)) {
        let plan = sqlx::query(sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {text}")));
        let plan = plan.fetch_all(&mut writer.connection).await.unwrap();
        let steps: Vec<&str> = plan.iter().map(|row| row.get(3)).collect();
        let made = |step: &&str| Some(step.strip_prefix("CO-ROUTINE ")?.to_owned());
        // Rows that the statement itself has made, under the name or an alias of a view.
        let mut made: Vec<String> = steps.iter().filter_map(made).collect();
        made.extend(["piece", "p", "f", "a", "spot", "sqlite_schema"].map(str::to_owned));
        for step in &steps {
            let Some(scanned) = step.strip_prefix("SCAN ") else { continue };
            let is_table = !made.iter().any(|made| scanned == made)
                && !["VIRTUAL TABLE", "CONSTANT ROW", "VALUES CLAUSE", "(subquery"]
                    .iter()
                    .any(|other| scanned.contains(other));
            assert!(!is_table, "{name}: {step}\n{}", steps.join("\n"));
        }
    }
}
