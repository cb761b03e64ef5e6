//! The extension pgvector, where the server has it: vectors are then ranked where they are, and
//! only the nearest travel.
//!
//! What it keeps is a second form of what [`crate::memories::add`] keeps anyway, of length one, in
//! a table that goes with the other's rows. A row without is compared here, so a store may be used
//! with and without the extension at once. No index of its own: those of pgvector find the nearest
//! of all users, not those of some scopes.

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

/// The longest vector that it takes.
const LONGEST: usize = 16_000;

/// How many more than needed the server answers with: it counts in single precision, and what is
/// nearest is decided here.
const MORE: usize = 16;

/// The extension as it was found.
#[derive(Clone, Debug)]
pub(crate) struct Pgvector {
    /// Where its types and operators are, as it stands in front of them.
    prefix: String,
}

impl Pgvector {
    /// A statement in which `@` stands for the schema of the extension.
    fn query(&self, session: &Session<'_>, statement: &str) -> Statement {
        // Identifiers in quotes are all that is put into it.
        sqlx::query(AssertSqlSafe(
            statement.replace('@', &self.prefix).replace('#', session.prefix()),
        ))
    }
}

/// What there is in the server.
struct Found {
    pgvector: Option<Pgvector>,
    available: bool,
    table: bool,
    allowed: bool,
}

/// Finds out whether the extension can be used, and sees to it that it is set up if it can be.
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
            // Not allowed, or somebody else was faster.
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

/// The vector of length one that points there; nothing if there is none, or it is too long for the
/// extension.
fn unit(vector: &MemoryVector) -> Option<Vec<f32>> {
    let squares: f64 = vector.values.iter().map(|value| f64::from(*value).powi(2)).sum();
    let length = squares.sqrt();
    let fits = length > 0.0 && vector.values.len() <= LONGEST;
    fits.then(|| vector.values.iter().map(|value| (f64::from(*value) / length) as f32).collect())
}

/// Adds vectors of new records, whose rows are there.
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

/// Places and vectors of the nearest records, and of those that the extension does not know, among
/// the newest.
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
