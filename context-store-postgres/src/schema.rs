//! The schema's versions: bringing an old one up to date, refusing one that is too new; and what the server says of
//! itself.
//!
//! Migrations only ever go forward. Nothing is rewritten silently: a migration is a file of SQL that never changes
//! once it was released, all that are due run in one transaction, and a schema that a newer program wrote is not
//! touched.

use std::borrow::Cow;

use context_core::{Durability, Error, ErrorKind};
use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection, Postgres, Row, SqlSafeStr, Transaction};

use crate::config::PostgresConfig;
use crate::error::Result;
use crate::pool::{Session, quoted};
use crate::sql;

/// The oldest server the statements are written for.
const OLDEST_SERVER: i32 = 130_000;

/// The migrations by version. They are run with the schema as the search path, so they name tables alone.
const MIGRATIONS: [(i64, &str, &str); 4] = [
    (1, "init", include_str!("../migrations/0001_init.sql")),
    (2, "search", include_str!("../migrations/0002_search.sql")),
    (10, "blobs", include_str!("../migrations/0010_blobs.sql")),
    (11, "streams", include_str!("../migrations/0011_streams.sql")),
];

/// What row-level security adds, if it is wanted.
const ROW_SECURITY: &str = include_str!("../migrations/row_security.sql");

/// The newest version this program knows.
const KNOWN: i64 = MIGRATIONS[MIGRATIONS.len() - 1].0;

/// What was found out when the store was opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    pub(crate) full_text: bool,
    pub(crate) durability: Durability,
    pub(crate) warning: Option<&'static str>,
}

fn migrator() -> Migrator {
    let migration = |(version, name, sql): (i64, &'static str, &'static str)| {
        Migration::new(version, Cow::Borrowed(name), MigrationType::Simple, sql.into_sql_str(), false)
    };
    let mut migrator = Migrator::with_migrations(MIGRATIONS.into_iter().map(migration).collect());
    migrator.dangerous_set_table_name(sql::MIGRATIONS_TABLE);
    // The driver's lock is one for the whole database, and the transaction around all is ours.
    migrator.set_locking(false);
    migrator
}

/// Brings the schema up to date and says what the store is.
pub(crate) async fn open(session: &mut Session<'_>, config: &PostgresConfig) -> Result<Facts> {
    let (durability, warning) = server(session).await?;
    match version(session).await? {
        Some(KNOWN) => {}
        Some(version) if version > KNOWN => return Err(too_new(version).into()),
        found if !config.create => {
            let message = match found {
                None => "there is no store in the schema, and none may be made",
                Some(_) => "the schema is of an older program, and may not be brought up to date",
            };
            return Err(Error::new(ErrorKind::Unsupported, "open", message).with("known", KNOWN).into());
        }
        _ => migrate(session.connection(), config).await?,
    }
    row_security(session, config).await?;
    let query = session.query(sql::STORE);
    let full_text = session.only(query).await?.try_get(0)?;
    if config.full_text.is_some_and(|wanted| wanted != full_text) {
        let message = if full_text {
            "the store has full text, which is decided when it is made"
        } else {
            "the store has no full text, which is decided when it is made"
        };
        return Err(Error::invalid("open", message).into());
    }
    Ok(Facts { full_text, durability, warning })
}

/// Sees to it that the policies are there if they are wanted, and that they are known of if they hold.
async fn row_security(session: &mut Session<'_>, config: &PostgresConfig) -> Result<()> {
    let query = session.query(sql::ROW_SECURITY).bind(format!("{}chat", session.prefix()));
    let row = session.only(query).await?;
    let (on, active): (bool, bool) = (row.try_get(0)?, row.try_get(1)?);
    if !on && config.row_security {
        if !config.create {
            let message = "row-level security is wanted, and may not be switched on";
            return Err(Error::new(ErrorKind::Unsupported, "open", message)
                .with("schema", &config.schema)
                .into());
        }
        let mut transaction = locked(session.connection(), config).await?;
        sqlx::raw_sql(ROW_SECURITY).execute(&mut *transaction).await?;
        transaction.commit().await?;
    }
    if active && !config.row_security {
        let message = "the role is under row-level security, which the store has to know of";
        return Err(Error::invalid("open", message).with("schema", &config.schema).into());
    }
    Ok(())
}

/// Looks at the settings that promises depend on.
async fn server(session: &mut Session<'_>) -> Result<(Durability, Option<&'static str>)> {
    let query = session.query(sql::SERVER);
    let row = session.only(query).await?;
    let (version, encoding): (i32, String) = (row.try_get(0)?, row.try_get(1)?);
    if version < OLDEST_SERVER {
        let error = Error::new(ErrorKind::Unsupported, "open", "the server is too old");
        return Err(error.with("server", version).with("oldest", OLDEST_SERVER).into());
    }
    if encoding != "UTF8" {
        let error = Error::new(ErrorKind::Unsupported, "open", "the database is not encoded in UTF-8");
        return Err(error.with("encoding", encoding).into());
    }
    let off = |column: usize| Ok::<_, sqlx::Error>(row.try_get::<String, _>(column)? == "off");
    Ok(if off(2)? {
        (
            Durability::Server,
            Some("synchronous_commit is off: the newest commits may go with the server, if it crashes"),
        )
    } else if off(3)? {
        (Durability::ProcessCrash, Some("fsync is off: a loss of power may damage the database"))
    } else if off(4)? {
        (Durability::ProcessCrash, Some("full_page_writes is off: a loss of power may damage the database"))
    } else {
        (Durability::PowerLoss, None)
    })
}

/// Runs what is due. Under one lock for each schema, so of several processes one does it and the others find it done.
async fn migrate(connection: &mut PgConnection, config: &PostgresConfig) -> Result<()> {
    let mut transaction = locked(connection, config).await?;
    let newest: Option<i64> =
        match sqlx::query(sql::MIGRATED_HERE).fetch_one(&mut *transaction).await?.try_get(0)? {
            false => None,
            true => sqlx::query(sql::VERSION_HERE).fetch_one(&mut *transaction).await?.try_get(0)?,
        };
    if let Some(version) = newest.filter(|version| *version > KNOWN) {
        return Err(too_new(version).into());
    }
    if let Err(error) = migrator().run_direct(None, &mut *transaction, false).await {
        return Err(match error {
            sqlx::migrate::MigrateError::Execute(error) => error.into(),
            _ => Error::new(ErrorKind::Corrupt, "open", "the schema's record of its versions is not ours")
                .into(),
        });
    }
    let full_text = config.full_text.unwrap_or(true);
    sqlx::query(sql::DECIDE_STORE).bind(full_text).execute(&mut *transaction).await?;
    transaction.commit().await?;
    Ok(())
}

/// A transaction that nobody else has for the same schema, with the schema as its search path.
async fn locked<'a>(
    connection: &'a mut PgConnection,
    config: &PostgresConfig,
) -> Result<Transaction<'a, Postgres>> {
    let mut transaction = connection.begin_with(sql::BEGIN_WRITE).await?;
    let hash = blake3::hash(config.schema.as_bytes());
    let key = i64::from_le_bytes(std::array::from_fn(|i| hash.as_bytes()[i]));
    sqlx::query(sql::LOCK_MIGRATIONS).bind(key).execute(&mut *transaction).await?;
    let schema = quoted(&config.schema);
    // An identifier in quotes is all that is put into them.
    for statement in [
        format!("CREATE SCHEMA IF NOT EXISTS {schema}"),
        format!("SET LOCAL search_path TO {schema}"),
        "SET LOCAL client_min_messages TO warning".to_owned(),
    ] {
        sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut *transaction).await?;
    }
    Ok(transaction)
}

/// The version of the schema; nothing if there is no store in it.
async fn version(session: &mut Session<'_>) -> Result<Option<i64>> {
    let query = session.query(sql::MIGRATED).bind(format!("{}{}", session.prefix(), sql::MIGRATIONS_TABLE));
    if !session.only(query).await?.try_get::<bool, _>(0)? {
        return Ok(None);
    }
    let query = session.query(sql::VERSION);
    Ok(session.only(query).await?.try_get(0)?)
}

fn too_new(version: i64) -> Error {
    let message = format!("written by schema {version}, this program knows up to {KNOWN}");
    Error::new(ErrorKind::Unsupported, "open", message).with("schema", version)
}
