//! Stores on a shared server. Each has a prefix, and all keys with the prefix are removed at the
//! end.

use std::collections::HashMap;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use context_conformance::StoreFixture;
use context_core::{Result, Store};
use context_store_redis::{RedisConfig, RedisStore};

/// Runs the suite as a test program, and removes everything afterwards.
pub(crate) fn run(name: &'static str, url: &str) -> ExitCode {
    let prefix = format!("conformance-{}-", std::process::id());
    let subject =
        Redis { name, url: url.to_owned(), prefix: prefix.clone(), stores: Mutex::default() };
    let code = context_conformance::main(subject);
    clean(url, &prefix).expect("the server removes what was written");
    code
}

struct Redis {
    name: &'static str,
    url: String,
    prefix: String,
    stores: Mutex<Stores>,
}

/// Numbered stores for namespaces, whose names may hold any character.
#[derive(Default)]
struct Stores {
    opened: u32,
    newest: HashMap<String, String>,
}

impl Redis {
    /// Returns the URL of a new store for a namespace that is opened for the first time.
    fn fresh(&self, namespace: &str) -> String {
        let mut stores = self.stores.lock().expect("no holder panics");
        stores.opened += 1;
        let url = format!("{}?prefix={}{}:", self.url, self.prefix, stores.opened);
        stores.newest.insert(namespace.to_owned(), url.clone());
        url
    }

    fn newest(&self, namespace: &str) -> Option<String> {
        self.stores.lock().expect("no holder panics").newest.get(namespace).cloned()
    }
}

async fn open(url: &str) -> Result<Arc<dyn Store>> {
    Ok(Arc::new(RedisStore::open(RedisConfig::from_url(url)?).await?))
}

#[async_trait]
impl StoreFixture for Redis {
    fn name(&self) -> &str {
        self.name
    }

    async fn open(&self, namespace: &str) -> Result<Arc<dyn Store>> {
        open(&self.fresh(namespace)).await
    }

    async fn reopen(&self, namespace: &str) -> Result<Option<Arc<dyn Store>>> {
        match self.newest(namespace) {
            Some(url) => Ok(Some(open(&url).await?)),
            None => Ok(None),
        }
    }

    async fn second_handle(&self, namespace: &str) -> Result<Option<Arc<dyn Store>>> {
        self.reopen(namespace).await
    }

    fn location(&self, namespace: &str) -> Option<String> {
        Some(self.newest(namespace).unwrap_or_else(|| self.fresh(namespace)))
    }

    async fn open_at(&self, location: &str) -> Result<Option<Arc<dyn Store>>> {
        Ok(Some(open(location).await?))
    }
}

/// Removes all keys with the prefix from each of the servers.
fn clean(url: &str, prefix: &str) -> redis::RedisResult<()> {
    for node in url.split(',') {
        let node = if node.contains("://") { node.to_owned() } else { format!("redis://{node}") };
        let mut connection = redis::Client::open(node)?.get_connection()?;
        let mut cursor = 0u64;
        loop {
            let keys: Vec<String>;
            let mut scan = redis::cmd("SCAN");
            scan.arg(cursor).arg("MATCH").arg(format!("{prefix}*")).arg("COUNT").arg(1000);
            (cursor, keys) = scan.query(&mut connection)?;
            for key in keys {
                let _gone: u8 = redis::cmd("UNLINK").arg(key).query(&mut connection)?;
            }
            if cursor == 0 {
                break;
            }
        }
    }
    Ok(())
}
