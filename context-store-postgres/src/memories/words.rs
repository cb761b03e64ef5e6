//! Words of memories as the index has them: 64 bits of a hash, mixed with the shelf and the part of
//! a record's place.
//!
//! A hash is as good as a word, for nobody who writes a few million of them meets two with the same
//! one, and whoever looks for such a pair finds his own records by the wrong word. Since a part is
//! of a few thousand places, no list of the index is long, and the newest records with a word are
//! found without looking at the others.

use std::collections::HashMap;

use context_store_kit::MemoryWords;
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::error::Result;
use crate::place::{count, own_of};

/// How many bits of a place are within a part. The statements know them.
const PART: u32 = 13;
/// How many bits the number of a part may have.
const PARTS: u32 = 19;

/// A word as it is counted.
pub(crate) fn hash(word: &str) -> i64 {
    i64::from_le_bytes(std::array::from_fn(|i| blake3::hash(word.as_bytes()).as_bytes()[i]))
}

/// The part of a user's places that a place is in.
pub(crate) fn part_of(place: i64) -> i64 {
    own_of(place) >> PART
}

/// A word as the index has it of a record at a place on a shelf, and back.
pub(crate) fn mixed(hash: i64, shelf: i64, place: i64) -> i64 {
    hash ^ ((shelf << PARTS) + part_of(place))
}

/// Words that are looked for.
pub(crate) struct Wanted {
    /// Each word, in the order in which they are asked for.
    pub(crate) hashes: Vec<i64>,
    at: HashMap<i64, usize>,
}

impl Wanted {
    pub(crate) fn of(words: &[String]) -> Self {
        let hashes: Vec<i64> = words.iter().map(|word| hash(word)).collect();
        let mut at = HashMap::new();
        for (n, hash) in hashes.iter().enumerate() {
            at.entry(*hash).or_insert(n);
        }
        Self { hashes, at }
    }

    /// Whether a word was not there before: only the first of two that are the same is counted.
    pub(crate) fn is_first(&self, n: usize) -> bool {
        self.hashes.get(n).is_some_and(|hash| self.at.get(hash) == Some(&n))
    }

    /// Counts these words in a row: a place, then the shelf, how many words there are, and the
    /// words.
    pub(crate) fn count(&self, row: &PgRow) -> Result<MemoryWords> {
        let (place, shelf, words): (i64, i64, Vec<i64>) =
            (row.try_get(0)?, row.try_get(1)?, row.try_get(3)?);
        let mut counts = vec![0; self.hashes.len()];
        for word in words {
            if let Some(at) = self.at.get(&mixed(word, shelf, place)) {
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
        assert_eq!(mixed(5, 2, place), 5 ^ ((2 << 19) + 3));
        assert_eq!(mixed(mixed(LISBON, 9, place), 9, place), LISBON);
        let wanted = Wanted::of(&["a".into(), "b".into(), "a".into()]);
        assert_eq!([0, 1, 2].map(|n| wanted.is_first(n)), [true, true, false]);
    }

    /// Stores keep hashes.
    const LISBON: i64 = -4_500_592_041_953_100_927;
}
