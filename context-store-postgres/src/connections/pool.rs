//! The pool: connections that the store keeps, or those of a pool of the program.
//!
//! sqlx's own pool is used only if the program provides one, because it pings the server at every
//! release. Here a connection is kept if its work has ended. A connection whose future was dropped
//! is closed, which ends its transaction. A broken connection also discards the idle ones, so that
//! the next try opens a new one.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use context_core::UserId;
use context_core::store::Durability;
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgArguments, PgConnectOptions, PgConnection, PgPool, PgRow};
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, Connection, Postgres};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

use crate::config::{PostgresConfig, Server};
use crate::error::{Fault, Result};
use crate::sql;

/// A statement with its bound parameters.
pub(crate) type Statement = Query<'static, Postgres, PgArguments>;

pub(crate) struct Pool {
    source: Source,
    /// The quoted name of the schema with a dot, as it precedes the names of tables.
    prefix: String,
    connect_timeout: Duration,
    operation_timeout: Duration,
    row_security: bool,
    read_only: bool,
    /// Whether no statement stays prepared on a connection, since each transaction may have another
    /// one.
    unprepared: bool,
}

enum Source {
    Own { options: Box<PgConnectOptions>, idle: Mutex<Vec<PgConnection>>, permits: Semaphore },
    Shared(PgPool),
}

/// The work that a connection is needed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// One statement that reads.
    Read,
    /// Several statements that read one state.
    Snapshot,
    /// Several statements that read one state and have many loops, with JIT compilation disabled.
    NestedLoops,
    /// One statement that writes.
    Append,
    /// A transaction that writes.
    Write,
    /// A transaction that writes, and that ends as its caller asks.
    Commit(Flush),
    /// Statements that read data of no particular user.
    Inspect,
    /// Statements that write and run outside of transactions.
    Maintain,
}

/// Whether the end of a transaction waits until the server has flushed its log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flush {
    /// As the connection is configured.
    Configured,
    Awaited,
    Later,
}

impl Flush {
    /// Returns the choice for a commit that asks for this durability.
    pub(crate) fn of(asked: Option<Durability>) -> Self {
        match asked {
            None => Self::Configured,
            Some(asked) if asked > Durability::Server => Self::Awaited,
            Some(_) => Self::Later,
        }
    }
}

impl Work {
    fn writes(self) -> bool {
        matches!(self, Self::Append | Self::Write | Self::Commit(_) | Self::Maintain)
    }
}

impl Pool {
    pub(crate) fn new(config: &PostgresConfig) -> Self {
        let source = match &config.server {
            Server::Address(options) => Source::Own {
                options: Box::new(
                    options.as_ref().clone().statement_cache_capacity(config.statement_cache),
                ),
                idle: Mutex::default(),
                permits: Semaphore::new(config.connections),
            },
            Server::Pool(pool) => Source::Shared(pool.clone()),
        };
        Self {
            source,
            prefix: format!("{}.", quoted(&config.schema)),
            connect_timeout: config.connect_timeout,
            operation_timeout: config.operation_timeout,
            row_security: config.row_security,
            read_only: config.read_only,
            unprepared: config.statement_cache == 0,
        }
    }

    /// Whether the handle is read-only.
    pub(crate) fn read_only(&self) -> bool {
        self.read_only
    }

    /// Whether each transaction may have another connection of the server.
    pub(crate) fn is_unprepared(&self) -> bool {
        self.unprepared
    }

    /// Whether a call gets a connection without waiting.
    pub(crate) fn has_idle(&self) -> bool {
        match &self.source {
            Source::Own { permits, .. } => permits.available_permits() > 0,
            Source::Shared(pool) => {
                pool.num_idle() > 0 || pool.size() < pool.options().get_max_connections()
            }
        }
    }

    /// Returns the options of a connection beyond the pool.
    pub(crate) fn connect_options(&self) -> PgConnectOptions {
        match &self.source {
            Source::Own { options, .. } => options.as_ref().clone(),
            Source::Shared(pool) => pool.connect_options().as_ref().clone(),
        }
    }

    pub(crate) fn connect_timeout(&self) -> Duration {
        self.connect_timeout
    }

    /// Whether row-level security applies to the connections.
    pub(crate) fn row_security(&self) -> bool {
        self.row_security
    }

    /// Runs work, and returns an error if it takes longer than an operation may.
    pub(crate) async fn within_timeout<T>(
        &self,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        timeout(self.operation_timeout, work).await.unwrap_or(Err(Fault::TimedOut))
    }

    /// Returns a connection on which the work has begun. [`Session::end`] ends the work.
    pub(crate) async fn begin(&self, work: Work, user: Option<&UserId>) -> Result<Session<'_>> {
        if self.read_only && work.writes() {
            return Err(Fault::ReadOnly);
        }
        let connected = timeout(self.connect_timeout, self.connected()).await;
        let mut session = connected.unwrap_or(Err(sqlx::Error::PoolTimedOut.into()))?;
        match session.start(work, user).await {
            Ok(()) => Ok(session),
            Err(fault) => session.end(Err(fault)).await,
        }
    }

    async fn connected(&self) -> Result<Session<'_>> {
        let (pooled, permit) = match &self.source {
            Source::Own { options, permits, .. } => {
                let permit = permits.acquire().await.map_err(|_| sqlx::Error::PoolClosed)?;
                let kept = self.idle().and_then(|mut idle| idle.pop());
                let connection = match kept {
                    Some(connection) => connection,
                    None => PgConnection::connect_with(options).await?,
                };
                (PooledConnection::Own(connection), Some(permit))
            }
            Source::Shared(pool) => (PooledConnection::Shared(pool.acquire().await?), None),
        };
        Ok(Session {
            pool: self,
            pooled: Some(pooled),
            transaction: false,
            answered: false,
            _permit: permit,
        })
    }

    /// Closes the idle connections and opens no more. A pool of the program is not changed.
    pub(crate) async fn close(&self) -> Result<()> {
        let Source::Own { permits, .. } = &self.source else { return Ok(()) };
        permits.close();
        let idle = self.idle().map(|mut idle| std::mem::take(&mut *idle)).unwrap_or_default();
        for connection in idle {
            connection.close().await?;
        }
        Ok(())
    }

    fn is_closed(&self) -> bool {
        matches!(&self.source, Source::Own { permits, .. } if permits.is_closed())
    }

    fn idle(&self) -> Option<MutexGuard<'_, Vec<PgConnection>>> {
        match &self.source {
            // The list of connections is valid even if a holder of the lock has panicked.
            Source::Own { idle, .. } => Some(idle.lock().unwrap_or_else(PoisonError::into_inner)),
            Source::Shared(_) => None,
        }
    }
}

/// Quotes a name as an SQL identifier.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

enum PooledConnection {
    Own(PgConnection),
    Shared(PoolConnection<Postgres>),
}

/// A connection in use.
pub(crate) struct Session<'a> {
    pool: &'a Pool,
    pooled: Option<PooledConnection>,
    transaction: bool,
    /// Whether every request on the connection has been answered.
    answered: bool,
    _permit: Option<SemaphorePermit<'a>>,
}

impl Session<'_> {
    /// Returns the quoted name of the schema with a dot, as it precedes the names of tables.
    pub(crate) fn prefix(&self) -> &str {
        &self.pool.prefix
    }

    /// Whether row-level security applies.
    pub(crate) fn row_security(&self) -> bool {
        self.pool.row_security
    }

    pub(crate) fn connection(&mut self) -> &mut PgConnection {
        match self.pooled.as_mut().expect("taken only when dropped") {
            PooledConnection::Own(connection) => connection,
            PooledConnection::Shared(connection) => connection,
        }
    }

    /// Returns a statement on the tables of the store's schema.
    pub(crate) fn query(&self, statement: &'static str) -> Statement {
        // Only a quoted identifier is inserted.
        sqlx::query(AssertSqlSafe(statement.replace('#', &self.pool.prefix)))
    }

    pub(crate) async fn all(&mut self, query: Statement) -> Result<Vec<PgRow>> {
        let query = self.unprepared(query).await?;
        let rows = query.fetch_all(self.connection()).await;
        self.end_unprepared(rows).await
    }

    pub(crate) async fn first(&mut self, query: Statement) -> Result<Option<PgRow>> {
        Ok(self.all(query).await?.into_iter().next())
    }

    /// Returns the only row of a statement that always has one.
    pub(crate) async fn only(&mut self, query: Statement) -> Result<PgRow> {
        self.first(query).await?.ok_or_else(|| sqlx::Error::RowNotFound.into())
    }

    /// Returns how many rows were written.
    pub(crate) async fn execute(&mut self, query: Statement) -> Result<u64> {
        let query = self.unprepared(query).await?;
        let result = query.execute(self.connection()).await;
        Ok(self.end_unprepared(result).await?.rows_affected())
    }

    /// Returns a statement that does not stay prepared, if none may. The driver parses and executes
    /// it in two requests, which reach one connection of the server only within a transaction.
    async fn unprepared(&mut self, query: Statement) -> Result<Statement> {
        if !self.pool.unprepared {
            return Ok(query);
        }
        if !self.transaction {
            sqlx::raw_sql(sql::BEGIN).execute(self.connection()).await?;
        }
        Ok(query.persistent(false))
    }

    /// Ends the transaction of a statement that would have none otherwise.
    async fn end_unprepared<T>(&mut self, result: sqlx::Result<T>) -> Result<T> {
        if self.pool.unprepared && !self.transaction {
            let end = if result.is_ok() { sql::COMMIT } else { sql::ROLLBACK };
            let ended = sqlx::raw_sql(end).execute(self.connection()).await;
            return Ok(result.and_then(|value| ended.map(|_| value))?);
        }
        Ok(result?)
    }

    async fn start(&mut self, work: Work, user: Option<&UserId>) -> Result<()> {
        let Pool { row_security, read_only, .. } = *self.pool;
        match work {
            // The server then also rejects writes that this program must not have made.
            Work::Read | Work::Inspect if read_only => self.begin_with(sql::BEGIN_SNAPSHOT).await?,
            Work::Read if row_security => self.begin_with(sql::BEGIN_SNAPSHOT).await?,
            Work::Append if row_security => self.begin_with(sql::BEGIN_WRITE).await?,
            Work::Read | Work::Inspect | Work::Append | Work::Maintain => {}
            Work::NestedLoops => self.begin_with(sql::BEGIN_SNAPSHOT_UNCOMPILED).await?,
            Work::Snapshot => self.begin_with(sql::BEGIN_SNAPSHOT).await?,
            Work::Write | Work::Commit(Flush::Configured) => {
                self.begin_with(sql::BEGIN_WRITE).await?
            }
            Work::Commit(Flush::Awaited) => self.begin_with(sql::BEGIN_FLUSHED).await?,
            Work::Commit(Flush::Later) => self.begin_with(sql::BEGIN_UNFLUSHED).await?,
        }
        if row_security && !matches!(work, Work::Inspect | Work::Maintain) {
            let user = user.map_or(&[][..], |user| user.as_str().as_bytes());
            let query = self.query(sql::SET_USER).bind(user);
            self.execute(query).await?;
        }
        Ok(())
    }

    async fn begin_with(&mut self, begin: &'static str) -> Result<()> {
        sqlx::raw_sql(begin).execute(self.connection()).await?;
        self.transaction = true;
        Ok(())
    }

    /// Ends the work: commits it, or rolls it back if it failed.
    pub(crate) async fn end<T>(mut self, result: Result<T>) -> Result<T> {
        if result.as_ref().is_err_and(|fault| !fault.keeps_connection()) {
            // The failure has most likely broken the idle connections too.
            drop(self.pool.idle().map(|mut idle| std::mem::take(&mut *idle)));
            return result;
        }
        if !self.transaction {
            self.answered = true;
            return result;
        }
        let end = if result.is_ok() { sql::COMMIT } else { sql::ROLLBACK };
        match sqlx::raw_sql(end).execute(self.connection()).await {
            Ok(_) => {
                self.answered = true;
                result
            }
            Err(error) => result.and(Err(error.into())),
        }
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        match self.pooled.take() {
            Some(PooledConnection::Own(connection)) if self.answered && !self.pool.is_closed() => {
                if let Some(mut idle) = self.pool.idle() {
                    idle.push(connection);
                }
            }
            Some(PooledConnection::Shared(connection)) if !self.answered => {
                drop(connection.detach())
            }
            _ => {}
        }
    }
}
