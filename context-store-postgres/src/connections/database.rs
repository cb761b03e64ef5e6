//! Creation of the database when a store is opened for the first time.

use context_core::{Error, ErrorKind, Retry};
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, Connection};
use tokio::time::timeout;

use crate::config::{PostgresConfig, Server};
use crate::connections::quoted;
use crate::error::{Fault, Result};

/// Databases that every server has, unless somebody dropped them.
const MAINTENANCE_DATABASES: [&str; 2] = ["postgres", "template1"];

/// Returns the name of the configured database.
pub(crate) fn name(config: &PostgresConfig) -> Option<String> {
    let Server::Address(options) = &config.server else { return None };
    Some(options.get_database().unwrap_or(options.get_username()).to_owned())
}

/// Returns the address of the configured server.
pub(crate) fn server(config: &PostgresConfig) -> Option<String> {
    let Server::Address(options) = &config.server else { return None };
    Some(format!("{}:{}", options.get_host(), options.get_port()))
}

/// Creates the configured database, unless another process creates it first.
pub(crate) async fn create(config: &PostgresConfig) -> Result<()> {
    let Server::Address(options) = &config.server else { return Ok(()) };
    let Some(name) = name(config) else { return Ok(()) };
    let created = timeout(config.connect_timeout, create_at(options, &name)).await;
    match created.unwrap_or(Err(Fault::TimedOut)) {
        Err(fault) if fault.database_exists() => Ok(()),
        Err(fault) => {
            let message = "the database does not exist and could not be created: create it, or give the role the attribute CREATEDB";
            let error = Error::new(ErrorKind::Unavailable, "open", message).with("database", name);
            let error = match fault.lacks_privilege() {
                true => error.with_retry(Retry::Never),
                false => error,
            };
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
    let created = sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut connection).await;
    connection.close().await?;
    created?;
    Ok(())
}

/// Returns a connection to a database that exists.
async fn connection(options: &PgConnectOptions) -> Result<PgConnection> {
    let mut missing = None;
    for database in MAINTENANCE_DATABASES {
        match PgConnection::connect_with(&options.clone().database(database))
            .await
            .map_err(Fault::from)
        {
            Err(fault) if fault.database_is_missing() => missing = Some(fault),
            connected => return connected,
        }
    }
    Err(missing.unwrap_or(Fault::TimedOut))
}
