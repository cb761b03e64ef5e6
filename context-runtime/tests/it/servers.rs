//! A store for each test on each server.

use std::sync::Arc;

use context_conformance::server_url;
use context_runtime::Store;
use redis::AsyncCommands;
use tokio_postgres::NoTls;

/// The stores of one test.
pub(crate) struct Servers {
    /// The schema on one server, the prefix on the other.
    name: String,
    postgres: String,
    redis: String,
    pub(crate) stores: Vec<(&'static str, Arc<dyn Store>)>,
}

impl Servers {
    pub(crate) async fn open(test: &str) -> Self {
        let name = format!("{test}_{}", std::process::id());
        let [postgres, redis] =
            ["CONTEXT_TEST_POSTGRES_URL", "CONTEXT_TEST_REDIS_URL"].map(server_url);
        let urls = [
            ("postgres", format!("{postgres}?schema={name}&connections=2")),
            ("redis", format!("{redis}?prefix={name}:")),
        ];
        let mut stores = Vec::new();
        for (server, url) in urls {
            stores.push((server, context_runtime::open(&url).await.unwrap()));
        }
        Self { name, postgres, redis, stores }
    }

    /// Removes what stores leave after all users are erased. Not on drop, so that a failed test can
    /// be inspected.
    pub(crate) async fn clear(self) {
        let Self { name, postgres, redis, stores } = self;
        drop(stores);
        let (client, connection) = tokio_postgres::connect(&postgres, NoTls).await.unwrap();
        let running = tokio::spawn(connection);
        client.batch_execute(&format!("DROP SCHEMA {name} CASCADE")).await.unwrap();
        drop(client);
        running.await.unwrap().unwrap();
        let client = redis::Client::open(redis).unwrap();
        let mut connection = client.get_multiplexed_async_connection().await.unwrap();
        let keys: Vec<Vec<u8>> = connection.keys(format!("{name}:*")).await.unwrap();
        if !keys.is_empty() {
            let _removed: u64 = connection.del(keys).await.unwrap();
        }
    }
}
