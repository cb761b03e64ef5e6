//! Runs the conformance suite against the store, with one schema per case, in a database of its
//! own, which is dropped at once.

use std::collections::HashMap;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use context_conformance::{StoreFixture, server_url};
use context_core::{Result, Store};
use context_store_postgres::{PostgresConfig, PostgresStore};
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection};

#[derive(Clone)]
struct Postgres {
    /// The URL of the database of this process. The first store that is opened creates it.
    url: String,
    schemas: Arc<Mutex<Schemas>>,
}

/// Numbered schemas for namespaces, whose names may hold any character.
#[derive(Default)]
struct Schemas {
    made: u32,
    newest: HashMap<String, String>,
}

impl Schemas {
    /// Returns the location of a new schema for a namespace that is opened for the first time.
    fn fresh(&mut self, url: &str, namespace: &str) -> String {
        self.made += 1;
        let location = format!("{url}#conformance_{}", self.made);
        self.newest.insert(namespace.to_owned(), location.clone());
        location
    }
}

impl Postgres {
    /// Opens the store at the URL of a database and a schema.
    async fn at(&self, location: &str) -> Result<Arc<dyn Store>> {
        let (url, schema) = location.rsplit_once('#').expect("a location of this subject");
        let config = PostgresConfig::from_url(url)?.schema(schema).connections(4);
        Ok(Arc::new(PostgresStore::open(config).await?))
    }
}

#[async_trait]
impl StoreFixture for Postgres {
    fn name(&self) -> &str {
        "postgres"
    }

    async fn open(&self, namespace: &str) -> Result<Arc<dyn Store>> {
        let location = self.schemas.lock().expect("no holder panics").fresh(&self.url, namespace);
        self.at(&location).await
    }

    async fn reopen(&self, namespace: &str) -> Result<Option<Arc<dyn Store>>> {
        let location =
            self.schemas.lock().expect("no holder panics").newest.get(namespace).cloned();
        let Some(location) = location else { return Ok(None) };
        Ok(Some(self.at(&location).await?))
    }

    async fn second_handle(&self, namespace: &str) -> Result<Option<Arc<dyn Store>>> {
        self.reopen(namespace).await
    }

    fn location(&self, namespace: &str) -> Option<String> {
        let mut schemas = self.schemas.lock().expect("no holder panics");
        let known = schemas.newest.get(namespace).cloned();
        Some(known.unwrap_or_else(|| schemas.fresh(&self.url, namespace)))
    }

    async fn open_at(&self, location: &str) -> Result<Option<Arc<dyn Store>>> {
        Ok(Some(self.at(location).await?))
    }
}

/// Drops the database of this process, which a child of the suite did not make.
async fn drop_database(server: &str, name: &str) -> sqlx::Result<()> {
    let mut connection = PgConnection::connect(server).await?;
    let drop = AssertSqlSafe(format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"));
    sqlx::raw_sql("SET client_min_messages TO warning").execute(&mut connection).await?;
    sqlx::raw_sql(drop).execute(&mut connection).await?;
    connection.close().await
}

#[expect(clippy::print_stderr, reason = "there is no other place to say it")]
fn main() -> ExitCode {
    let Some(server) = server_url("CONTEXT_TEST_POSTGRES_URL") else { return ExitCode::SUCCESS };
    let name = format!("context_conformance_{}", std::process::id());
    let options: PgConnectOptions = server.parse().expect("the URL of a server");
    let url = options.database(&name).to_url_lossy().to_string();
    let code = context_conformance::main(Postgres { url, schemas: Arc::default() });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime
        .map_err(sqlx::Error::from)
        .and_then(|runtime| runtime.block_on(drop_database(&server, &name)))
    {
        Ok(()) => code,
        Err(error) => {
            eprintln!("the database {name} was left behind: {error}");
            ExitCode::FAILURE
        }
    }
}
