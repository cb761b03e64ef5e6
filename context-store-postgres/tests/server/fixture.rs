//! A schema for each test, dropped at the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use context_conformance::{find_optional_server, server_url};
use context_core::store::{ChainEnd, Commit, CommitOutcome, NewChat, Target, Window};
use context_core::{CancelSignal, ChatRef, Message, MessageId, Node, Role, Store, Timestamp};
use context_store_postgres::{PostgresConfig, PostgresStore};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection};

pub(crate) const T: Timestamp = Timestamp::from_micros(1_000_000);

pub(crate) struct StoreFixture {
    pub(crate) url: String,
    pub(crate) schema: String,
}

impl StoreFixture {
    /// Uses the server of the tests. Without one, the test is ignored.
    pub(crate) fn new() -> Self {
        Self::named(&format!("server_{}", Self::number()))
    }

    /// A number that is unique to this process and this fixture.
    fn number() -> String {
        static OPENED: AtomicU32 = AtomicU32::new(0);
        format!("{}_{}", std::process::id(), OPENED.fetch_add(1, Ordering::Relaxed))
    }

    pub(crate) fn named(schema: &str) -> Self {
        Self { url: server_url("CONTEXT_TEST_POSTGRES_URL"), schema: schema.to_owned() }
    }

    /// Uses a server with pgvector. Without one, the test is ignored.
    pub(crate) fn with_pgvector() -> Self {
        let what = "a PostgreSQL server that has pgvector";
        let url = find_optional_server("CONTEXT_TEST_PGVECTOR_URL", what)
            .unwrap_or_else(|missing| missing.ignore_test());
        Self { url, schema: format!("pgvector_{}", Self::number()) }
    }

    pub(crate) fn config(&self) -> PostgresConfig {
        PostgresConfig::from_url(&self.url).unwrap().schema(self.schema.as_str()).connections(2)
    }

    pub(crate) async fn open(&self) -> PostgresStore {
        PostgresStore::open(self.config()).await.unwrap()
    }

    /// Opens a connection beside the store's.
    pub(crate) async fn connection(&self) -> PgConnection {
        PgConnection::connect(&self.url).await.unwrap()
    }

    /// Runs a statement in which `@store` stands for the schema.
    pub(crate) async fn run(&self, connection: &mut PgConnection, sql: &str) {
        let schema = format!("\"{}\"", self.schema.replace('"', "\"\""));
        let sql = sql.replace("@store", &schema);
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(connection).await.unwrap();
    }

    pub(crate) async fn drop(self) {
        let mut connection = self.connection().await;
        self.run(
            &mut connection,
            "SET client_min_messages TO warning; DROP SCHEMA IF EXISTS @store CASCADE",
        )
        .await;
    }
}

pub(crate) fn says(id: &str, text: &str) -> Arc<Node> {
    Arc::new(Node::new(id, Message::text(Role::User, text), T))
}

pub(crate) fn extend(chat: &ChatRef, expected: &str, nodes: Vec<Arc<Node>>) -> Commit {
    let expected = (!expected.is_empty()).then(|| MessageId::from(expected));
    let target = Target::Extend { branch: "main".into(), expected };
    Commit { nodes, ..Commit::new(chat.clone(), target, T) }
}

pub(crate) async fn chat(store: &dyn Store, user: &str) -> ChatRef {
    let chat = ChatRef::new(user, "chat");
    let _ = store.history().create_chat(NewChat::new(chat.clone(), T)).await.unwrap();
    chat
}

/// Appends messages one by one after a head.
pub(crate) async fn append(store: &dyn Store, chat: &ChatRef, head: &str, ids: &[&str]) {
    let mut head = head.to_owned();
    for id in ids {
        let outcome = store
            .history()
            .commit(extend(chat, &head, vec![says(id, "some words")]))
            .await
            .unwrap();
        assert!(matches!(outcome, CommitOutcome::Applied(_)), "{outcome:?}");
        head = (*id).to_owned();
    }
}

pub(crate) async fn ids(store: &dyn Store, chat: &ChatRef) -> Vec<String> {
    let end = ChainEnd::Branch("main".into());
    let chain = store.history().chain(chat, &end, &Window::Whole).await.unwrap();
    chain.iter().map(|node| node.id.to_string()).collect()
}

pub(crate) async fn nothing_is_wrong(store: &dyn Store) {
    let report = store.maintenance().unwrap().check(&CancelSignal::never()).await.unwrap();
    assert_eq!(report.findings, []);
}
