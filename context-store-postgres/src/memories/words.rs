//! The indexed form of words of memories: 64 bits of a hash, mixed with the shelf and with the part
//! of the record's place.
//!
//! A hash is as good as a word: among a few million words, no two are expected to share a hash. A
//! user who searches for such a pair only finds their own records by the wrong word. A part covers
//! a few thousand places, so no posting list of the index is long, and the newest records with a
//! word are found without reading the others.

use std::collections::HashMap;

use context_store_kit::MemoryWords;
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::error::Result;
use crate::values::numbers::count;
use crate::values::place::own_of;

/// The number of bits of a place within a part. The SQL statements use the same number.
const PART: u32 = 13;
/// The number of bits of a part's number.
const PARTS: u32 = 19;

/// Returns the hash of a word, by which it is counted.
pub(crate) fn hash(word: &str) -> i64 {
    i64::from_le_bytes(std::array::from_fn(|i| blake3::hash(word.as_bytes()).as_bytes()[i]))
}

/// Returns the part of the user's places that holds a place.
pub(crate) fn part_of(place: i64) -> i64 {
    own_of(place) >> PART
}

/// Mixes a word's hash with the shelf and the part of a record's place. Applied twice, it returns
/// the hash.
pub(crate) fn mix(hash: i64, shelf: i64, place: i64) -> i64 {
    hash ^ ((shelf << PARTS) + part_of(place))
}

/// The words of a search.
pub(crate) struct SearchWords {
    /// Each word, in the order of the search.
    pub(crate) hashes: Vec<i64>,
    at: HashMap<i64, usize>,
}

impl SearchWords {
    pub(crate) fn of(words: &[String]) -> Self {
        let hashes: Vec<i64> = words.iter().map(|word| hash(word)).collect();
        let mut at = HashMap::new();
        for (n, hash) in hashes.iter().enumerate() {
            at.entry(*hash).or_insert(n);
        }
        Self { hashes, at }
    }

    /// Whether the word occurs in the search for the first time. Repeated words count once.
    pub(crate) fn is_first(&self, n: usize) -> bool {
        self.hashes.get(n).is_some_and(|hash| self.at.get(hash) == Some(&n))
    }

    /// Counts the words of the search in a row of place, shelf, number of words, and words.
    pub(crate) fn count(&self, row: &PgRow) -> Result<MemoryWords> {
        let (place, shelf, words): (i64, i64, Vec<i64>) =
            (row.try_get(0)?, row.try_get(1)?, row.try_get(3)?);
        let mut counts = vec![0; self.hashes.len()];
        for word in words {
            if let Some(at) = self.at.get(&mix(word, shelf, place)) {
                counts[*at] += 1;
            }
        }
        Ok(MemoryWords { length: count(row.try_get(2)?)?, counts })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_never_changes_and_a_mixed_one_can_be_taken_apart() {
        assert_eq!(hash("lisbon"), LISBON);
        let place = (7 << 32) + 3 * 8192 + 1;
        assert_eq!(part_of(place), 3);
        assert_eq!(mix(5, 2, place), 5 ^ ((2 << 19) + 3));
        assert_eq!(mix(mix(LISBON, 9, place), 9, place), LISBON);
        let search_words = SearchWords::of(&["a".into(), "b".into(), "a".into()]);
        assert_eq!([0, 1, 2].map(|n| search_words.is_first(n)), [true, true, false]);
    }

    /// Stored hashes must never change.
    const LISBON: i64 = -4_500_592_041_953_100_927;
}
