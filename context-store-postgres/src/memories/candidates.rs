//! Selection of the records that are scored. If few records have one of the words, all of these are
//! read. Otherwise the records with several of the rarest words are read, then those with single
//! words, the rarest word first. Newer records come first in each case.

use std::collections::BTreeSet;

use context_core::base::limits::EXACT_MEMORY_POSTINGS;

use crate::connections::{Session, Statement};
use crate::memories::words::{SearchWords, part_of};
use crate::sql::memories as sql;
use crate::values::numbers::{signed, signed_count};
use crate::values::place::own_of;

/// The maximum number of records that are read for having several words.
const SEVERAL: i64 = 1_000;

/// The records of one kind in one scope.
pub(crate) struct Shelf {
    pub(crate) no: i64,
    /// The places of its records lie between `first` and `last`.
    pub(crate) first: i64,
    pub(crate) last: i64,
    /// The number of its records that contain each word.
    pub(crate) found: Vec<u64>,
}

impl Shelf {
    fn has(&self, word: usize) -> bool {
        self.found.get(word).is_some_and(|found| *found > 0)
    }

    fn parts(&self) -> (i64, i64) {
        (part_of(self.first), part_of(self.last))
    }
}

/// Words of shelves, each with a range of parts of places.
#[derive(Default)]
struct WordRanges {
    shelves: Vec<i64>,
    words: Vec<i64>,
    first: Vec<i64>,
    last: Vec<i64>,
}

impl WordRanges {
    fn add(&mut self, shelves: &[Shelf], word: usize, hash: i64) {
        for shelf in shelves.iter().filter(|shelf| shelf.has(word)) {
            let (first, last) = shelf.parts();
            self.shelves.push(shelf.no);
            self.words.push(hash);
            self.first.push(first);
            self.last.push(last);
        }
    }

    fn bind(self, statement: Statement) -> Statement {
        statement.bind(self.shelves).bind(self.words).bind(self.first).bind(self.last)
    }
}

/// The parameters of the statement that selects records, in their order.
pub(crate) struct CandidatePlan {
    /// The words that some record has, the rarest first.
    words: Vec<i64>,
    /// The number of words that a record must have, paired with the part of `parts_of_most`.
    most: Vec<i64>,
    parts_of_most: Vec<i64>,
    /// For each shelf, how many of the rarest words it has in sequence.
    leading: Vec<i64>,
    /// All parts, the newest first.
    parts: Vec<i64>,
    /// Words of which all records are read.
    whole: WordRanges,
    /// A word of which only `newest_limit` records are read.
    newest: WordRanges,
    newest_limit: i64,
}

impl CandidatePlan {
    /// Returns the plan, or `None` if no record has one of the words.
    pub(crate) fn plan(search_words: &SearchWords, shelves: &[Shelf]) -> Option<Self> {
        let found = |word: usize| {
            shelves.iter().map(|shelf| shelf.found.get(word).copied().unwrap_or(0)).sum()
        };
        let mut words: Vec<(u64, usize)> = (0..search_words.hashes.len())
            .filter(|word| search_words.is_first(*word))
            .map(|word| (found(word), word))
            .filter(|(found, _)| *found > 0)
            .collect();
        words.sort_unstable();
        if words.is_empty() {
            return None;
        }
        let mut plan = Self {
            words: words.iter().map(|(_, word)| search_words.hashes[*word]).collect(),
            most: Vec::new(),
            parts_of_most: Vec::new(),
            leading: Vec::new(),
            parts: parts(shelves.iter()),
            whole: WordRanges::default(),
            newest: WordRanges::default(),
            newest_limit: 0,
        };
        let mut left = EXACT_MEMORY_POSTINGS;
        let mut rest = words.iter();
        for (found, word) in rest.by_ref() {
            let hash = search_words.hashes[*word];
            if *found > left {
                plan.newest.add(shelves, *word, hash);
                plan.newest_limit = signed_count(left);
                plan.add_several(shelves, &words);
                break;
            }
            plan.whole.add(shelves, *word, hash);
            left -= found;
        }
        Some(plan)
    }

    /// Plans to read records with all words, then with half of them, and so on down to two.
    fn add_several(&mut self, shelves: &[Shelf], words: &[(u64, usize)]) {
        let leading = |shelf: &Shelf| words.iter().take_while(|(_, word)| shelf.has(*word)).count();
        let leading: Vec<usize> = shelves.iter().map(leading).collect();
        let mut most = words.len();
        while most > 1 {
            let with = shelves.iter().zip(&leading).filter(|(_, leading)| **leading >= most);
            for part in parts(with.map(|(shelf, _)| shelf)) {
                self.most.push(signed(most));
                self.parts_of_most.push(part);
            }
            most /= 2;
        }
        self.leading = leading.into_iter().map(signed).collect();
    }

    /// Returns the statement that reads the records to score.
    pub(crate) fn statement(
        self,
        session: &Session<'_>,
        shelves: &[Shelf],
        search_words: &SearchWords,
    ) -> Statement {
        let policies = session.row_security();
        let text = if policies { sql::CANDIDATES_OF_POLICY } else { sql::CANDIDATES };
        let numbers: Vec<i64> = shelves.iter().map(|shelf| shelf.no).collect();
        let with = &shelves[..self.leading.len()];
        let statement = session
            .query(text)
            .bind(numbers)
            .bind(search_words.hashes.clone())
            .bind(self.words)
            .bind(self.most)
            .bind(self.parts)
            .bind(with.iter().map(|shelf| shelf.no).collect::<Vec<_>>())
            .bind(with.iter().map(|shelf| shelf.parts().0).collect::<Vec<_>>())
            .bind(with.iter().map(|shelf| shelf.parts().1).collect::<Vec<_>>())
            .bind(self.leading)
            .bind(self.parts_of_most)
            .bind(SEVERAL);
        let statement = self.newest.bind(self.whole.bind(statement)).bind(self.newest_limit);
        match shelves.first() {
            Some(shelf) if policies => statement.bind(shelf.first - own_of(shelf.first)),
            _ => statement,
        }
    }
}

/// Returns the parts that hold places of these shelves, the newest first.
fn parts<'a>(shelves: impl Iterator<Item = &'a Shelf>) -> Vec<i64> {
    let mut parts = BTreeSet::new();
    for shelf in shelves {
        let (first, last) = shelf.parts();
        parts.extend(first..=last);
    }
    parts.into_iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search_words() -> SearchWords {
        SearchWords::of(&["a", "b", "c", "d", "e"].map(str::to_owned))
    }

    fn shelf(no: i64, found: [u64; 5]) -> Shelf {
        Shelf { no, first: (1 << 32) + 1, last: (1 << 32) + 9000 * no, found: found.to_vec() }
    }

    #[test]
    fn few_records_are_all_looked_at() {
        let plan = CandidatePlan::plan(
            &search_words(),
            &[shelf(1, [500, 0, 3, 0, 0]), shelf(2, [1496, 0, 0, 1, 0])],
        )
        .unwrap();
        assert_eq!((plan.whole.words.len(), plan.newest.words.len(), plan.most.len()), (4, 0, 0));
        assert_eq!(plan.parts, [2, 1, 0]);
        assert!(CandidatePlan::plan(&search_words(), &[shelf(1, [0; 5])]).is_none());
    }

    #[test]
    fn of_many_those_with_several_words_come_first() {
        let shelves = [shelf(1, [5_000, 400, 90_000, 7_000, 0]), shelf(2, [9, 0, 9, 9, 0])];
        let plan = CandidatePlan::plan(&search_words(), &shelves).unwrap();
        assert_eq!(plan.words, ["b", "a", "d", "c"].map(crate::memories::words::hash));
        assert_eq!(plan.most, [4, 4, 2, 2]);
        assert_eq!(plan.parts_of_most, [1, 0, 1, 0]);
        assert_eq!(plan.leading, [4, 0]);
        assert_eq!(plan.whole.shelves, [1]);
        assert_eq!((plan.newest.shelves, plan.newest_limit), (vec![1, 2], 1_600));
    }
}
