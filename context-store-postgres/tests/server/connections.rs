//! Connections that break, are dropped, are shared or are few, and concurrent writers.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use context_core::store::CommitOutcome;
use context_core::{ErrorKind, Retry, Store};
use context_store_postgres::{PostgresConfig, PostgresStore};
use sqlx::Connection;
use sqlx::postgres::PgPoolOptions;
use tokio::task::JoinSet;

use crate::fixture::{StoreFixture, append, chat, extend, ids, nothing_is_wrong, says};

pub(crate) async fn a_pool_of_the_program_is_used_and_left_open() {
    let fixture = StoreFixture::new();
    let pool = PgPoolOptions::new()
        .max_connections(2)
        .test_before_acquire(false)
        .connect(&fixture.url)
        .await
        .unwrap();
    let config = PostgresConfig::from_pool(pool.clone()).schema(fixture.schema.as_str());
    let store = PostgresStore::open(config).await.unwrap();
    let chat = chat(&store, "ada").await;
    append(&store, &chat, "", &["a", "b"]).await;
    for _ in 0..4 {
        // Dropped in the middle, more often than there are connections. A fast server may have
        // answered already.
        let mut reading = pin!(ids(&store, &chat));
        let _answered = poll_fn(|context| Poll::Ready(reading.as_mut().poll(context))).await;
    }
    assert_eq!(ids(&store, &chat).await, ["a", "b"]);
    store.close().await.unwrap();
    let path: String = sqlx::query_scalar("SHOW search_path").fetch_one(&pool).await.unwrap();
    assert!(!path.contains(&fixture.schema), "{path}");
    pool.close().await;
    fixture.drop().await;
}

/// Behind PgBouncer 1.18 in transaction mode nothing worked, though the documentation said that it
/// does without a cache: statements were prepared by name all the same. The next user of the
/// server's connection then had a statement of that name already.
pub(crate) async fn without_a_cache_no_statement_stays_prepared() {
    let fixture = StoreFixture::new();
    let pool = PgPoolOptions::new().max_connections(1).test_before_acquire(false);
    let pool = pool.connect(&fixture.url).await.unwrap();
    let config = PostgresConfig::from_pool(pool.clone()).schema(fixture.schema.as_str());
    let store = PostgresStore::open(config.statement_cache(0)).await.unwrap();
    let chat = chat(&store, "ada").await;
    append(&store, &chat, "", &["a", "b"]).await;
    assert_eq!(ids(&store, &chat).await, ["a", "b"]);
    nothing_is_wrong(&store).await;
    store.close().await.unwrap();
    let prepared = sqlx::raw_sql("SELECT name FROM pg_prepared_statements WHERE NOT from_sql");
    assert_eq!(prepared.fetch_all(&pool).await.unwrap().len(), 0);
    pool.close().await;
    fixture.drop().await;
}

/// The server ends all connections of the store, as after a restart: one call fails, the next
/// succeeds.
pub(crate) async fn a_broken_connection_is_replaced() {
    let fixture = StoreFixture::new();
    let late = if fixture.url.contains('?') { '&' } else { '?' };
    let name = fixture.schema.clone();
    let fixture = StoreFixture {
        url: format!("{}{late}application_name={name}", fixture.url),
        schema: fixture.schema,
    };
    let store = fixture.open().await;
    let chat = chat(&store, "ada").await;
    append(&store, &chat, "", &["a"]).await;
    let mut other = sqlx::postgres::PgConnection::connect(&fixture.url).await.unwrap();
    let end = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
        WHERE application_name = $1 AND pid <> pg_backend_pid()";
    let ended = sqlx::query(end).bind(&name).fetch_all(&mut other).await.unwrap();
    assert!(!ended.is_empty());
    let error = store.history().chat(&chat).await.unwrap_err();
    assert_eq!((error.kind(), error.retry()), (ErrorKind::Unavailable, Retry::Safe), "{error:?}");
    assert_eq!(ids(&store, &chat).await, ["a"]);
    append(&store, &chat, "a", &["b"]).await;
    fixture.drop().await;
}

pub(crate) async fn nobody_waits_forever() {
    let fixture = StoreFixture::new();
    let impatient = Duration::from_millis(200);
    let store = PostgresStore::open(fixture.config().operation_timeout(impatient)).await.unwrap();
    let chat = chat(&store, "ada").await;
    append(&store, &chat, "", &["a"]).await;
    let mut other = fixture.connection().await;
    fixture.run(&mut other, "BEGIN; SELECT no FROM @store.chat FOR UPDATE").await;
    let error =
        store.history().commit(extend(&chat, "a", vec![says("b", "late")])).await.unwrap_err();
    assert_eq!((error.kind(), error.retry()), (ErrorKind::Timeout, Retry::Safe), "{error:?}");
    fixture.run(&mut other, "ROLLBACK").await;
    // Whether the late commit was written or not, sending it again applies it once.
    let again = store.history().commit(extend(&chat, "a", vec![says("b", "late")])).await.unwrap();
    assert!(matches!(again, CommitOutcome::Applied(_) | CommitOutcome::Replayed(_)), "{again:?}");
    assert_eq!(ids(&store, &chat).await, ["a", "b"]);
    fixture.drop().await;
}

pub(crate) async fn servers_that_are_not_there_are_said_to_be_unavailable() {
    let gone = PostgresConfig::from_url("postgres://ada:hunter2@127.0.0.1:1/none").unwrap();
    let error = PostgresStore::open(gone).await.unwrap_err();
    assert_eq!((error.kind(), error.retry()), (ErrorKind::Unavailable, Retry::Safe));
    assert!(!format!("{error} {error:?}").contains("hunter2"));
}

/// Each writer extends the head that it finds, until its own messages are stored. All messages must
/// be stored once.
pub(crate) async fn sixteen_writers_of_one_branch() {
    const EACH: usize = 5;
    let fixture = StoreFixture::new();
    let store =
        std::sync::Arc::new(PostgresStore::open(fixture.config().connections(4)).await.unwrap());
    let chat = chat(&*store, "ada").await;
    let mut writers = JoinSet::new();
    for writer in 0..16 {
        let (store, chat) = (std::sync::Arc::clone(&store), chat.clone());
        writers.spawn(async move {
            let mut head = String::new();
            for i in 0..EACH {
                let id = format!("w{writer}-{i}");
                loop {
                    let commit = extend(&chat, &head, vec![says(&id, "words")]);
                    match store.history().commit(commit).await.unwrap() {
                        CommitOutcome::Applied(_) => break,
                        CommitOutcome::Conflict { actual } => {
                            head = actual.map(|id| id.to_string()).unwrap_or_default();
                        }
                        other => panic!("{other:?}"),
                    }
                }
                head = id;
            }
        });
    }
    writers.join_all().await;
    let seen = ids(&*store, &chat).await;
    assert_eq!(seen.len(), 16 * EACH);
    for writer in 0..16 {
        let own: Vec<_> = seen.iter().filter(|id| id.starts_with(&format!("w{writer}-"))).collect();
        assert_eq!(
            own,
            (0..EACH)
                .map(|i| format!("w{writer}-{i}"))
                .collect::<Vec<_>>()
                .iter()
                .collect::<Vec<_>>()
        );
    }
    nothing_is_wrong(&*store).await;
    fixture.drop().await;
}
