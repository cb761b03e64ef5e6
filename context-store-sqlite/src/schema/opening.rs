//! Opening a file: checks that the file is a store, then creates or upgrades it.

use context_core::{Error, ErrorKind, Retry};
use sqlx::sqlite::SqliteConnection;
use sqlx::{ConnectOptions, Connection};

use crate::config::SqliteConfig;
use crate::connections::Connections;
use crate::error::{Fault, Result};
use crate::file::access::sidecar;
use crate::file::{self, FileUse, Label};
use crate::history::unindexed;
use crate::schema::{self, creation};
use crate::sql;

/// Opens the file of a store.
pub(crate) async fn open(config: &SqliteConfig) -> Result<Connections> {
    if config.read_only { open_to_read(config).await } else { open_to_write(config).await }
}

async fn open_to_write(config: &SqliteConfig) -> Result<Connections> {
    let connections = Connections::unopened(config, false)?;
    if !file::exists(&config.path, FileUse::Write)? {
        if !config.create {
            return Err(file::absent().into());
        }
        creation::create(connections.options(), &config.path, config.full_text).await?;
    }
    check_ours(&connections, config).await?;
    let shares_index = sidecar(connections.path(), "-shm").exists();
    let mut connection = connections.options().connect().await?;
    schema::use_wal(&mut connection).await?;
    if shares_index {
        check_index(&mut connection).await?;
    }
    let full_text = schema::migrate(&mut connection, config.full_text).await?;
    schema::check_made(&mut connection, full_text).await?;
    let unindexed = if full_text { unindexed::count(&mut connection).await? } else { 0 };
    connections.with_writer(connection, full_text, unindexed).await
}

async fn open_to_read(config: &SqliteConfig) -> Result<Connections> {
    let mut connections = Connections::unopened(config, true)?;
    if !file::exists(&config.path, FileUse::Read)? {
        return Err(file::absent().into());
    }
    check_ours(&connections, config).await?;
    connections.full_text = ask(&connections, Question::Schema(config.full_text)).await?;
    Ok(connections)
}

/// Rejects a file that is not a store, before anything is written.
async fn check_ours(connections: &Connections, config: &SqliteConfig) -> Result<()> {
    match file::label(connections.options(), &config.path).await? {
        Label::Ours => Ok(()),
        Label::None => {
            // The log may hold tables that are not in the file yet, so the file must be read to
            // find out.
            let reading = Connections::unopened(config, true)?;
            let answer = ask(&reading, Question::Tables).await;
            // A process has one index of a log. While it is open for reading, the writer cannot
            // write it.
            reading.close().await?;
            answer.map(drop)
        }
    }
}

/// A query about a file before it is used.
#[derive(Clone, Copy)]
enum Question {
    /// Whether the file has the tables of this store.
    Tables,
    /// Whether this program can read the schema without an upgrade, and whether the file has full
    /// text as wanted.
    Schema(Option<bool>),
}

/// Runs the query. If no lock protects the read, the query is repeated when the file changed
/// meanwhile.
async fn ask(connections: &Connections, question: Question) -> Result<bool> {
    let mut repeats = 0;
    loop {
        let mut reader = connections.reader().await?;
        let answer = match question {
            Question::Tables => file::check_tables(&mut reader).await.map(|()| true),
            Question::Schema(full_text) => schema::check_readable(&mut reader, full_text).await,
        };
        if let Some(answer) = reader.settle(answer, &mut repeats) {
            return answer;
        }
    }
}

/// Rejects writing through an index of the log that was opened for reading. A process has one index
/// per log, opened in the mode that its first connection needed.
async fn check_index(connection: &mut SqliteConnection) -> Result<()> {
    match connection.begin_with(sql::BEGIN).await.map_err(Fault::from) {
        Ok(transaction) => Ok(transaction.rollback().await?),
        Err(fault) if fault.is_busy() => Ok(()),
        Err(fault) if fault.is_read_only() => {
            let message = "the index of the log (-shm) can only be read: close the handles of this process that are open to read, \
                           or check its owner";
            Err(Error::new(ErrorKind::Unavailable, "open", message).with_retry(Retry::Never).into())
        }
        Err(fault) => Err(fault),
    }
}
