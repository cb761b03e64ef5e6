//! Finding records: the index selects candidates by their words, and the word lists give the
//! scores.
//!
//! If the words occur in few records, all of these are read. Otherwise a bounded number is read, in
//! this order: records with all of the words, records with the rarest words, records with two of
//! the others, records with one of the others. Newer records come first in each case.

use std::collections::{HashMap, HashSet};

use context_core::base::limits;
use context_core::memory::StoredMemory;
use context_core::store::{MemoriesFound, MemoryFind, MemoryHit};
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{Connection, Row};

use crate::error::{Fault, Result};
use crate::memories::rows::stored_at;
use crate::memories::scopes::Scopes;
use crate::memories::terms::{Term, Terms};
use crate::memories::vectors;
use crate::memories::word_list::WordList;
use crate::sql::memories as sql;
use crate::sql::run;
use crate::values::numbers::count;
use crate::values::rows::json_numbers;

/// The maximum number of records with all of the words that are read.
const WITH_ALL: u64 = 200;
/// A word in more records than this is not combined with others, unless fewer than two words are
/// rarer. Intersecting a word reads all of its places, and a common word adds little.
const COMMON: u64 = 50_000;
/// The maximum number of records that the rarest words, all of whose records are read, have
/// together.
const RAREST: u64 = 1000;
/// The maximum number of records that are read per pair of other words, and the number of pairs.
const WITH_PAIR: u64 = 100;
const PAIRS: usize = 3;

/// Finds records. All reads see one state of the file.
pub(crate) async fn find(
    connection: &mut SqliteConnection,
    find: &MemoryFind,
) -> Result<MemoriesFound> {
    let mut transaction = connection.begin().await?;
    let scopes = Scopes::read_all(&mut transaction, &find.scopes).await?;
    let terms = Terms::read(&mut transaction, &scopes, find).await?;
    let mut best = find_candidates(&mut transaction, &terms).await?;
    best.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then(b.place.cmp(&a.place)));
    best.truncate(find.limit);
    let mut similar = HashMap::new();
    if let Some(vector) = &find.vector {
        let kinds = scopes.kinds(|kind| find.takes(kind));
        let by_words: HashSet<i64> = best.iter().map(|hit| hit.place).collect();
        similar = vectors::similarities(&mut transaction, &kinds, vector, &by_words).await?;
        let mut others: Vec<_> =
            similar.iter().filter(|(place, _)| !by_words.contains(*place)).collect();
        others.sort_unstable_by(|a, b| b.1.total_cmp(a.1).then(b.0.cmp(a.0)));
        others.truncate(find.limit);
        let others: Vec<i64> = others.into_iter().map(|(place, _)| *place).collect();
        best.extend(scored(&mut transaction, &terms, &others).await?);
    }
    let stored = stored_at(&mut transaction, best.iter().map(|hit| hit.place)).await?;
    transaction.commit().await?;
    let mut stored: HashMap<u64, StoredMemory> =
        stored.into_iter().map(|stored| (stored.place, stored)).collect();
    let mut hits = Vec::with_capacity(stored.len());
    for Hit { place, score } in best {
        let found = stored.remove(&place.unsigned_abs());
        let stored =
            found.ok_or(Fault::Corrupt("a memory that the search found is missing", None))?;
        // The scope and the kind are checked against the record, whatever the index says.
        if !scopes.0.contains_key(&stored.record.scope) || !find.takes(&stored.record.kind) {
            return Err(Fault::Corrupt(
                "a memory is stored under another scope or kind than its own",
                None,
            ));
        }
        hits.push(MemoryHit::new(stored, score, similar.get(&place).copied()));
    }
    Ok(MemoriesFound::new(hits, terms.bm25))
}

/// A record that has some of the words.
struct Hit {
    place: i64,
    score: f64,
}

/// The candidates read so far.
struct Candidates<'a> {
    terms: &'a Terms,
    hits: Vec<Hit>,
    seen: HashSet<i64>,
    /// The number of these records that contain each word.
    found: Vec<u64>,
    /// The number of records read, some of them twice.
    rows: u64,
}

async fn find_candidates(connection: &mut SqliteConnection, terms: &Terms) -> Result<Vec<Hit>> {
    let found = vec![0; terms.bm25.found.len()];
    let mut candidates =
        Candidates { terms, hits: Vec::new(), seen: HashSet::new(), found, rows: 0 };
    let words = terms.terms.as_slice();
    if words.is_empty() {
        return Ok(candidates.hits);
    }
    let places: u64 = words.iter().map(|term| term.found).sum();
    if places <= limits::EXACT_MEMORY_POSTINGS {
        candidates.read(connection, &any(words), places).await?;
        // Every record with the words was read, so the index must have as many as were counted.
        if words.iter().any(|term| candidates.found[term.word] != term.found) {
            return Err(Fault::Corrupt("the index of words of memories lacks entries", None));
        }
        return Ok(candidates.hits);
    }
    if words.len() > 1 {
        candidates.read(connection, &all(together(words).iter()), WITH_ALL).await?;
    }
    let mut places = 0;
    let rare = words.iter().take_while(|term| {
        places += term.found;
        places <= RAREST
    });
    let (rare, others) = words.split_at(rare.count());
    if !rare.is_empty() {
        candidates.read(connection, &any(rare), RAREST).await?;
    }
    let paired = together(others);
    let pairs = (1..paired.len()).flat_map(|second| (0..second).map(move |first| (first, second)));
    for (first, second) in pairs.take(PAIRS) {
        candidates
            .read(connection, &all([&paired[first], &paired[second]].into_iter()), WITH_PAIR)
            .await?;
    }
    for term in others {
        let left = limits::EXACT_MEMORY_POSTINGS.saturating_sub(candidates.rows);
        if left == 0 {
            break;
        }
        candidates.read(connection, &term.expression, left).await?;
    }
    Ok(candidates.hits)
}

impl Candidates<'_> {
    /// Reads the newest records that an expression finds.
    async fn read(
        &mut self,
        connection: &mut SqliteConnection,
        expression: &str,
        most: u64,
    ) -> Result<()> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let query = sqlx::query(sql::LISTS).bind(expression).bind(most).bind(0_i64);
        let rows = run(connection, query).await?;
        if let Some(row) = rows.first() {
            self.rows += count(row.try_get(0)?)?;
        }
        for_lists(&rows, 1, |list, counts| {
            if self.seen.insert(list.place)
                && let Some(score) = self.terms.score(list, counts)
            {
                self.hits.push(Hit { place: list.place, score });
                self.found
                    .iter_mut()
                    .zip(counts)
                    .for_each(|(found, count)| *found += u64::from(*count > 0));
            }
        })
    }
}

/// Returns the records that were found by other means, with the score of their words.
async fn scored(
    connection: &mut SqliteConnection,
    terms: &Terms,
    places: &[i64],
) -> Result<Vec<Hit>> {
    let rows =
        run(connection, sqlx::query(sql::LISTS_AT).bind(json_numbers(places.iter()))).await?;
    let mut scores = HashMap::new();
    for_lists(&rows, 0, |list, counts| {
        scores.insert(list.place, terms.score(list, counts));
    })?;
    let score = |place: &i64| scores.get(place).copied().flatten().unwrap_or_default();
    Ok(places.iter().map(|place| Hit { place: *place, score: score(place) }).collect())
}

/// Calls a function for each list of the only row.
fn for_lists(
    rows: &[SqliteRow],
    column: usize,
    mut each: impl FnMut(&WordList, &mut Vec<u32>),
) -> Result<()> {
    let Some(row) = rows.first() else { return Ok(()) };
    let mut lists = row.try_get::<Option<&[u8]>, _>(column)?.unwrap_or_default();
    let (mut list, mut counts) = (WordList::default(), Vec::new());
    while !lists.is_empty() {
        list.read(&mut lists)?;
        each(&list, &mut counts);
    }
    Ok(())
}

/// Returns the words, the rarest first, that are combined in one expression.
fn together(words: &[Term]) -> &[Term] {
    let rare = words.partition_point(|term| term.found <= COMMON);
    &words[..rare.max(2).min(words.len())]
}

fn any(words: &[Term]) -> String {
    words.iter().map(|term| term.expression.as_str()).collect::<Vec<_>>().join(" OR ")
}

fn all<'a>(words: impl Iterator<Item = &'a Term>) -> String {
    words.map(|term| term.expression.as_str()).collect::<Vec<_>>().join(" AND ")
}
