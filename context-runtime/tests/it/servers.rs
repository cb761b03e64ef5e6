//! A store for each test on each available server.

use std::sync::Arc;

use context_conformance::server_url;
use context_runtime::Store;
use redis::AsyncCommands;
use tokio_postgres::NoTls;

/// The stores of one test.
pub(crate) struct Servers {
    /// The schema on one server, the prefix on the other.
    name: String,
    postgres: Option<String>,
    redis: Option<String>,
    pub(crate) stores: Vec<(&'static str, Arc<dyn Store>)>,
}

impl Servers {
    pub(crate) async fn open(test: &str) -> Self {
        let name = format!("{test}_{}", std::process::id());
        let [postgres, redis] =
            ["CONTEXT_TEST_POSTGRES_URL", "CONTEXT_TEST_REDIS_URL"].map(server_url);
        let urls = [
            ("postgres", postgres.as_ref().map(|url| format!("{url}?schema={name}&connections=2"))),
            ("redis", redis.as_ref().map(|url| format!("{url}?prefix={name}:"))),
        ];
        let mut stores = Vec::new();
        for (server, url) in urls {
            let Some(url) = url else { continue };
            stores.push((server, context_runtime::open(&url).await.unwrap()));
        }
        Self { name, postgres, redis, stores }
    }

    /// Removes what stores leave after all users are erased. Not on drop, so that a failed test can
    /// be inspected.
    pub(crate) async fn clear(self) {
        let Self { name, postgres, redis, stores } = self;
        drop(stores);
        if let Some(url) = postgres {
            let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
            let running = tokio::spawn(connection);
            client.batch_execute(&format!("DROP SCHEMA {name} CASCADE")).await.unwrap();
            drop(client);
            running.await.unwrap().unwrap();
        }
        if let Some(url) = redis {
            let client = redis::Client::open(url).unwrap();
            let mut connection = client.get_multiplexed_async_connection().await.unwrap();
            let keys: Vec<Vec<u8>> = connection.keys(format!("{name}:*")).await.unwrap();
            if !keys.is_empty() {
                let _removed: u64 = connection.del(keys).await.unwrap();
            }
        }
    }
}
