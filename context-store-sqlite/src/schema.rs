//! Schema versions: upgrading old files and rejecting files that are too new.
//!
//! Migrations only go forward. A migration is an SQL file that never changes once it is released.
//! All pending migrations run in one transaction. A file of a newer program is not changed.
//! `tests/old` keeps a file of every version.

mod creation;
mod opening;
mod upgrade;

use std::borrow::Cow;
use std::collections::BTreeMap;

use context_core::{Error, ErrorKind};
use context_store_kit::checksum::Checksum;
use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Row, SqlSafeStr};
use tokio::sync::OnceCell;

pub(crate) use self::opening::open;
use crate::error::{Fault, Result};
use crate::history::words;
use crate::{file, sql};

/// The newest schema version that this program knows.
const KNOWN: i64 = 11;
/// The first version that may have full text.
const WITH_FULL_TEXT: i64 = 3;
/// The first version with checksums.
const WITH_CHECKSUMS: i64 = 8;
/// The first version in which branches have tails, and with the appends of today.
const WITH_TAILS: i64 = 11;

const APPEND: &str = include_str!("../migrations/append.sql");

/// The number of times setting the journal mode is retried while other processes open the same new
/// file.
const ATTEMPTS: usize = 100;

fn migrations() -> Migrator {
    let all = [
        (1, "init", include_str!("../migrations/0001_init.sql")),
        (2, "branches", include_str!("../migrations/0002_branches.sql")),
        (WITH_FULL_TEXT, "search", include_str!("../migrations/0003_search.sql")),
        (4, "blobs", include_str!("../migrations/0004_blobs.sql")),
        (5, "streams", include_str!("../migrations/0005_streams.sql")),
        (6, "trajectories", include_str!("../migrations/0006_trajectories.sql")),
        (7, "memories", include_str!("../migrations/0007_memories.sql")),
        (WITH_CHECKSUMS, "checksums", include_str!("../migrations/0008_checksums.sql")),
        (
            9,
            "leases_and_versions",
            concat!(
                include_str!("../migrations/0009_leases.sql"),
                include_str!("../migrations/0009_fragment_versions.sql")
            ),
        ),
        (10, "ref_log", include_str!("../migrations/0010_ref_log.sql")),
        (WITH_TAILS, "tails", include_str!("../migrations/0011_tails.sql")),
    ];
    let migration = |(version, name, sql): (i64, &'static str, &'static str)| {
        Migration::new(
            version,
            Cow::Borrowed(name),
            MigrationType::Simple,
            sql.into_sql_str(),
            false,
        )
    };
    let mut migrator = Migrator::with_migrations(all.into_iter().map(migration).collect());
    migrator.dangerous_set_table_name(sql::MIGRATIONS_TABLE);
    // SQLite has no advisory lock. The transaction around all migrations takes its place.
    migrator.set_locking(false);
    migrator
}

/// Switches the journal to write-ahead logging. The mode is stored in the file, so every later call
/// does nothing.
///
/// Two processes that switch at once may get a busy error without any waiting, because each could
/// hold the lock that the other needs. Taking and releasing the write lock waits for the other
/// process.
pub(crate) async fn use_wal(connection: &mut SqliteConnection) -> Result<()> {
    let mut attempts = ATTEMPTS;
    loop {
        match sqlx::query(sql::USE_WAL).fetch_all(&mut *connection).await.map_err(Fault::from) {
            Err(fault) if fault.is_busy() && attempts > 0 => attempts -= 1,
            other => return other.map(drop),
        }
        match connection.begin_with(sql::BEGIN).await {
            Ok(transaction) => transaction.rollback().await?,
            Err(error) => {
                let fault = Fault::from(error);
                if !fault.is_busy() {
                    return Err(fault);
                }
            }
        }
    }
}

/// Upgrades the schema and returns whether the file has full text. The upgrade holds one write
/// lock, so of several processes one does it and the others find it done.
///
/// A file that is new, or older than full text, gets full text unless it is disabled.
pub(crate) async fn migrate(
    connection: &mut SqliteConnection,
    full_text: Option<bool>,
) -> Result<bool> {
    let labelled = is_labelled(connection).await?;
    match version(connection).await? {
        Some(KNOWN) if labelled => return check_full_text(connection, full_text).await,
        Some(version) if version > KNOWN => return Err(too_new(version).into()),
        _ => {}
    }
    let mut transaction = connection.begin_with(sql::BEGIN).await?;
    let before = version(&mut transaction).await?;
    if let Some(version) = before.filter(|version| *version > KNOWN) {
        return Err(too_new(version).into());
    }
    if let Err(error) = migrations().run_direct(None, &mut *transaction, false).await {
        let error = Error::new(
            ErrorKind::Unavailable,
            "open",
            "the schema could not be brought up to date",
        )
        .with_source(error);
        return Err(error.into());
    }
    if before.is_some_and(|before| before < WITH_CHECKSUMS) {
        upgrade::add_checksums(&mut transaction).await?;
    }
    if before.is_none_or(|before| before < WITH_FULL_TEXT) && full_text != Some(false) {
        words::build(&mut transaction).await?;
    }
    if before.is_none_or(|before| before < WITH_TAILS) {
        let full_text = check_full_text(&mut transaction, None).await?;
        sqlx::raw_sql(AssertSqlSafe(append(full_text))).execute(&mut *transaction).await?;
    }
    let has = check_full_text(&mut transaction, full_text).await?;
    let (sum, _) = text_sum(&mut transaction).await?;
    sqlx::query(sql::SEAL_SCHEMA).bind(sum).execute(&mut *transaction).await?;
    file::set_label(&mut transaction).await?;
    transaction.commit().await?;
    Ok(has)
}

/// Returns the statements that make a file ready for appends. What is marked with `words` is only
/// for a file with full text.
fn append(full_text: bool) -> String {
    let mut parts = APPEND.split("/*words");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (words, rest) = part.split_once("*/").unwrap_or((part, ""));
        text.extend([if full_text { words } else { "" }, rest]);
    }
    text
}

/// Rejects a schema that this program cannot read without an upgrade. Returns whether the file has
/// full text.
pub(crate) async fn check_readable(
    connection: &mut SqliteConnection,
    full_text: Option<bool>,
) -> Result<bool> {
    match version(connection).await? {
        Some(KNOWN) => {
            let has = check_full_text(connection, full_text).await?;
            check_made(connection, has).await?;
            Ok(has)
        }
        Some(version) if version > KNOWN => Err(too_new(version).into()),
        version => {
            let version = version.unwrap_or(0);
            let message = format!(
                "the file has schema version {version}, which is read only after an upgrade to {KNOWN}: run \
                 `context upgrade`, or open the file to write"
            );
            Err(Error::new(ErrorKind::Unsupported, "open", message)
                .with("older_schema", version)
                .with("newest_schema", KNOWN)
                .into())
        }
    }
}

async fn is_labelled(connection: &mut SqliteConnection) -> Result<bool> {
    let row = sqlx::query(sql::APPLICATION).fetch_one(connection).await?;
    Ok(row.try_get::<i64, _>(0)? == file::APPLICATION_ID)
}

/// Returns whether the file has full text, or an error if that contradicts the wanted setting.
async fn check_full_text(connection: &mut SqliteConnection, wanted: Option<bool>) -> Result<bool> {
    let has = !sqlx::query(sql::words::HAS_WORDS).fetch_all(connection).await?.is_empty();
    if wanted.is_some_and(|wanted| wanted != has) {
        let message = if has {
            "the file has full-text search, which is fixed when the file is created"
        } else {
            "the file has no full-text search, which is fixed when the file is created"
        };
        return Err(Error::invalid("open", message).into());
    }
    Ok(has)
}

/// Returns the checksum of all tables, indexes, views and triggers, and whether each of them has
/// pages of its own.
async fn text_sum(connection: &mut SqliteConnection) -> Result<(i64, bool)> {
    let row = sqlx::query(sql::SCHEMA_TEXT).fetch_one(connection).await?;
    let sum = Checksum::of("schema").text(row.try_get(0)?).value();
    Ok((i64::from(sum), row.try_get(1)?))
}

/// Whether the schema of a file matches its stored checksum.
pub(crate) async fn is_sealed(connection: &mut SqliteConnection) -> Result<bool> {
    let (sum, _) = text_sum(connection).await?;
    let sealed = sqlx::query(sql::SEALED_SCHEMA).fetch_optional(connection).await?;
    Ok(sealed.map(|row| row.try_get::<Option<i64>, _>(0)).transpose()?.flatten() == Some(sum))
}

/// Rejects a file in which a table, an index, a view or a trigger was lost or altered. Objects that
/// somebody has added are allowed.
pub(crate) async fn check_made(connection: &mut SqliteConnection, full_text: bool) -> Result<()> {
    let (_, is_apart) = text_sum(connection).await?;
    if !is_apart {
        return Err(Fault::Corrupt("two tables or indexes of the file have the same pages", None));
    }
    // The stored checksum may itself be lost, so an error is not the answer yet.
    if matches!(is_sealed(connection).await, Ok(true)) {
        return Ok(());
    }
    let actual = of(connection).await?;
    for (name, text) in made_by_migrations(full_text).await? {
        if actual.get(name) != Some(text) {
            let message =
                "a part of the file's schema is missing or was changed: run `context verify`";
            return Err(Error::new(ErrorKind::Corrupt, "open", message).with("part", name).into());
        }
    }
    Ok(())
}

/// Returns the schema of a file: the SQL texts by type and name.
pub(crate) async fn of(connection: &mut SqliteConnection) -> Result<BTreeMap<String, String>> {
    let mut schema = BTreeMap::new();
    for row in sqlx::query(sql::SCHEMA).fetch_all(connection).await? {
        schema.insert(row.try_get(0)?, row.try_get(1)?);
    }
    Ok(schema)
}

/// Returns the schema of a newly created file. Migrations are constants of the program, so it is
/// computed once.
pub(crate) async fn made_by_migrations(
    full_text: bool,
) -> Result<&'static BTreeMap<String, String>> {
    static MADE: [OnceCell<BTreeMap<String, String>>; 2] = [const { OnceCell::const_new() }; 2];
    let made = MADE[usize::from(full_text)].get_or_try_init(async || {
        let mut connection = SqliteConnectOptions::new().in_memory(true).connect().await?;
        migrate(&mut connection, Some(full_text)).await?;
        let schema = of(&mut connection).await?;
        connection.close().await?;
        Ok(schema)
    });
    made.await
}

async fn version(connection: &mut SqliteConnection) -> Result<Option<i64>> {
    let tables = sqlx::query(sql::MIGRATED).fetch_all(&mut *connection).await?;
    if tables.is_empty() {
        return Ok(None);
    }
    let rows = sqlx::query(sql::VERSION).fetch_all(&mut *connection).await?;
    Ok(rows.first().map(|row| row.try_get(0)).transpose()?.flatten())
}

fn too_new(version: i64) -> Error {
    let message = format!(
        "the file has schema version {version}, but this program knows versions up to {KNOWN}"
    );
    Error::new(ErrorKind::Unsupported, "open", message).with("newer_schema", version)
}
