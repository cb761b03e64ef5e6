//! Ranking of vectors by the extension pgvector: only the nearest vectors are sent to the program.
//!
//! Its table holds a second form of the vectors that [`crate::memories::add`] stores anyway,
//! normalized to length one. Its rows are deleted together with the original rows. A vector without
//! such a row is compared in the program, so a store may be used with and without the extension at
//! the same time. There is no pgvector index, because it would find the nearest vectors of all
//! users instead of those of some scopes.

use context_core::base::limits::EXACT_MEMORY_VECTORS;
use context_core::memory::MemoryVector;
use sqlx::AssertSqlSafe;
use sqlx::postgres::PgRow;

use crate::connections::{Session, Statement};
use crate::error::Result;
use crate::sql::pgvector as sql;
use crate::values::numbers::{signed, signed_count};

/// The longest vector that the extension accepts.
const MAX_DIMENSIONS: usize = 16_000;

/// The number of additional rows requested from the server. The server computes in single
/// precision, and the program decides which vectors are nearest.
const EXTRA_ROWS: usize = 16;

/// The installed extension.
#[derive(Clone, Debug)]
pub(crate) struct Pgvector {
    /// The quoted schema of its types and operators, with a dot.
    prefix: String,
}

impl Pgvector {
    /// Returns the extension whose types and operators are in a schema of this quoted name.
    pub(crate) fn new(schema: &str) -> Self {
        Self { prefix: format!("{schema}.") }
    }

    /// Returns the quoted schema of its types and operators, with a dot.
    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Returns a statement in which `@` stands for the schema of the extension.
    fn query(&self, session: &Session<'_>, statement: &str) -> Statement {
        // Only quoted identifiers are inserted.
        sqlx::query(AssertSqlSafe(
            statement.replace('@', &self.prefix).replace('#', session.prefix()),
        ))
    }
}

/// Returns the vector scaled to length one. Returns `None` for a vector of length zero, or one that
/// is too long for the extension.
fn unit(vector: &MemoryVector) -> Option<Vec<f32>> {
    let squares: f64 = vector.values.iter().map(|value| f64::from(*value).powi(2)).sum();
    let length = squares.sqrt();
    let fits = length > 0.0 && vector.values.len() <= MAX_DIMENSIONS;
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
    query_vector: &MemoryVector,
    limit: usize,
) -> Result<Vec<PgRow>> {
    let query = pgvector
        .query(session, sql::NEAREST)
        .bind(shelves)
        .bind(query_vector.model.as_bytes())
        .bind(signed(query_vector.values.len()))
        .bind(signed_count(EXACT_MEMORY_VECTORS))
        .bind(unit(query_vector))
        .bind(signed(limit + EXTRA_ROWS));
    session.all(query).await
}
