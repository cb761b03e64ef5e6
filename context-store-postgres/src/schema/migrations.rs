//! Schema versions: upgrading old schemas and rejecting schemas that are too new.
//!
//! Migrations only go forward. A migration is an SQL file that never changes once it is released.
//! All pending migrations are sent as one script in one transaction. A schema of a newer program is
//! not changed. The record of applied migrations is a table in sqlx's format, so its tools can read
//! it.

use std::fmt::Write as _;

use context_core::{Error, ErrorKind};
use sqlx::migrate::{Migration, MigrationType};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection, Postgres, Row, SqlSafeStr, Transaction};

use crate::config::PostgresConfig;
use crate::connections::{Statement, quoted};
use crate::error::Result;
use crate::schema::upgrade;
use crate::sql;

/// The migrations by version. They run with the schema as the search path, so they do not name the
/// schema.
const MIGRATIONS: [(i64, &str, &str); 12] = [
    (1, "init", include_str!("../../migrations/0001_init.sql")),
    (2, "search", include_str!("../../migrations/0002_search.sql")),
    (10, "blobs", include_str!("../../migrations/0010_blobs.sql")),
    (11, "streams", include_str!("../../migrations/0011_streams.sql")),
    (12, "trajectories", include_str!("../../migrations/0012_trajectories.sql")),
    (13, "memories", include_str!("../../migrations/0013_memories.sql")),
    (CHECKSUMS, "checksums", include_str!("../../migrations/0014_checksums.sql")),
    (15, "leases", include_str!("../../migrations/0015_leases.sql")),
    (16, "fragment_versions", include_str!("../../migrations/0016_fragment_versions.sql")),
    (17, "ref_log", include_str!("../../migrations/0017_ref_log.sql")),
    (18, "words_pending", include_str!("../../migrations/0018_words_pending.sql")),
    (19, "words_at_once", include_str!("../../migrations/0019_words_at_once.sql")),
];

/// The version that adds checksums to values, which SQL does not compute.
const CHECKSUMS: i64 = 14;

/// The statements that enable row-level security. They name every table.
const ROW_SECURITY: &str = include_str!("../../migrations/row_security.sql");

/// The statements that divide tables of a new schema, with `@bits` for the number of bits of a
/// partition's number.
const PARTITIONS: &str = include_str!("../../migrations/partitions.sql");

/// The newest schema version that this program knows.
pub(crate) const NEWEST_VERSION: i64 = MIGRATIONS[MIGRATIONS.len() - 1].0;

/// Runs the pending migrations. Each schema has one lock, so of several processes one runs them and
/// the others find them done.
pub(crate) async fn run(connection: &mut PgConnection, config: &PostgresConfig) -> Result<()> {
    let mut transaction = begin_locked(connection, config).await?;
    let has_run = applied_versions(&mut transaction).await?;
    if !has_run.is_empty() {
        let version = version(&has_run)?;
        if version > NEWEST_VERSION {
            return Err(newer_schema(version).into());
        }
    }
    let known = known();
    let policies: bool = once(sql::POLICIES_HERE).fetch_one(&mut *transaction).await?.try_get(0)?;
    let mut script = script(&known, has_run.len());
    if let (true, Some(partitions)) = (has_run.is_empty(), config.partitions.filter(|n| *n > 1)) {
        script.push_str(&PARTITIONS.replace("@bits", &partitions.ilog2().to_string()));
    }
    if policies {
        // The new tables have no policies yet.
        script.push_str(ROW_SECURITY);
    }
    // The script consists of files of this crate and a number.
    sqlx::raw_sql(AssertSqlSafe(script)).execute(&mut *transaction).await?;
    if !has_run.is_empty() && has_run.iter().all(|(version, _)| *version < CHECKSUMS) {
        upgrade::seal_all(&mut transaction).await?;
    }
    let full_text = config.full_text.unwrap_or(true);
    once(sql::ADD_SETTINGS).bind(full_text).execute(&mut *transaction).await?;
    transaction.commit().await?;
    Ok(())
}

/// Creates the policy of every table.
pub(crate) async fn enable_row_security(
    connection: &mut PgConnection,
    config: &PostgresConfig,
) -> Result<()> {
    let mut transaction = begin_locked(connection, config).await?;
    sqlx::raw_sql(ROW_SECURITY).execute(&mut *transaction).await?;
    transaction.commit().await?;
    Ok(())
}

/// Creates a table that not every server supports, with a policy if the other tables have one.
pub(crate) async fn add_table(
    connection: &mut PgConnection,
    config: &PostgresConfig,
    mut script: String,
) -> Result<()> {
    let mut transaction = begin_locked(connection, config).await?;
    if once(sql::POLICIES_HERE).fetch_one(&mut *transaction).await?.try_get(0)? {
        script.push_str(ROW_SECURITY);
    }
    sqlx::raw_sql(AssertSqlSafe(script)).execute(&mut *transaction).await?;
    transaction.commit().await?;
    Ok(())
}

/// Returns the newest version of a record of migrations. The record belongs to this store if it
/// begins with the first migration and its checksum.
pub(crate) fn version(record: &[(i64, Vec<u8>)]) -> Result<i64, Error> {
    let known = known();
    let is = |(has, ours): (&(i64, Vec<u8>), &Migration)| {
        has.0 == ours.version && *has.1 == *ours.checksum
    };
    if !record.iter().zip(&known).take(1).all(is) {
        return Err(foreign_schema());
    }
    let newest = record.last().ok_or_else(foreign_schema)?.0;
    if !record.iter().zip(&known).all(is) && newest <= NEWEST_VERSION {
        let message = "the record of the schema's versions is damaged";
        return Err(Error::new(ErrorKind::Corrupt, "open", message));
    }
    Ok(newest)
}

/// Returns the error for a schema that another program uses.
pub(crate) fn foreign_schema() -> Error {
    let message = "the schema holds tables of another program and was not changed";
    Error::new(ErrorKind::Unsupported, "open", message)
}

pub(crate) fn newer_schema(version: i64) -> Error {
    let message = format!(
        "the store has schema version {version}, but this program supports versions up to {NEWEST_VERSION}"
    );
    Error::new(ErrorKind::Unsupported, "open", message).with("newer_schema", version)
}

fn known() -> Vec<Migration> {
    let migration = |(version, name, sql): (i64, &'static str, &'static str)| {
        Migration::new(version, name.into(), MigrationType::Simple, sql.into_sql_str(), false)
    };
    MIGRATIONS.into_iter().map(migration).collect()
}

/// Returns the script of all migrations but the first few, each with the statement that records it.
fn script(known: &[Migration], has_run: usize) -> String {
    let mut script = String::new();
    if has_run == 0 {
        script.push_str(sql::CREATE_MIGRATIONS);
    }
    for migration in known.iter().skip(has_run) {
        let (version, name) = (migration.version, &migration.description);
        script.push_str(migration.sql.as_str());
        let _ = write!(script, "{}({version}, '{name}', true, '\\x", sql::NOTE_MIGRATION);
        for byte in &*migration.checksum {
            let _ = write!(script, "{byte:02x}");
        }
        script.push_str("', 0);\n");
    }
    script
}

/// Returns the applied versions, oldest first, with the checksums of their files.
async fn applied_versions(
    transaction: &mut Transaction<'_, Postgres>,
) -> Result<Vec<(i64, Vec<u8>)>> {
    let there: bool = once(sql::MIGRATED_HERE).fetch_one(&mut **transaction).await?.try_get(0)?;
    if !there {
        return Ok(Vec::new());
    }
    let rows = once(sql::VERSIONS_HERE).fetch_all(&mut **transaction).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}

/// Returns a statement that does not stay prepared on its connection.
fn once(statement: &'static str) -> Statement {
    sqlx::query(statement).persistent(false)
}

/// Begins a transaction that holds the lock of the schema, with the schema as its search path.
async fn begin_locked<'a>(
    connection: &'a mut PgConnection,
    config: &PostgresConfig,
) -> Result<Transaction<'a, Postgres>> {
    let mut transaction = connection.begin_with(sql::BEGIN_WRITE).await?;
    let hash = blake3::hash(config.schema.as_bytes());
    let key = i64::from_le_bytes(std::array::from_fn(|i| hash.as_bytes()[i]));
    let schema = quoted(&config.schema);
    // Only a number and a quoted identifier are inserted.
    let begin = format!(
        "SELECT pg_advisory_xact_lock({key}); SET LOCAL client_min_messages TO warning;
         SET LOCAL search_path TO {schema};
         DO $$ BEGIN
           EXECUTE 'CREATE SCHEMA IF NOT EXISTS ' || current_setting('search_path');
         -- The server may remember that there was none before it waited for the lock.
         EXCEPTION WHEN unique_violation THEN
         END $$"
    );
    sqlx::raw_sql(AssertSqlSafe(begin)).execute(&mut *transaction).await?;
    Ok(transaction)
}

#[cfg(test)]
mod tests {
    use sqlx::migrate::Migrator;

    use super::*;
    use crate::connections::{Pool, Work};

    /// Selects every column, index and constraint of a schema, and its applied migrations.
    const SCHEMA_LINES: &str = "SELECT format('%s.%s %s %s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
          concat_ws(' ', a.attnum, a.attnotnull, a.attidentity, a.attstorage, c.reloptions,
            (SELECT pg_get_expr(d.adbin, d.adrelid) FROM pg_attrdef d WHERE d.adrelid = c.oid AND d.adnum = a.attnum))) AS line
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
        WHERE c.relnamespace = current_schema()::regnamespace
        UNION ALL SELECT replace(indexdef, current_schema(), '') FROM pg_indexes WHERE schemaname = current_schema()
        UNION ALL SELECT conname || pg_get_constraintdef(oid) FROM pg_constraint
          WHERE connamespace = current_schema()::regnamespace
        UNION ALL SELECT format('%s %s %s %s', version, description, success, checksum) FROM context_migrations
        ORDER BY 1";

    async fn schema_lines(connection: &mut PgConnection) -> Vec<String> {
        sqlx::query_scalar(SCHEMA_LINES).fetch_all(connection).await.unwrap()
    }

    /// Returns the driver's migrator with the first few files.
    fn migrator(files: usize) -> Migrator {
        let mut migrator = Migrator::with_migrations(known().into_iter().take(files).collect());
        migrator.dangerous_set_table_name(sql::MIGRATIONS_TABLE);
        migrator.set_locking(false);
        migrator
    }

    /// One script for all pending migrations has the same result as the driver's migrator, which
    /// runs file by file, and each can continue where the other stopped.
    #[tokio::test]
    #[ignore = "needs PostgreSQL; `cargo xtask test` runs it"]
    async fn a_script_leaves_what_the_files_leave_one_by_one() {
        let url = context_conformance::server_url("CONTEXT_TEST_POSTGRES_URL");
        let mut seen = Vec::new();
        for stop in [0, 2, MIGRATIONS.len()] {
            let schema = format!("migrations_{}_{stop}", std::process::id());
            let config =
                PostgresConfig::from_url(&url).unwrap().schema(schema.as_str()).connections(1);
            let pool = Pool::new(&config);
            let mut session = pool.begin(Work::Maintain, None).await.unwrap();
            let prepare = format!("CREATE SCHEMA {schema}; SET search_path TO {schema}");
            sqlx::raw_sql(AssertSqlSafe(prepare)).execute(session.connection()).await.unwrap();
            if stop > 0 {
                migrator(stop).run_direct(None, session.connection(), false).await.unwrap();
            }
            run(session.connection(), &config).await.unwrap_or_else(|fault| panic!("{fault:?}"));
            migrator(MIGRATIONS.len()).run_direct(None, session.connection(), false).await.unwrap();
            seen.push(schema_lines(session.connection()).await);
            let drop = format!("SET client_min_messages TO warning; DROP SCHEMA {schema} CASCADE");
            sqlx::raw_sql(AssertSqlSafe(drop)).execute(session.connection()).await.unwrap();
        }
        assert!(seen[0].len() > 150, "{:#?}", seen[0]);
        assert_eq!(seen[0], seen[1]);
        assert_eq!(seen[0], seen[2]);
    }
}
