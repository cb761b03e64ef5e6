//! Schemas of a PostgreSQL server, as the subject of the conformance suite.

use std::collections::HashMap;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use context_conformance::StoreFixture;
use context_core::{Result, Store};
use context_store_postgres::{PostgresConfig, PostgresStore};
use futures_util::future::try_join_all;
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection};

/// A server, and the settings with which the suite opens schemas of it.
#[derive(Clone)]
struct Postgres {
    name: &'static str,
    url: String,
    settings: fn(PostgresConfig) -> PostgresConfig,
    schemas: Arc<Mutex<Schemas>>,
}

/// Numbered schemas for namespaces, whose names may hold any character.
#[derive(Default)]
struct Schemas {
    /// The schemas that this process has created, to be dropped at the end.
    made: Vec<String>,
    newest: HashMap<String, String>,
}

impl Schemas {
    /// Returns a new schema for a namespace that is opened for the first time.
    fn fresh(&mut self, namespace: &str) -> String {
        let schema = format!("conformance_{}_{}", std::process::id(), self.made.len());
        self.made.push(schema.clone());
        self.newest.insert(namespace.to_owned(), schema.clone());
        schema
    }
}

impl Postgres {
    async fn at(&self, schema: &str) -> Result<Arc<dyn Store>> {
        let config = PostgresConfig::from_url(&self.url)?.schema(schema).connections(4);
        Ok(Arc::new(PostgresStore::open((self.settings)(config)).await?))
    }
}

#[async_trait]
impl StoreFixture for Postgres {
    fn name(&self) -> &str {
        self.name
    }

    async fn open(&self, namespace: &str) -> Result<Arc<dyn Store>> {
        let schema = self.schemas.lock().expect("no holder panics").fresh(namespace);
        self.at(&schema).await
    }

    async fn reopen(&self, namespace: &str) -> Result<Option<Arc<dyn Store>>> {
        let schema = self.schemas.lock().expect("no holder panics").newest.get(namespace).cloned();
        let Some(schema) = schema else { return Ok(None) };
        Ok(Some(self.at(&schema).await?))
    }

    async fn second_handle(&self, namespace: &str) -> Result<Option<Arc<dyn Store>>> {
        self.reopen(namespace).await
    }

    fn location(&self, namespace: &str) -> Option<String> {
        let mut schemas = self.schemas.lock().expect("no holder panics");
        let known = schemas.newest.get(namespace).cloned();
        Some(known.unwrap_or_else(|| schemas.fresh(namespace)))
    }

    async fn open_at(&self, location: &str) -> Result<Option<Arc<dyn Store>>> {
        Ok(Some(self.at(location).await?))
    }
}

impl Postgres {
    /// Drops the created schemas. A child process of the suite has created none.
    async fn clean_up(&self) -> sqlx::Result<()> {
        let made = std::mem::take(&mut self.schemas.lock().expect("no holder panics").made);
        // Dropping hundreds of them takes the server half a minute on one connection.
        let parts = made.chunks(made.len().div_ceil(4).max(1));
        try_join_all(parts.map(|schemas| self.drop_schemas(schemas))).await.map(drop)
    }

    async fn drop_schemas(&self, schemas: &[String]) -> sqlx::Result<()> {
        let mut connection = PgConnection::connect(&self.url).await?;
        sqlx::raw_sql("SET client_min_messages TO warning").execute(&mut connection).await?;
        for schema in schemas {
            let drop = AssertSqlSafe(format!("DROP SCHEMA IF EXISTS {schema} CASCADE"));
            sqlx::raw_sql(drop).execute(&mut connection).await?;
        }
        connection.close().await
    }
}

/// Runs the suite against the server of a URL, with one schema per case.
#[expect(clippy::print_stderr, reason = "there is no other place to say it")]
pub(crate) fn run(
    name: &'static str,
    url: String,
    settings: fn(PostgresConfig) -> PostgresConfig,
) -> ExitCode {
    let subject = Postgres { name, url, settings, schemas: Arc::default() };
    let code = context_conformance::main(subject.clone());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime
        .map_err(sqlx::Error::from)
        .and_then(|runtime| runtime.block_on(subject.clean_up()))
    {
        Ok(()) => code,
        Err(error) => {
            eprintln!("schemas were left behind: {error}");
            ExitCode::FAILURE
        }
    }
}
