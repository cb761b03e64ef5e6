//! Selection of the records that are scored. If few records have one of the words, all of these are
//! read. Otherwise the records with several of the rarest words are read, then those with single
//! words, the rarest word first. Newer records come first in each case.

use std::collections::BTreeSet;

use context_core::base::limits::EXACT_MEMORY_POSTINGS;

use crate::memories::words::{Wanted, part_of};
use crate::place::own_of;
use crate::pool::{Session, Statement};
use crate::sql::memories as sql;

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
struct Pairs {
    shelves: Vec<i64>,
    words: Vec<i64>,
    first: Vec<i64>,
    last: Vec<i64>,
}

impl Pairs {
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
pub(crate) struct Looks {
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
    whole: Pairs,
    /// A word of which only `newest_limit` records are read.
    newest: Pairs,
    newest_limit: i64,
}

impl Looks {
    /// Returns the plan, or `None` if no record has one of the words.
    pub(crate) fn plan(wanted: &Wanted, shelves: &[Shelf]) -> Option<Self> {
        let found = |word: usize| {
            shelves.iter().map(|shelf| shelf.found.get(word).copied().unwrap_or(0)).sum()
        };
        let mut words: Vec<(u64, usize)> = (0..wanted.hashes.len())
            .filter(|word| wanted.is_first(*word))
            .map(|word| (found(word), word))
            .filter(|(found, _)| *found > 0)
            .collect();
        words.sort_unstable();
        if words.is_empty() {
            return None;
        }
        let mut looks = Self {
            words: words.iter().map(|(_, word)| wanted.hashes[*word]).collect(),
            most: Vec::new(),
            parts_of_most: Vec::new(),
            leading: Vec::new(),
            parts: parts(shelves.iter()),
            whole: Pairs::default(),
            newest: Pairs::default(),
            newest_limit: 0,
        };
        let mut left = EXACT_MEMORY_POSTINGS;
        let mut rest = words.iter();
        for (found, word) in rest.by_ref() {
            let hash = wanted.hashes[*word];
            if *found > left {
                looks.newest.add(shelves, *word, hash);
                looks.newest_limit = i64::try_from(left).unwrap_or(i64::MAX);
                looks.several(shelves, &words);
                break;
            }
            looks.whole.add(shelves, *word, hash);
            left -= found;
        }
        Some(looks)
    }

    /// Plans to read records with all words, then with half of them, and so on down to two.
    fn several(&mut self, shelves: &[Shelf], words: &[(u64, usize)]) {
        let leading = |shelf: &Shelf| words.iter().take_while(|(_, word)| shelf.has(*word)).count();
        let leading: Vec<usize> = shelves.iter().map(leading).collect();
        let mut most = words.len();
        while most > 1 {
            let with = shelves.iter().zip(&leading).filter(|(_, leading)| **leading >= most);
            for part in parts(with.map(|(shelf, _)| shelf)) {
                self.most.push(crate::place::signed(most));
                self.parts_of_most.push(part);
            }
            most /= 2;
        }
        self.leading = leading.into_iter().map(crate::place::signed).collect();
    }

    /// Returns the statement that reads the records to score.
    pub(crate) fn statement(
        self,
        session: &Session<'_>,
        shelves: &[Shelf],
        wanted: &Wanted,
    ) -> Statement {
        let policies = session.row_security();
        let text = if policies { sql::CANDIDATES_OF_POLICY } else { sql::CANDIDATES };
        let numbers: Vec<i64> = shelves.iter().map(|shelf| shelf.no).collect();
        let with = &shelves[..self.leading.len()];
        let statement = session
            .query(text)
            .bind(numbers)
            .bind(wanted.hashes.clone())
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

    fn wanted() -> Wanted {
        Wanted::of(&["a", "b", "c", "d", "e"].map(str::to_owned))
    }

    fn shelf(no: i64, found: [u64; 5]) -> Shelf {
        Shelf { no, first: (1 << 32) + 1, last: (1 << 32) + 9000 * no, found: found.to_vec() }
    }

    #[test]
    fn few_records_are_all_looked_at() {
        let looks =
            Looks::plan(&wanted(), &[shelf(1, [500, 0, 3, 0, 0]), shelf(2, [1496, 0, 0, 1, 0])])
                .unwrap();
        assert_eq!(
            (looks.whole.words.len(), looks.newest.words.len(), looks.most.len()),
            (4, 0, 0)
        );
        assert_eq!(looks.parts, [2, 1, 0]);
        assert!(Looks::plan(&wanted(), &[shelf(1, [0; 5])]).is_none());
    }

    #[test]
    fn of_many_those_with_several_words_come_first() {
        let shelves = [shelf(1, [5_000, 400, 90_000, 7_000, 0]), shelf(2, [9, 0, 9, 9, 0])];
        let looks = Looks::plan(&wanted(), &shelves).unwrap();
        assert_eq!(looks.words, ["b", "a", "d", "c"].map(crate::memories::words::hash));
        assert_eq!(looks.most, [4, 4, 2, 2]);
        assert_eq!(looks.parts_of_most, [1, 0, 1, 0]);
        assert_eq!(looks.leading, [4, 0]);
        assert_eq!(looks.whole.shelves, [1]);
        assert_eq!((looks.newest.shelves, looks.newest_limit), (vec![1, 2], 1_600));
    }
}
