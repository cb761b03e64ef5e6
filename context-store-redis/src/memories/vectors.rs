//! Comparing vectors: all of them, or the newest if there are many.

use std::collections::{BTreeMap, HashSet};

use context_core::base::limits;
use context_core::memory::MemoryVector;

use crate::checksums;
use crate::error::Result;
use crate::memories::fields::{TAG, broken, vector};
use crate::memories::find::{Candidate, MemorySearch, TopCandidates};
use crate::memories::lists::{BlockId, BlockReader, ScopeHash};

/// The number of vectors read at once.
const BATCH: usize = 1024;
/// The number of blocks read at once.
const BLOCKS: usize = 16;

/// Adds the similarity of each hit, and finds the most similar of the other records.
pub(crate) async fn compare(
    search: &MemorySearch<'_>,
    wanted: &MemoryVector,
    hits: &mut [(Candidate, Option<f32>)],
) -> Result<Vec<Candidate>> {
    let at = |hit: &Candidate| (hit.scope, hit.place);
    let of_hits: Vec<_> = hits.iter().map(|(hit, _)| at(hit)).collect();
    for ((_, similarity), found) in
        hits.iter_mut().zip(similarities(search, wanted, &of_hits).await?)
    {
        *similarity = found;
    }
    let of_hits: HashSet<(usize, u64)> = of_hits.into_iter().collect();
    let places = newest(search).await?;
    let others: Vec<_> = places.into_iter().filter(|place| !of_hits.contains(place)).collect();
    let mut best = TopCandidates::of(search.find.limit);
    for others in others.chunks(BATCH) {
        for ((scope, place), found) in
            others.iter().zip(similarities(search, wanted, others).await?)
        {
            if let Some(similarity) = found {
                best.offer(Candidate { fit: f64::from(similarity), place: *place, scope: *scope });
            }
        }
    }
    Ok(best.sorted())
}

/// Returns the places of the newest records with a vector of the requested embedder and length.
async fn newest(search: &MemorySearch<'_>) -> Result<Vec<(usize, u64)>> {
    let most = usize::try_from(limits::EXACT_MEMORY_VECTORS).unwrap_or(usize::MAX);
    let term = search.terms.len() - 1;
    let mut reader = BlockReader::of(search.scopes, search.terms);
    let mut blocks: BTreeMap<u32, Vec<BlockId>> = BTreeMap::new();
    for ((scope, kind, term), head) in search.lists(term) {
        reader.know((scope, kind, term), head);
        for block in &head.blocks {
            blocks.entry(*block).or_default().push((scope, kind, term, *block));
        }
    }
    let newest: Vec<Vec<BlockId>> = blocks.into_values().rev().collect();
    let mut places: Vec<(usize, u64)> = Vec::new();
    for some in newest.chunks(BLOCKS) {
        reader.need(some.iter().flatten().copied()).await?;
        for at in some.iter().flatten() {
            places.extend(reader.rows(*at).map(|(place, _)| (at.0, place)));
        }
        if places.len() >= most {
            break;
        }
    }
    places.sort_unstable_by_key(|(_, place)| std::cmp::Reverse(*place));
    places.truncate(most);
    Ok(places)
}

/// Returns the similarity of records' vectors, with `None` for a record without a vector or with
/// one of another embedder or length.
async fn similarities(
    search: &MemorySearch<'_>,
    wanted: &MemoryVector,
    places: &[(usize, u64)],
) -> Result<Vec<Option<f32>>> {
    let fields: Vec<_> =
        places.iter().map(|(scope, place)| (*scope, place.to_string().into_bytes())).collect();
    let term = vector(wanted);
    let similarity = |kept: Option<Vec<u8>>| {
        let Some(kept) = kept else { return Ok(None) };
        let (tag, numbers) =
            checksums::opened("v", &kept)?.split_at_checked(TAG).ok_or_else(broken)?;
        if tag != &term[1..] {
            return Ok(None);
        }
        let own = MemoryVector::from_bytes(&*wanted.model, numbers).ok_or_else(broken)?;
        Ok(Some(wanted.similarity(&own)))
    };
    search.scopes.fields(ScopeHash::Vectors, &fields).await?.into_iter().map(similarity).collect()
}
