//! Cluster variants of commands. The driver sends a pipeline to one node only, and a command
//! without a key to any node.

use context_core::{Error, ErrorKind};
use redis::cluster_async::ClusterConnection;
use redis::cluster_routing::{Route, RoutingInfo, SingleNodeRoutingInfo, SlotAddr};
use redis::{Cmd, FromRedisValue, Value, cmd};

use crate::connections::{Connection, ServerNode, Values};
use crate::error::{Fault, Result};
use crate::scripts::reply::Reply;

pub(crate) async fn fields_of_all(
    connection: &ClusterConnection,
    keys: &[String],
    fields: &[&str],
) -> Result<Vec<Values>> {
    let mut asked = Vec::with_capacity(keys.len());
    for key in keys {
        let (mut connection, mut get) = (connection.clone(), cmd("HMGET"));
        get.arg(key).arg(fields);
        asked.push(tokio::spawn(async move { get.query_async::<Values>(&mut connection).await }));
    }
    let mut all = Vec::with_capacity(keys.len());
    for answer in asked {
        all.push(answer.await.map_err(|_| {
            Fault::Corrupt(
                "the task that reads from a node of the cluster ended without an answer",
                None,
            )
        })??);
    }
    Ok(all)
}

pub(crate) async fn nodes(connection: &Connection) -> Result<Vec<ServerNode>> {
    let mut reply = Reply::of(connection.run::<Value>(cmd("CLUSTER").arg("SLOTS")).await?)?;
    let mut nodes: Vec<(ServerNode, u64, bytes::Bytes)> = Vec::new();
    while !reply.is_empty() {
        let mut range = reply.list()?;
        let (first, _last) = (range.number()?, range.number()?);
        let mut master = range.list()?;
        let (host, port) = (master.maybe()?.unwrap_or_default(), master.number()?);
        if !nodes.iter().any(|(_, known, at)| *known == port && *at == host) {
            nodes.push((ServerNode(u16::try_from(first).unwrap_or(0)), port, host));
        }
    }
    Ok(nodes.into_iter().map(|(node, ..)| node).collect())
}

/// Returns the address of the master that holds a key.
pub(crate) async fn server_of(connection: &Connection, key: &str) -> Result<String> {
    let slot: u64 = connection.run(cmd("CLUSTER").arg("KEYSLOT").arg(key)).await?;
    let mut reply = Reply::of(connection.run::<Value>(cmd("CLUSTER").arg("SLOTS")).await?)?;
    while !reply.is_empty() {
        let mut range = reply.list()?;
        let (first, last) = (range.number()?, range.number()?);
        let mut master = range.list()?;
        let (host, port) = (master.maybe()?.unwrap_or_default(), master.number()?);
        if (first..=last).contains(&slot) {
            return Ok(format!("{}:{port}", String::from_utf8_lossy(&host)));
        }
    }
    let message = "no node of the cluster holds the chat";
    Err(Error::new(ErrorKind::Unavailable, "commit", message).into())
}

pub(crate) async fn run_on<T: FromRedisValue>(
    mut connection: ClusterConnection,
    node: ServerNode,
    command: &Cmd,
) -> Result<T> {
    let route = SingleNodeRoutingInfo::SpecificNode(Route::new(node.0, SlotAddr::Master));
    let value = connection.route_command(command.clone(), RoutingInfo::SingleNode(route)).await?;
    Ok(T::from_redis_value(value).map_err(redis::RedisError::from)?)
}
