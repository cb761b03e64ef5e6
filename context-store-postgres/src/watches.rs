//! The messages by which the handles of a store tell each other of changed streams: `NOTIFY`.
//!
//! A notification is sent after the change, by a transaction of its own. Within the transaction of
//! the change it would hold a lock of the whole database until the log is flushed, so that streams
//! would be written one after the other.

use std::sync::Arc;

use async_trait::async_trait;
use context_store_kit::watch::{Broadcast, Listener};
use sqlx::postgres::{PgListener, PgPoolOptions};
use tokio::time::timeout;

use crate::connections::{Pool, Work};
use crate::error::{Fault, Result};
use crate::sql;

const OPERATION: &str = "watch_stream";

/// The number of bytes of the hash in the name of a channel, which may have 63 bytes.
const HASH_BYTES: usize = 16;

/// The channel of one store.
pub(crate) struct Notifications {
    pool: Arc<Pool>,
    channel: String,
}

impl Notifications {
    pub(crate) fn new(pool: Arc<Pool>, schema: &str) -> Self {
        let hash = blake3::hash(schema.as_bytes()).to_hex();
        let channel = format!("context_streams_{}", &hash[..2 * HASH_BYTES]);
        Self { pool, channel }
    }

    async fn connect(&self) -> Result<PgListener> {
        // A pool of one connection, because the driver listens on no other. The connection is not
        // one of those that the store is limited to, because it is in use all the time.
        let options = PgPoolOptions::new().max_connections(1).test_before_acquire(false);
        let own = options.connect_lazy_with(self.pool.connect_options());
        let mut listener = PgListener::connect_with(&own).await?;
        listener.eager_reconnect(false);
        listener.listen(&self.channel).await?;
        Ok(listener)
    }

    async fn notify(&self, texts: Vec<String>) -> Result<()> {
        // Neither reads nor writes tables, and is allowed to a handle that only reads.
        let mut session = self.pool.begin(Work::Inspect, None).await?;
        let query = session.query(sql::streams::NOTIFY).bind(self.channel.clone()).bind(texts);
        let told = session.execute(query).await;
        session.end(told.map(drop)).await
    }
}

#[async_trait]
impl Broadcast for Notifications {
    async fn listen(&self) -> context_core::Result<Option<Box<dyn Listener>>> {
        // The server would notify whoever has the connection by then, who does not expect it.
        if self.pool.is_unprepared() {
            return Ok(None);
        }
        let connected = timeout(self.pool.connect_timeout(), self.connect()).await;
        match connected.unwrap_or(Err(Fault::TimedOut)) {
            Ok(listener) => Ok(Some(Box::new(Notified(listener)))),
            // A standby server does not listen, and neither do some poolers.
            Err(Fault::Driver(sqlx::Error::Database(_))) => Ok(None),
            Err(fault) => Err(fault.during(OPERATION)),
        }
    }

    async fn say(&self, texts: Vec<String>) -> context_core::Result<()> {
        let told = self.pool.within_timeout(self.notify(texts)).await;
        told.map_err(|fault| fault.during(OPERATION))
    }
}

struct Notified(PgListener);

#[async_trait]
impl Listener for Notified {
    async fn next(&mut self) -> Option<String> {
        let notification = self.0.try_recv().await.ok().flatten()?;
        Some(notification.payload().to_owned())
    }
}
