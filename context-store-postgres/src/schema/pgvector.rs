//! The set-up of the extension pgvector: whether the server has it, and its table.

use sqlx::Row;

use crate::config::PostgresConfig;
use crate::connections::Session;
use crate::error::{Fault, Result};
use crate::memories::pgvector::Pgvector;
use crate::schema::migrations;
use crate::sql::pgvector as sql;

/// The state of the extension in the server.
struct ExtensionState {
    pgvector: Option<Pgvector>,
    available: bool,
    table: bool,
    allowed: bool,
}

/// Finds out whether the extension can be used, and sets it up if possible.
pub(crate) async fn open(
    session: &mut Session<'_>,
    config: &PostgresConfig,
) -> Result<Option<Pgvector>> {
    if !config.pgvector {
        return Ok(None);
    }
    let mut state = read_state(session).await?;
    if state.table || !config.may_create() || !state.available && state.pgvector.is_none() {
        return Ok(state.pgvector.filter(|_| state.table && state.allowed));
    }
    if state.pgvector.is_none() {
        match sqlx::raw_sql(sql::CREATE_EXTENSION)
            .execute(session.connection())
            .await
            .map_err(Into::into)
        {
            Ok(_) => {}
            // The role is not allowed to, or another process has created the extension first.
            Err(fault) if Fault::keeps_connection(&fault) => {}
            Err(fault) => return Err(fault),
        }
        state = read_state(session).await?;
    }
    if let Some(pgvector) = &state.pgvector {
        let table = sql::CREATE_TABLE.replace('@', pgvector.prefix());
        migrations::add_table(session.connection(), config, table).await?;
    }
    Ok(state.pgvector)
}

async fn read_state(session: &mut Session<'_>) -> Result<ExtensionState> {
    let query = session.query(sql::STATE).bind(format!("{}memory_pgvector", session.prefix()));
    let row = session.only(query).await?;
    let schema: Option<String> = row.try_get(0)?;
    let pgvector = schema.map(|schema| Pgvector::new(&schema));
    Ok(ExtensionState {
        pgvector,
        available: row.try_get(1)?,
        table: row.try_get(2)?,
        allowed: row.try_get(3)?,
    })
}
