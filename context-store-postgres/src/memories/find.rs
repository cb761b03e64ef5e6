//! Finding memories in three steps: the weights of the words are computed from counters, then the
//! words of candidate records are read and scored, then the bodies of the hits are read. All steps
//! see one state of the store.

use std::collections::{HashMap, HashSet};

use context_core::memory::MemoryVector;
use context_core::store::{Bm25, MemoriesFound, MemoryFind, MemoryHit};
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::connections::Session;
use crate::error::{Fault, Result};
use crate::memories::candidates::{CandidatePlan, Shelf};
use crate::memories::pgvector::Pgvector;
use crate::memories::rows::{bind_scopes, stored, unique};
use crate::memories::vectors::{nearest, vector};
use crate::memories::words::SearchWords;
use crate::sql::memories as sql;
use crate::values::numbers::{count, signed};
use crate::values::rows::text;

pub(crate) async fn find(
    session: &mut Session<'_>,
    pgvector: Option<&Pgvector>,
    find: &MemoryFind,
) -> Result<MemoriesFound> {
    let search_words = SearchWords::of(&find.words);
    let (shelves, bm25) = shelves(session, find, &search_words).await?;
    let mut scored = match CandidatePlan::plan(&search_words, &shelves) {
        None => Vec::new(),
        Some(plan) => score_candidates(session, plan, &shelves, &search_words, &bm25).await?,
    };
    scored.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
    let mut places: Vec<i64> = scored.iter().take(find.limit).map(|(_, place)| *place).collect();
    if let Some(vector) = &find.vector
        && !shelves.is_empty()
    {
        let numbers: Vec<i64> = shelves.iter().map(|shelf| shelf.no).collect();
        let by_words: HashSet<i64> = places.iter().copied().collect();
        let near = nearest(session, pgvector, &numbers, vector, find.limit + places.len()).await?;
        places.extend(near.into_iter().filter(|place| !by_words.contains(place)).take(find.limit));
    }
    let hits = hits(session, &places, &search_words, &bm25, find.vector.as_ref()).await?;
    Ok(MemoriesFound::new(hits, bm25))
}

/// Returns the shelves to search, and the totals over all of the scopes.
async fn shelves(
    session: &mut Session<'_>,
    find: &MemoryFind,
    search_words: &SearchWords,
) -> Result<(Vec<Shelf>, Bm25)> {
    let mut bm25 = Bm25::new(0, 0, vec![0; search_words.hashes.len()]);
    let mut shelves = Vec::new();
    let query =
        bind_scopes(session.query(sql::SHELVES), &unique(&find.scopes)).bind(&search_words.hashes);
    for row in session.all(query).await? {
        let found =
            row.try_get::<Vec<i64>, _>(6)?.into_iter().map(count).collect::<Result<Vec<_>>>()?;
        bm25.texts += count(row.try_get(2)?)?;
        bm25.words += count(row.try_get(3)?)?;
        for (n, (sum, found)) in bm25.found.iter_mut().zip(&found).enumerate() {
            *sum += if search_words.is_first(n) { *found } else { 0 };
        }
        if find.takes(text(&row, 1)?) {
            shelves.push(Shelf {
                no: row.try_get(0)?,
                first: row.try_get(4)?,
                last: row.try_get(5)?,
                found,
            });
        }
    }
    Ok((shelves, bm25))
}

/// Returns the records that have one of the words, with their scores.
async fn score_candidates(
    session: &mut Session<'_>,
    plan: CandidatePlan,
    shelves: &[Shelf],
    search_words: &SearchWords,
    bm25: &Bm25,
) -> Result<Vec<(f64, i64)>> {
    let query = plan.statement(session, shelves, search_words);
    let mut scored = Vec::new();
    for row in session.all(query).await? {
        let words = search_words.count(&row)?;
        if words.is_hit() {
            scored.push((bm25.score(words.length, words.counts), row.try_get(0)?));
        }
    }
    Ok(scored)
}

/// Returns the records at these places, in this order.
async fn hits(
    session: &mut Session<'_>,
    places: &[i64],
    search_words: &SearchWords,
    bm25: &Bm25,
    query_vector: Option<&MemoryVector>,
) -> Result<Vec<MemoryHit>> {
    if places.is_empty() {
        return Ok(Vec::new());
    }
    let query = session
        .query(sql::HITS)
        .bind(places)
        .bind(&search_words.hashes)
        .bind(query_vector.map(|vector| vector.model.as_bytes()))
        .bind(query_vector.map(|vector| signed(vector.values.len())));
    let order: HashMap<i64, usize> = places.iter().copied().zip(0..).collect();
    let hit = |row: &PgRow| {
        let words = search_words.count(row)?;
        let data = row.try_get::<Option<&[u8]>, _>(6)?;
        let similarity = match (query_vector, data) {
            (Some(query_vector), Some(data)) => {
                Some(query_vector.similarity(&vector(row.try_get(0)?, &query_vector.model, data)?))
            }
            _ => None,
        };
        let score = bm25.score(words.length, words.counts);
        let at = order.get(&row.try_get(0)?).copied();
        let at = at.ok_or(Fault::Corrupt("the place of a memory differs from the index", None))?;
        Ok((at, MemoryHit::new(stored(row, [0, 4, 5])?, score, similarity)))
    };
    let rows = session.all(query).await?;
    let mut hits = rows.iter().map(hit).collect::<Result<Vec<_>>>()?;
    hits.sort_unstable_by_key(|(at, _)| *at);
    Ok(hits.into_iter().map(|(_, hit)| hit).collect())
}
