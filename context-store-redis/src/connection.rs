//! The way to the server, which is one connection or those of a cluster.

use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::{Client, Cmd, FromRedisValue, ScriptInvocation};

use crate::config::RedisConfig;
use crate::error::Result;

/// A connection that is shared and comes back by itself. Calls of many tasks travel on it one behind the other.
#[derive(Clone)]
pub(crate) enum Connection {
    Single(ConnectionManager),
    #[cfg(feature = "cluster")]
    Cluster(redis::cluster_async::ClusterConnection),
}

impl Connection {
    pub(crate) async fn open(config: &RedisConfig) -> Result<Self> {
        #[cfg(feature = "tls")]
        {
            // Without one, the first encrypted connection panics. Another that was installed before is as good.
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        if config.cluster {
            return Self::open_cluster(config).await;
        }
        let address = config.nodes.first().map(String::as_str).unwrap_or_default();
        let client = Client::open(address)?;
        let manager = ConnectionManagerConfig::new()
            .set_response_timeout(Some(config.response_timeout))
            .set_connection_timeout(Some(config.connection_timeout))
            .set_number_of_retries(2);
        Ok(Self::Single(ConnectionManager::new_with_config(client, manager).await?))
    }

    #[cfg(feature = "cluster")]
    async fn open_cluster(config: &RedisConfig) -> Result<Self> {
        let client = redis::cluster::ClusterClient::builder(config.nodes.iter().map(String::as_str))
            .response_timeout(config.response_timeout)
            .connection_timeout(config.connection_timeout)
            .build()?;
        Ok(Self::Cluster(client.get_async_connection().await?))
    }

    #[cfg(not(feature = "cluster"))]
    async fn open_cluster(_config: &RedisConfig) -> Result<Self> {
        use context_core::{Error, ErrorKind};
        let message = "this program was built without clusters; the feature is `cluster`";
        Err(Error::new(ErrorKind::Unsupported, "open", message).into())
    }

    /// Sends a command.
    pub(crate) async fn run<T: FromRedisValue>(&self, command: &Cmd) -> Result<T> {
        Ok(match self.clone() {
            Self::Single(mut connection) => command.query_async(&mut connection).await?,
            #[cfg(feature = "cluster")]
            Self::Cluster(mut connection) => command.query_async(&mut connection).await?,
        })
    }

    /// Runs a script by its hash; sends its text only to a server that does not have it.
    pub(crate) async fn call<T: FromRedisValue>(&self, script: &ScriptInvocation<'_>) -> Result<T> {
        Ok(match self.clone() {
            Self::Single(mut connection) => script.invoke_async(&mut connection).await?,
            #[cfg(feature = "cluster")]
            Self::Cluster(mut connection) => script.invoke_async(&mut connection).await?,
        })
    }
}
