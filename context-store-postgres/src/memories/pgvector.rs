//! The extension pgvector. If the server has it, vectors are ranked there, and only the nearest are
//! sent to the program.
//!
//! Its table holds a second form of the vectors that [`crate::memories::add`] stores anyway,
//! normalized to length one. Its rows are deleted together with the original rows. A vector without
//! such a row is compared in the program, so a store may be used with and without the extension at
//! the same time. There is no pgvector index, because it would find the nearest vectors of all
//! users instead of those of some scopes.

use context_core::base::limits::EXACT_MEMORY_VECTORS;
use context_core::memory::MemoryVector;
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, Row};

use crate::config::PostgresConfig;
use crate::error::Result;
use crate::migrations;
use crate::place::signed;
use crate::pool::{Session, Statement};
use crate::sql::pgvector as sql;

/// The longest vector that the extension accepts.
const LONGEST: usize = 16_000;

/// The number of additional rows requested from the server. The server computes in single
/// precision, and the program decides which vectors are nearest.
const MORE: usize = 16;

/// The installed extension.
#[derive(Clone, Debug)]
pub(crate) struct Pgvector {
    /// The quoted schema of its types and operators, with a dot.
    prefix: String,
}

impl Pgvector {
    /// Returns a statement in which `@` stands for the schema of the extension.
    fn query(&self, session: &Session<'_>, statement: &str) -> Statement {
        // Only quoted identifiers are inserted.
        sqlx::query(AssertSqlSafe(
            statement.replace('@', &self.prefix).replace('#', session.prefix()),
        ))
    }
}

/// The state of the extension in the server.
struct Found {
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
    let mut found = look(session).await?;
    if found.table || !config.may_create() || !found.available && found.pgvector.is_none() {
        return Ok(found.pgvector.filter(|_| found.table && found.allowed));
    }
    if found.pgvector.is_none() {
        match sqlx::raw_sql(sql::CREATE_EXTENSION)
            .execute(session.connection())
            .await
            .map_err(Into::into)
        {
            Ok(_) => {}
            // The role is not allowed to, or somebody else has created the extension first.
            Err(fault) if crate::error::Fault::leaves_connection(&fault) => {}
            Err(fault) => return Err(fault),
        }
        found = look(session).await?;
    }
    if let Some(pgvector) = &found.pgvector {
        let table = sql::CREATE_TABLE.replace('@', &pgvector.prefix);
        migrations::add_table(session.connection(), config, table).await?;
    }
    Ok(found.pgvector)
}

async fn look(session: &mut Session<'_>) -> Result<Found> {
    let query = session.query(sql::FOUND).bind(format!("{}memory_pgvector", session.prefix()));
    let row = session.only(query).await?;
    let schema: Option<String> = row.try_get(0)?;
    let pgvector = schema.map(|schema| Pgvector { prefix: format!("{schema}.") });
    Ok(Found {
        pgvector,
        available: row.try_get(1)?,
        table: row.try_get(2)?,
        allowed: row.try_get(3)?,
    })
}

/// Returns the vector scaled to length one. Returns `None` for a vector of length zero, or one that
/// is too long for the extension.
fn unit(vector: &MemoryVector) -> Option<Vec<f32>> {
    let squares: f64 = vector.values.iter().map(|value| f64::from(*value).powi(2)).sum();
    let length = squares.sqrt();
    let fits = length > 0.0 && vector.values.len() <= LONGEST;
    fits.then(|| vector.values.iter().map(|value| (f64::from(*value) / length) as f32).collect())
}

/// Adds the vectors of new records, whose rows exist.
pub(crate) async fn add(
    session: &mut Session<'_>,
    pgvector: &Pgvector,
    vectors: impl Iterator<Item = (i64, &MemoryVector)>,
) -> Result<()> {
    let (mut places, mut first, mut last, mut numbers) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (place, vector) in vectors {
        if let Some(unit) = unit(vector) {
            places.push(place);
            first.push(signed(numbers.len()) + 1);
            numbers.extend(unit);
            last.push(signed(numbers.len()));
        }
    }
    if !places.is_empty() {
        let query = pgvector.query(session, sql::ADD);
        session.execute(query.bind(numbers).bind(places).bind(first).bind(last)).await?;
    }
    Ok(())
}

/// Returns the places and vectors of the nearest among the newest records, and of those newest
/// records that the extension's table lacks.
pub(crate) async fn nearest(
    session: &mut Session<'_>,
    pgvector: &Pgvector,
    shelves: &[i64],
    meant: &MemoryVector,
    limit: usize,
) -> Result<Vec<PgRow>> {
    let query = pgvector
        .query(session, sql::NEAREST)
        .bind(shelves)
        .bind(meant.model.as_bytes())
        .bind(signed(meant.values.len()))
        .bind(i64::try_from(EXACT_MEMORY_VECTORS).unwrap_or(i64::MAX))
        .bind(unit(meant))
        .bind(signed(limit + MORE));
    session.all(query).await
}
