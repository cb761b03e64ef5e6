//! The connection to the server or to the nodes of a cluster, the settings of the server, and the
//! state of a store handle.

#[cfg(feature = "cluster")]
mod cluster;
pub(crate) mod flush;
mod publications;
pub(crate) mod server;
pub(crate) mod shared;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::{
    Client, Cmd, FromRedisValue, Pipeline, RedisError, RedisResult, ScriptInvocation,
    ServerErrorKind, cmd,
};

use crate::config::RedisConfig;
use crate::error::{Fault, Result};

/// A shared connection that reconnects by itself. The calls of many tasks are pipelined on it.
#[derive(Clone)]
pub(crate) struct Connection {
    link: ServerLink,
    /// Whether commands and scripts that write are rejected instead of sent.
    read_only: bool,
}

#[derive(Clone)]
enum ServerLink {
    Single(Arc<ReconnectingClient>),
    #[cfg(feature = "cluster")]
    Cluster(redis::cluster_async::ClusterConnection),
}

/// A connection that is replaced after a timeout. The driver itself only reconnects when it is told
/// that the connection is closed.
pub(crate) struct ReconnectingClient {
    client: Client,
    config: ConnectionManagerConfig,
    current: Mutex<ConnectionManager>,
}

impl ReconnectingClient {
    async fn open(client: Client, config: ConnectionManagerConfig) -> Result<Self> {
        let current = ConnectionManager::new_with_config(client.clone(), config.clone()).await?;
        Ok(Self { client, config, current: Mutex::new(current) })
    }

    fn connection(&self) -> ConnectionManager {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Passes an answer on. After a timeout the next call uses a new connection.
    fn watch<T>(&self, answer: RedisResult<T>) -> RedisResult<T> {
        if answer.as_ref().is_err_and(RedisError::is_timeout)
            && let Ok(fresh) =
                ConnectionManager::new_lazy_with_config(self.client.clone(), self.config.clone())
        {
            *self.current.lock().unwrap_or_else(PoisonError::into_inner) = fresh;
        }
        answer
    }
}

impl Connection {
    pub(crate) async fn open(config: &RedisConfig) -> Result<Self> {
        #[cfg(feature = "tls")]
        {
            // The first encrypted connection panics without a default provider. Another provider
            // that was installed before works as well.
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        let read_only = config.read_only;
        if config.cluster {
            return Ok(Self { link: Self::open_cluster(config).await?, read_only });
        }
        let address = config.nodes.first().map(String::as_str).unwrap_or_default();
        let client = Client::open(address)?;
        let manager = ConnectionManagerConfig::new()
            .set_response_timeout(Some(config.response_timeout))
            .set_connection_timeout(Some(config.connection_timeout))
            .set_number_of_retries(2);
        Ok(Self {
            link: ServerLink::Single(Arc::new(ReconnectingClient::open(client, manager).await?)),
            read_only,
        })
    }

    #[cfg(feature = "cluster")]
    async fn open_cluster(config: &RedisConfig) -> Result<ServerLink> {
        let client =
            redis::cluster::ClusterClient::builder(config.nodes.iter().map(String::as_str))
                .response_timeout(config.response_timeout)
                .connection_timeout(config.connection_timeout)
                .build()?;
        Ok(ServerLink::Cluster(client.get_async_connection().await?))
    }

    #[cfg(not(feature = "cluster"))]
    async fn open_cluster(_config: &RedisConfig) -> Result<ServerLink> {
        use context_core::{Error, ErrorKind};
        let message = "this program was built without clusters; the feature is `cluster`";
        Err(Error::new(ErrorKind::Unsupported, "open", message).into())
    }

    /// Whether the handle is read-only.
    pub(crate) fn read_only(&self) -> bool {
        self.read_only
    }

    /// Sends a command.
    pub(crate) async fn run<T: FromRedisValue>(&self, command: &Cmd) -> Result<T> {
        self.allow(command)?;
        Ok(match &self.link {
            ServerLink::Single(single) => {
                single.watch(command.query_async(&mut single.connection()).await)?
            }
            #[cfg(feature = "cluster")]
            ServerLink::Cluster(connection) => command.query_async(&mut connection.clone()).await?,
        })
    }

    /// Rejects a command that writes if the handle is read-only.
    fn allow(&self, command: &Cmd) -> Result<()> {
        if self.read_only && !reads(command) { Err(Fault::ReadOnly) } else { Ok(()) }
    }

    /// Runs a script that may write.
    pub(crate) async fn call<T: FromRedisValue>(&self, script: &ScriptInvocation<'_>) -> Result<T> {
        if self.read_only {
            return Err(Fault::ReadOnly);
        }
        self.ask(script).await
    }

    /// Runs a script that only reads when it is called through this method. The script is sent by
    /// its hash, and as text only if the server does not have it. A server that loses the script in
    /// between has not run any of it.
    pub(crate) async fn ask<T: FromRedisValue>(&self, script: &ScriptInvocation<'_>) -> Result<T> {
        let mut tries = 0;
        loop {
            let answer = match &self.link {
                ServerLink::Single(single) => {
                    single.watch(script.invoke_async(&mut single.connection()).await)
                }
                #[cfg(feature = "cluster")]
                ServerLink::Cluster(connection) => {
                    script.invoke_async(&mut connection.clone()).await
                }
            };
            match answer {
                Err(error)
                    if error.kind() == ServerErrorKind::NoScript.into()
                        && tries < MAX_SCRIPT_RELOADS =>
                {
                    tries += 1
                }
                answer => return Ok(answer?),
            }
        }
    }

    /// Returns the same fields of many hashes, in their order. Each hash is read at a separate
    /// moment.
    pub(crate) async fn fields_of_all(
        &self,
        keys: Vec<String>,
        fields: &[&str],
    ) -> Result<Vec<Values>> {
        let mut all = Vec::with_capacity(keys.len());
        for keys in keys.chunks(BATCH) {
            match &self.link {
                ServerLink::Single(single) => {
                    let mut pipe = redis::pipe();
                    for key in keys {
                        pipe.cmd("HMGET").arg(key).arg(fields);
                    }
                    let values: Vec<Values> =
                        single.watch(pipe.query_async(&mut single.connection()).await)?;
                    all.extend(values);
                }
                #[cfg(feature = "cluster")]
                ServerLink::Cluster(connection) => {
                    all.extend(cluster::fields_of_all(connection, keys, fields).await?)
                }
            }
        }
        Ok(all)
    }

    /// Sends commands whose keys are all in one slot.
    pub(crate) async fn pipe<T: FromRedisValue>(&self, commands: &Pipeline) -> Result<T> {
        commands.cmd_iter().try_for_each(|command| self.allow(command))?;
        Ok(match &self.link {
            ServerLink::Single(single) => {
                single.watch(commands.query_async(&mut single.connection()).await)?
            }
            #[cfg(feature = "cluster")]
            ServerLink::Cluster(connection) => {
                commands.query_async(&mut connection.clone()).await?
            }
        })
    }

    /// Returns the servers that hold keys, for commands that each server must answer.
    pub(crate) async fn nodes(&self) -> Result<Vec<ServerNode>> {
        match &self.link {
            ServerLink::Single(_) => Ok(vec![ServerNode::default()]),
            #[cfg(feature = "cluster")]
            ServerLink::Cluster(_) => cluster::nodes(self).await,
        }
    }

    /// Returns a name of the server that holds a key.
    #[cfg_attr(not(feature = "cluster"), expect(unused_variables, reason = "there is one server"))]
    pub(crate) async fn server_of(&self, key: &str) -> Result<String> {
        match &self.link {
            ServerLink::Single(_) => Ok(String::new()),
            #[cfg(feature = "cluster")]
            ServerLink::Cluster(_) => cluster::server_of(self, key).await,
        }
    }

    /// Sends a command to one of the servers.
    #[cfg(feature = "cluster")]
    pub(crate) async fn run_on<T: FromRedisValue>(
        &self,
        node: ServerNode,
        command: &Cmd,
    ) -> Result<T> {
        match &self.link {
            ServerLink::Single(_) => self.run(command).await,
            ServerLink::Cluster(connection) => {
                cluster::run_on(connection.clone(), node, command).await
            }
        }
    }

    /// Sends a command to the only server.
    #[cfg(not(feature = "cluster"))]
    pub(crate) async fn run_on<T: FromRedisValue>(
        &self,
        _only: ServerNode,
        command: &Cmd,
    ) -> Result<T> {
        self.run(command).await
    }

    /// Returns all keys that match a pattern, on all servers. A key that exists during the whole
    /// scan is found exactly once.
    pub(crate) async fn scan(&self, pattern: &str) -> Result<HashSet<Vec<u8>>> {
        let mut found = HashSet::new();
        for node in self.nodes().await? {
            let mut cursor = 0u64;
            loop {
                let mut scan = cmd("SCAN");
                scan.arg(cursor).arg("MATCH").arg(pattern).arg("COUNT").arg(BATCH);
                let keys: Vec<Vec<u8>>;
                (cursor, keys) = self.run_on(node, &scan).await?;
                found.extend(keys);
                if cursor == 0 {
                    break;
                }
            }
        }
        Ok(found)
    }
}

/// The commands sent by this store that write no key.
const READING: [&[u8]; 17] = [
    b"CLUSTER",
    b"CONFIG",
    b"EXISTS",
    b"GET",
    b"HGET",
    b"HGETALL",
    b"HKEYS",
    b"HMGET",
    b"INFO",
    b"PUBLISH",
    b"SCAN",
    b"TIME",
    b"TYPE",
    b"ZRANDMEMBER",
    b"ZRANGE",
    b"ZRANGEBYLEX",
    b"ZSCORE",
];

fn reads(command: &Cmd) -> bool {
    let name = command.args_iter().next();
    matches!(name, Some(redis::Arg::Simple(name)) if READING.contains(&name))
}

/// The fields of a hash, with `None` for those that do not exist.
pub(crate) type Values = Vec<Option<Vec<u8>>>;

/// A server: the only one, or the node of a cluster that holds this slot.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ServerNode(#[cfg(feature = "cluster")] u16);

/// The number of times a script is sent again to a server that has lost it.
const MAX_SCRIPT_RELOADS: u32 = 4;

/// The number of keys requested at once.
const BATCH: usize = 500;
