//! The messages by which the handles of a store tell each other of changed streams: `PUBLISH`.
//!
//! In a cluster every node passes a message on to all others, so a handle subscribes at one node.

use std::time::Duration;

use async_trait::async_trait;
use context_store_kit::watch::{Broadcast, Listener};
use futures_util::StreamExt;
use redis::aio::PubSub;
use redis::{Client, ErrorKind, RedisError, ServerErrorKind, cmd};
use tokio::time::timeout;

use crate::config::RedisConfig;
use crate::connections::Connection;
use crate::error::{Fault, Result};
use crate::keys::Keys;

const OPERATION: &str = "watch_stream";

/// The channel of one store.
pub(crate) struct Publications {
    connection: Connection,
    nodes: Vec<String>,
    connection_timeout: Duration,
    channel: String,
}

impl Publications {
    pub(crate) fn new(connection: Connection, config: &RedisConfig, keys: &Keys) -> Self {
        Self {
            connection,
            nodes: config.nodes.clone(),
            connection_timeout: config.connection_timeout,
            channel: keys.of_store("streams"),
        }
    }

    /// Subscribes at the first node that answers.
    async fn subscribe(&self) -> Result<PubSub> {
        let mut failed = None;
        for node in &self.nodes {
            match timeout(self.connection_timeout, self.subscribe_at(node)).await {
                Ok(Ok(connection)) => return Ok(connection),
                Ok(Err(error)) => failed = Some(error),
                Err(_) => {}
            }
        }
        let timed_out = || RedisError::from((ErrorKind::Io, "no node answered in time"));
        Err(failed.unwrap_or_else(timed_out).into())
    }

    async fn subscribe_at(&self, node: &str) -> Result<PubSub, RedisError> {
        let mut connection = Client::open(node)?.get_async_pubsub().await?;
        connection.subscribe(&self.channel).await?;
        Ok(connection)
    }

    async fn publish(&self, texts: Vec<String>) -> Result<()> {
        for text in texts {
            self.connection.run::<()>(cmd("PUBLISH").arg(&self.channel).arg(text)).await?;
        }
        Ok(())
    }
}

/// Whether the user may not use the channel.
fn is_refusal(fault: &Fault) -> bool {
    matches!(fault, Fault::Driver(error) if error.kind() == ServerErrorKind::NoPerm.into())
}

#[async_trait]
impl Broadcast for Publications {
    async fn listen(&self) -> context_core::Result<Option<Box<dyn Listener>>> {
        match self.subscribe().await {
            Ok(connection) => Ok(Some(Box::new(Subscription(connection)))),
            Err(fault) if is_refusal(&fault) => Ok(None),
            Err(fault) => Err(fault.during(OPERATION)),
        }
    }

    async fn say(&self, texts: Vec<String>) -> context_core::Result<()> {
        match self.publish(texts).await {
            // Nobody is told, and the readers of this handle do not rely on it: they would not have
            // heard themselves.
            Err(fault) if is_refusal(&fault) => Ok(()),
            told => told.map_err(|fault| fault.during(OPERATION)),
        }
    }
}

struct Subscription(PubSub);

#[async_trait]
impl Listener for Subscription {
    async fn next(&mut self) -> Option<String> {
        self.0.on_message().next().await?.get_payload().ok()
    }
}
