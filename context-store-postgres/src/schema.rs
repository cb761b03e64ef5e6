//! Opening a schema: the versions of server and schema, migrations, policies, and pgvector.

pub(crate) mod migrations;
pub(crate) mod pgvector;
mod upgrade;

use context_core::store::Durability;
use context_core::{Error, ErrorKind};
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::config::PostgresConfig;
use crate::connections::{Pool, Session, Work};
use crate::error::Result;
use crate::memories::pgvector::Pgvector;
use crate::schema::migrations::NEWEST_VERSION;
use crate::sql;

/// The oldest supported version of the server.
const OLDEST_SERVER: i32 = 130_000;

/// Facts about the store that were read when it was opened.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) full_text: bool,
    pub(crate) pgvector: Option<Pgvector>,
    pub(crate) durability: Durability,
    /// The durability of a commit that waits until the server has flushed its log.
    pub(crate) strongest: Durability,
    pub(crate) warning: Option<&'static str>,
}

/// Opens a store with this configuration.
pub(crate) async fn begin(pool: &Pool, config: &PostgresConfig) -> Result<Facts> {
    let work = if config.read_only { Work::Inspect } else { Work::Maintain };
    let mut session = pool.begin(work, None).await?;
    let facts = open(&mut session, config).await;
    session.end(facts).await
}

/// Upgrades the schema and returns the facts about the store.
pub(crate) async fn open(session: &mut Session<'_>, config: &PostgresConfig) -> Result<Facts> {
    let query =
        session.query(sql::SERVER).bind(format!("{}{}", session.prefix(), sql::MIGRATIONS_TABLE));
    let query = query.bind(session.prefix().trim_end_matches('.').to_owned());
    let row = session.only(query).await?;
    let (durability, strongest, warning) = server(&row)?;
    match version(session, &row).await? {
        Some(NEWEST_VERSION) => {}
        Some(version) if version > NEWEST_VERSION => {
            return Err(migrations::newer_schema(version).into());
        }
        None if !config.may_create() => {
            let message = "there is no context store in the schema";
            return Err(Error::new(ErrorKind::NotFound, "open", message).into());
        }
        Some(version) if !config.may_create() => {
            let message = if config.read_only {
                "the store has an older version: upgrade it with `context upgrade`"
            } else {
                "the schema has an older version, and the configuration does not allow an upgrade"
            };
            let error = Error::new(ErrorKind::Unsupported, "open", message);
            return Err(error
                .with("older_schema", version)
                .with("newest_schema", NEWEST_VERSION)
                .into());
        }
        _ => migrations::run(session.connection(), config).await?,
    }
    let query = session.query(sql::STORE).bind(format!("{}chat", session.prefix()));
    let query = query.bind(format!("{}run", session.prefix()));
    let row = session.only(query).await?;
    let full_text = row.try_get(0)?;
    row_security(session, config, row.try_get(1)?, row.try_get(2)?).await?;
    if config.full_text.is_some_and(|wanted| wanted != full_text) {
        let message = if full_text {
            "the store has full-text search, which is fixed when the store is created"
        } else {
            "the store has no full-text search, which is fixed when the store is created"
        };
        return Err(Error::invalid("open", message).into());
    }
    check_partitions(config, row.try_get(3)?)?;
    let pgvector = pgvector::open(session, config).await?;
    Ok(Facts { full_text, pgvector, durability, strongest, warning })
}

/// Returns the version of the store in the schema, or `None` if the schema is empty or missing.
/// Rejects a schema that another program uses.
async fn version(session: &mut Session<'_>, row: &PgRow) -> Result<Option<i64>> {
    let (has_record, has_tables): (bool, bool) = (row.try_get(5)?, row.try_get(6)?);
    if !has_record {
        return if has_tables { Err(migrations::foreign_schema().into()) } else { Ok(None) };
    }
    let query = session.query(sql::VERSIONS);
    let rows = match session.all(query).await {
        Err(fault) if fault.is_foreign_table() => return Err(migrations::foreign_schema().into()),
        rows => rows?,
    };
    let read = |row: &PgRow| Ok::<_, sqlx::Error>((row.try_get(0)?, row.try_get(1)?));
    // A migration table with other types belongs to another program too.
    let record: Vec<(i64, Vec<u8>)> = rows
        .iter()
        .map(read)
        .collect::<Result<_, _>>()
        .map_err(|_| migrations::foreign_schema())?;
    Ok(Some(migrations::version(&record)?))
}

/// Creates the policies if they are wanted. Returns an error if policies apply but are not
/// configured.
async fn row_security(
    session: &mut Session<'_>,
    config: &PostgresConfig,
    on: bool,
    active: bool,
) -> Result<()> {
    if !on && config.row_security {
        if !config.may_create() {
            let message = "the schema has no row-level security, and the configuration does not allow enabling it";
            return Err(Error::new(ErrorKind::Unsupported, "open", message)
                .with("schema", &config.schema)
                .into());
        }
        migrations::enable_row_security(session.connection(), config).await?;
    }
    if active && !config.row_security {
        let message =
            "row-level security applies to the role, but is not enabled in the configuration";
        return Err(Error::invalid("open", message).with("schema", &config.schema).into());
    }
    Ok(())
}

/// Rejects a number of partitions that the schema was not created with.
fn check_partitions(config: &PostgresConfig, stored: i64) -> Result<(), Error> {
    match config.partitions {
        Some(wanted) if i64::from(wanted) != stored => {
            let message = "the store has another number of partitions, which is fixed when the store is created: open it without this option, or copy its chats into a new schema";
            let error = Error::invalid("open", message).with("schema", &config.schema);
            Err(error.with("partitions", stored).with("wanted", wanted))
        }
        _ => Ok(()),
    }
}

/// Reads the settings that durability depends on, and rejects unsupported servers. Returns the
/// durability of commits, that of commits which wait for the log, and a warning.
fn server(row: &PgRow) -> Result<(Durability, Durability, Option<&'static str>)> {
    let (version, encoding): (i32, String) = (row.try_get(0)?, row.try_get(1)?);
    if version < OLDEST_SERVER {
        let error =
            Error::new(ErrorKind::Unsupported, "open", "the server is older than PostgreSQL 13");
        return Err(error.with("server", version).with("oldest", OLDEST_SERVER).into());
    }
    if encoding != "UTF8" {
        let error =
            Error::new(ErrorKind::Unsupported, "open", "the database is not encoded in UTF-8");
        return Err(error.with("encoding", encoding).into());
    }
    let off = |column: usize| Ok::<_, sqlx::Error>(row.try_get::<String, _>(column)? == "off");
    let (unflushed, no_fsync, torn_pages) = (off(2)?, off(3)?, off(4)?);
    let strongest =
        if no_fsync || torn_pages { Durability::ProcessCrash } else { Durability::PowerLoss };
    let durability = if unflushed { Durability::Server } else { strongest };
    let warning = match (unflushed, no_fsync, torn_pages) {
        (true, ..) => {
            Some("synchronous_commit is off: a crash of the server may lose the newest commits")
        }
        (_, true, _) => Some("fsync is off: a loss of power may damage the database"),
        (.., true) => Some("full_page_writes is off: a loss of power may damage the database"),
        _ => None,
    };
    Ok((durability, strongest, warning))
}
