//! Ranking of the newest memories by vector, in the server if possible, otherwise in the program.

use context_core::base::limits::EXACT_MEMORY_VECTORS;
use context_core::memory::MemoryVector;
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::error::{Fault, Result};
use crate::memories::pgvector::{self, Pgvector};
use crate::place::signed;
use crate::pool::Session;
use crate::seals;
use crate::sql::memories as sql;

/// The approximate number of bytes of vectors transferred at once.
const BYTES_AT_ONCE: usize = 4 << 20;

/// Reads the vector of a record at this place from its row.
pub(crate) fn vector(place: i64, model: &str, data: &[u8]) -> Result<MemoryVector> {
    let data = seals::opened(
        seals::vector(place, model),
        data,
        "a vector of a memory is not what was written",
    )?;
    MemoryVector::from_bytes(model, data)
        .ok_or(Fault::Corrupt("a vector of a memory cannot be read", None))
}

/// Returns the places of the records on these shelves with the nearest vectors, the nearest first.
pub(crate) async fn nearest(
    session: &mut Session<'_>,
    pgvector: Option<&Pgvector>,
    shelves: &[i64],
    meant: &MemoryVector,
    limit: usize,
) -> Result<Vec<i64>> {
    let mut near = match pgvector {
        Some(pgvector) => {
            let rows = pgvector::nearest(session, pgvector, shelves, meant, limit).await?;
            rows.iter().map(|row| compared(row, meant)).collect::<Result<Vec<_>>>()?
        }
        None => newest(session, shelves, meant).await?,
    };
    near.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
    near.truncate(limit);
    Ok(near.into_iter().map(|(_, place)| place).collect())
}

/// Returns the similarity of a row's vector, and its place.
fn compared(row: &PgRow, meant: &MemoryVector) -> Result<(f32, i64)> {
    let place = row.try_get(0)?;
    let vector = vector(place, &meant.model, row.try_get(1)?)?;
    Ok((meant.similarity(&vector), place))
}

/// Compares the newest vectors in the program.
async fn newest(
    session: &mut Session<'_>,
    shelves: &[i64],
    meant: &MemoryVector,
) -> Result<Vec<(f32, i64)>> {
    let at_once = (BYTES_AT_ONCE / (4 * meant.values.len()).max(1)).clamp(16, 2_000);
    let mut near = Vec::new();
    let (mut left, mut before) =
        (usize::try_from(EXACT_MEMORY_VECTORS).unwrap_or(usize::MAX), i64::MAX);
    while left > 0 {
        let page = at_once.min(left);
        let query = session
            .query(sql::NEWEST_VECTORS)
            .bind(shelves)
            .bind(meant.model.as_bytes())
            .bind(signed(meant.values.len()))
            .bind(before)
            .bind(signed(page));
        let rows = session.all(query).await?;
        for row in &rows {
            let compared = compared(row, meant)?;
            before = compared.1;
            near.push(compared);
        }
        if rows.len() < page {
            break;
        }
        left -= page;
    }
    Ok(near)
}
