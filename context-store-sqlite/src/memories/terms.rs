//! The words of a search with their numbers, and the score of a record's word list.

use context_core::store::{Bm25, MemoryFind};
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use crate::checksums::WORD;
use crate::error::{Fault, Result};
use crate::memories::rows::json_answer;
use crate::memories::scopes::Scopes;
use crate::memories::word_list::{WordList, token};
use crate::sql::memories as sql;
use crate::sql::run;
use crate::values::rows::json_numbers;

/// The words of a search.
pub(super) struct Terms {
    /// The frequency of the words in all of the scopes, over all kinds.
    pub(super) bm25: Bm25,
    /// The words that occur in records of the searched kinds, the rarest first.
    pub(super) terms: Vec<Term>,
    /// The numbers of the words, sorted, each with the index of its word in the search.
    numbers: Vec<(i64, usize)>,
    /// The kinds that are searched.
    kinds: Vec<i64>,
}

/// A stored word: its kind, its index in the search, its number, the number of records that contain
/// it, its scope, and its checksum.
type StoredWord = (i64, usize, i64, u64, i64, Option<i64>);

/// A word of a search.
pub(super) struct Term {
    /// The index of the word in the search.
    pub(super) word: usize,
    /// The number of records of the searched kinds that contain the word.
    pub(super) found: u64,
    /// The word's expression for the index.
    pub(super) expression: String,
}

impl Terms {
    pub(super) async fn read(
        connection: &mut SqliteConnection,
        scopes: &Scopes<'_>,
        find: &MemoryFind,
    ) -> Result<Self> {
        let kinds = scopes.kinds(|kind| find.takes(kind));
        let mut bm25 = Bm25::new(0, 0, vec![0; find.words.len()]);
        for filed in scopes.0.values() {
            bm25.texts += filed.records;
            bm25.words += filed.words;
        }
        let mut of_word: Vec<(u64, Vec<i64>)> = vec![Default::default(); find.words.len()];
        if !scopes.0.is_empty() && !find.words.is_empty() {
            let words = serde_json::to_string(&find.words).unwrap_or_default();
            let scopes = json_numbers(scopes.0.values().map(|filed| filed.no));
            let query = sqlx::query(sql::TERMS).bind(&scopes).bind(&words);
            let found: Vec<StoredWord> = json_answer(connection, query).await?;
            for row in
                run(connection, sqlx::query(sql::WORDS_BESIDE).bind(scopes).bind(words)).await?
            {
                WORD.check(&row, 0)?;
            }
            for (kind, word, no, records, scope, sum) in found {
                let text = find.words.get(word).ok_or(WORD.differs())?.as_str();
                if sum != Some(WORD.sum([scope.into(), text.into(), kind.into(), no.into()])) {
                    return Err(WORD.differs());
                }
                // A word that occurs twice in the search counts once.
                let Some(at) = find.words.iter().position(|other| *other == find.words[word])
                else {
                    continue;
                };
                if at != word {
                    continue;
                }
                bm25.found[word] += records;
                if kinds.binary_search(&kind).is_ok() {
                    of_word[word].0 += records;
                    of_word[word].1.push(no);
                }
            }
        }
        if of_word.iter().any(|(_, numbers)| numbers.is_empty()) {
            // The word occurs nowhere. In scopes whose records have words, the index must have some
            // word.
            let with_words =
                scopes.0.values().filter(|filed| filed.words > 0).map(|filed| filed.no);
            let query = sqlx::query(sql::HAVE_WORDS).bind(json_numbers(with_words));
            for row in run(connection, query).await? {
                if !row.try_get::<bool, _>(0)? {
                    return Err(Fault::Corrupt("words of memories are missing", None));
                }
            }
        }
        let numbers = of_word.iter().enumerate();
        let numbers =
            numbers.flat_map(|(word, (_, numbers))| numbers.iter().map(move |no| (*no, word)));
        let mut numbers: Vec<(i64, usize)> = numbers.collect();
        numbers.sort_unstable();
        let mut rarest: Vec<(usize, &(u64, Vec<i64>))> = of_word.iter().enumerate().collect();
        rarest.retain(|(_, (_, numbers))| !numbers.is_empty());
        rarest.sort_by_key(|(_, (found, _))| *found);
        let terms = rarest.iter().map(|(word, (found, numbers))| {
            let tokens: Vec<String> =
                numbers.iter().map(|no| format!("\"{}\"", token(*no))).collect();
            Term { word: *word, found: *found, expression: format!("({})", tokens.join(" OR ")) }
        });
        Ok(Self { bm25, terms: terms.collect(), numbers, kinds })
    }

    /// Returns the score of a record, or `None` if it has none of the words or its kind is not
    /// searched.
    pub(super) fn score(&self, list: &WordList, counts: &mut Vec<u32>) -> Option<f64> {
        self.kinds.binary_search(&list.kind).ok()?;
        counts.clear();
        counts.resize(self.bm25.found.len(), 0);
        let mut wanted = self.numbers.iter().peekable();
        let (mut length, mut is_hit) = (0, false);
        for (no, count) in &list.words {
            length += u64::from(*count);
            while wanted.next_if(|(wanted, _)| wanted < no).is_some() {}
            if let Some((_, word)) = wanted.next_if(|(wanted, _)| wanted == no) {
                counts[*word] = *count;
                is_hit = true;
            }
        }
        is_hit.then(|| self.bm25.score(length, counts.iter().copied()))
    }
}
