//! Ranking of the newest memories by vector, in the server if possible, otherwise in the program.

use context_core::base::limits::EXACT_MEMORY_VECTORS;
use context_core::memory::MemoryVector;
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::checksums;
use crate::connections::Session;
use crate::error::{Fault, Result};
use crate::memories::pgvector::{self, Pgvector};
use crate::sql::memories as sql;
use crate::values::numbers::signed;

/// The approximate number of bytes of vectors transferred at once.
const BATCH_BYTES: usize = 4 << 20;

/// Reads the vector of a record at this place from its row.
pub(crate) fn vector(place: i64, model: &str, data: &[u8]) -> Result<MemoryVector> {
    let data = checksums::open_slice(
        checksums::vector(place, model),
        data,
        "the checksum of a vector of a memory does not match",
    )?;
    MemoryVector::from_bytes(model, data)
        .ok_or(Fault::Corrupt("a vector of a memory cannot be read", None))
}

/// Returns the places of the records on these shelves with the nearest vectors, the nearest first.
pub(crate) async fn nearest(
    session: &mut Session<'_>,
    pgvector: Option<&Pgvector>,
    shelves: &[i64],
    query_vector: &MemoryVector,
    limit: usize,
) -> Result<Vec<i64>> {
    let mut near = match pgvector {
        Some(pgvector) => {
            let rows = pgvector::nearest(session, pgvector, shelves, query_vector, limit).await?;
            rows.iter().map(|row| similarity(row, query_vector)).collect::<Result<Vec<_>>>()?
        }
        None => newest(session, shelves, query_vector).await?,
    };
    near.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
    near.truncate(limit);
    Ok(near.into_iter().map(|(_, place)| place).collect())
}

/// Returns the similarity of a row's vector, and its place.
fn similarity(row: &PgRow, query_vector: &MemoryVector) -> Result<(f32, i64)> {
    let place = row.try_get(0)?;
    let vector = vector(place, &query_vector.model, row.try_get(1)?)?;
    Ok((query_vector.similarity(&vector), place))
}

/// Compares the newest vectors in the program.
async fn newest(
    session: &mut Session<'_>,
    shelves: &[i64],
    query_vector: &MemoryVector,
) -> Result<Vec<(f32, i64)>> {
    let at_once = (BATCH_BYTES / (4 * query_vector.values.len()).max(1)).clamp(16, 2_000);
    let mut near = Vec::new();
    let (mut left, mut before) =
        (usize::try_from(EXACT_MEMORY_VECTORS).unwrap_or(usize::MAX), i64::MAX);
    while left > 0 {
        let page = at_once.min(left);
        let query = session
            .query(sql::NEWEST_VECTORS)
            .bind(shelves)
            .bind(query_vector.model.as_bytes())
            .bind(signed(query_vector.values.len()))
            .bind(before)
            .bind(signed(page));
        let rows = session.all(query).await?;
        for row in &rows {
            let similarity = similarity(row, query_vector)?;
            before = similarity.1;
            near.push(similarity);
        }
        if rows.len() < page {
            break;
        }
        left -= page;
    }
    Ok(near)
}
