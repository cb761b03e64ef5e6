//! Bare commands over one multiplexed connection: messages in a list, nothing else.

use async_trait::async_trait;
use context_runtime::store::Node;
use redis::AsyncCommands;
use redis::aio::MultiplexedConnection;

use super::{Floor, columns};
use crate::bare_servers;

pub(crate) struct BareConnection {
    connection: MultiplexedConnection,
    list: String,
}

impl BareConnection {
    pub(crate) async fn create(url: &str, place: &str) -> Self {
        Self { connection: bare_servers::redis(url).await, list: format!("{place}:list") }
    }
}

#[async_trait(?Send)]
impl Floor for BareConnection {
    async fn append(&self, nodes: &[Node]) {
        let items: Vec<String> = nodes
            .iter()
            .map(|node| {
                let (id, role, text) = columns(node);
                format!("{id}\n{role}\n{text}")
            })
            .collect();
        let _length: u64 = self.connection.clone().rpush(&self.list, items).await.unwrap();
    }

    async fn scan(&self) -> usize {
        let items: Vec<Vec<u8>> = self.connection.clone().lrange(&self.list, 0, -1).await.unwrap();
        std::hint::black_box(items).len()
    }

    async fn search(&self, _words: &[String]) -> Option<usize> {
        None
    }
}
