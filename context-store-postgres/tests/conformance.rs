//! The store passes the conformance suite, each case in a schema of its own.

use std::collections::HashMap;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use context_conformance::{Subject, server_url};
use context_core::{Result, Store};
use context_store_postgres::{PostgresConfig, PostgresStore};

struct Postgres {
    url: String,
    schemas: Mutex<Schemas>,
}

/// Names of namespaces may be anything, so schemas are numbered.
#[derive(Default)]
struct Schemas {
    opened: u32,
    newest: HashMap<String, String>,
}

impl Schemas {
    /// A schema of its own for a namespace that is opened anew.
    fn fresh(&mut self, namespace: &str) -> String {
        self.opened += 1;
        let schema = format!("conformance_{}_{}", std::process::id(), self.opened);
        self.newest.insert(namespace.to_owned(), schema.clone());
        schema
    }
}

impl Postgres {
    async fn at(&self, schema: &str) -> Result<Arc<dyn Store>> {
        let config = PostgresConfig::from_url(&self.url)?.schema(schema).connections(4);
        Ok(Arc::new(PostgresStore::open(config).await?))
    }
}

#[async_trait]
impl Subject for Postgres {
    fn name(&self) -> &str {
        "postgres"
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

fn main() -> ExitCode {
    let Some(url) = server_url("CONTEXT_TEST_POSTGRES_URL") else { return ExitCode::SUCCESS };
    context_conformance::main(Postgres { url, schemas: Mutex::default() })
}
