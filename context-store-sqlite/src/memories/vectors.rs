//! Similarity search: the vectors of the newest records are all compared.

use std::collections::{HashMap, HashSet};

use context_core::base::limits;
use context_core::memory::MemoryVector;
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use crate::checksums::VECTOR;
use crate::error::{Fault, Result};
use crate::memories::rows::{json_answer, json_of};
use crate::sql::memories as sql;
use crate::sql::run;
use crate::values::numbers::signed;
use crate::values::rows::json_numbers;

/// The number of vectors read at once.
const BATCH: usize = 256;

/// Returns the similarity of a vector to the vectors of the newest records of these kinds, and of
/// the records `more`. Only vectors of the same embedder and length are compared.
pub(super) async fn similarities(
    connection: &mut SqliteConnection,
    kinds: &[i64],
    vector: &MemoryVector,
    more: &HashSet<i64>,
) -> Result<HashMap<i64, f32>> {
    let most = usize::try_from(limits::EXACT_MEMORY_VECTORS).unwrap_or(usize::MAX);
    let mut places: Vec<i64> = Vec::new();
    for kind in kinds {
        let query = sqlx::query(sql::NEWEST_VECTORS)
            .bind(*kind)
            .bind(vector.model.as_str())
            .bind(signed(most));
        places.extend(json_answer::<Vec<i64>>(connection, query).await?);
    }
    places.sort_unstable_by_key(|place| std::cmp::Reverse(*place));
    places.truncate(most);
    let newest: HashSet<i64> = places.iter().copied().collect();
    places.extend(more.difference(&newest));
    let size = vector.values.len() * size_of::<f32>();
    let mut similar = HashMap::with_capacity(places.len());
    for places in places.chunks(BATCH) {
        let query = sqlx::query(sql::VECTORS).bind(json_numbers(places.iter()));
        let rows = run(connection, query.bind(vector.model.as_str()).bind(signed(size))).await?;
        let Some(row) = rows.first() else { continue };
        let places: Vec<(i64, Option<i64>)> = json_of(row, 0)?;
        let data = row.try_get::<Option<&[u8]>, _>(1)?.unwrap_or_default();
        for ((place, sum), bytes) in places.into_iter().zip(data.chunks(size)) {
            if sum != Some(VECTOR.sum([place.into(), vector.model.as_str().into(), bytes.into()])) {
                return Err(VECTOR.differs());
            }
            let own = MemoryVector::from_bytes(vector.model.as_str(), bytes)
                .ok_or(Fault::Corrupt("a vector of a memory cannot be read", None))?;
            similar.insert(place, vector.similarity(&own));
        }
    }
    Ok(similar)
}
