//! Creation of the database when a store is opened for the first time.

use context_core::{Error, ErrorKind};
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, Connection};
use tokio::time::timeout;

use crate::config::{PostgresConfig, Server};
use crate::error::{Fault, Result};
use crate::pool::quoted;

/// Databases that every server has, unless somebody dropped them.
const KNOWN: [&str; 2] = ["postgres", "template1"];

/// Returns the name of the configured database.
pub(crate) fn name(config: &PostgresConfig) -> Option<String> {
    let Server::At(options) = &config.server else { return None };
    Some(options.get_database().unwrap_or(options.get_username()).to_owned())
}

/// Creates the configured database, unless somebody else creates it first.
pub(crate) async fn create(config: &PostgresConfig) -> Result<()> {
    let Server::At(options) = &config.server else { return Ok(()) };
    let Some(name) = name(config) else { return Ok(()) };
    let made = timeout(config.connect_timeout, create_at(options, &name)).await;
    match made.unwrap_or(Err(Fault::TimedOut)) {
        Err(fault) if fault.is_made_already() => Ok(()),
        Err(fault) => {
            let message = "there is no such database, and it could not be made: have it made, or let the role make databases";
            let error = Error::new(ErrorKind::Unavailable, "open", message).with("database", name);
            Err(error.with_source(fault.during("create database")).into())
        }
        Ok(()) => Ok(()),
    }
}

async fn create_at(options: &PgConnectOptions, name: &str) -> Result<()> {
    let mut connection = connection(options).await?;
    // `template0` has no connections. Any other template cannot be copied while somebody is
    // connected to it. Only a quoted identifier is inserted.
    let statement = format!("CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8'", quoted(name));
    let made = sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut connection).await;
    connection.close().await?;
    made?;
    Ok(())
}

/// Returns a connection to a database that exists.
async fn connection(options: &PgConnectOptions) -> Result<PgConnection> {
    let mut missing = None;
    for known in KNOWN {
        match PgConnection::connect_with(&options.clone().database(known))
            .await
            .map_err(Fault::from)
        {
            Err(fault) if fault.is_no_database() => missing = Some(fault),
            connected => return connected,
        }
    }
    Err(missing.unwrap_or(Fault::TimedOut))
}
