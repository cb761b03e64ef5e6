//! Finding memory records by words and vectors.

use std::fmt;

use super::write::check_word;
use crate::base::limits;
use crate::memory::{MemoryScope, MemoryVector, StoredMemory};
use crate::store::Bm25;
use crate::{Error, Result};

/// A query for memory records.
///
/// A record matches if it has one of the words, or a vector of the same embedder. The result holds
/// the best records by BM25 (as [`Bm25`] computes it, over all records of these scopes), then the
/// best of the other records by cosine similarity: at most `limit` of each. Of equal records the
/// newest comes first.
///
/// A store may bound the work of a query. If the words have more than
/// [`limits::EXACT_MEMORY_POSTINGS`] postings together (pairs of a word and a record that has it),
/// the store examines at least that many, starting with records that have several of the rarest
/// words, and with the newest records. If more than [`limits::EXACT_MEMORY_VECTORS`] records have a
/// vector, the store examines at least that many of the newest. So a recall takes no longer in a
/// large memory than in a medium one.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct MemoryFind {
    /// The exact scopes: at least one, all of one user.
    pub scopes: Vec<MemoryScope>,
    /// The kinds to find. Empty for all kinds.
    pub kinds: Vec<String>,
    /// The distinct words, tokenized and folded like the words of the records.
    pub words: Vec<String>,
    /// The vector of the query, if there is one.
    pub vector: Option<MemoryVector>,
    /// The maximum number of records found by words, and of records found by vectors: from 1 to
    /// [`limits::MAX_PAGE`].
    pub limit: usize,
}

impl MemoryFind {
    /// Creates a query for records that have some of these words.
    pub fn new(scopes: Vec<MemoryScope>, words: Vec<String>, limit: usize) -> Self {
        Self { scopes, kinds: Vec::new(), words, vector: None, limit }
    }

    /// Refuses invalid scopes, words, vectors and page sizes.
    pub fn check(&self) -> Result<()> {
        const OPERATION: &str = "find_memories";
        check_scopes(OPERATION, &self.scopes)?;
        self.kinds.iter().try_for_each(|kind| limits::check_id(OPERATION, "kind", kind))?;
        limits::check_length(OPERATION, "kinds", self.kinds.len(), limits::MAX_MEMORY_TERMS)?;
        limits::check_length(
            OPERATION,
            "words looked for",
            self.words.len(),
            limits::MAX_MEMORY_TERMS,
        )?;
        self.words.iter().try_for_each(|word| check_word(OPERATION, word))?;
        self.vector.iter().try_for_each(|vector| vector.check(OPERATION))?;
        limits::check_page(OPERATION, self.limit)
    }

    /// Returns whether the query includes records of this kind.
    pub fn takes(&self, kind: &str) -> bool {
        self.kinds.is_empty() || self.kinds.iter().any(|selected| selected == kind)
    }
}

/// Refuses an empty list of scopes, too many scopes, and scopes of several users.
pub(super) fn check_scopes(operation: &'static str, scopes: &[MemoryScope]) -> Result<()> {
    let Some(first) = scopes.first() else {
        return Err(Error::invalid(operation, "no scope was given"));
    };
    limits::check_length(operation, "scopes", scopes.len(), limits::MAX_MEMORY_SCOPES)?;
    scopes.iter().try_for_each(|scope| scope.check(operation))?;
    if scopes.iter().any(|scope| scope.user != first.user) {
        return Err(Error::invalid(operation, "scopes of two users in one call"));
    }
    Ok(())
}

impl fmt::Debug for MemoryFind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryFind")
            .field("scopes", &self.scopes)
            .field("kinds", &self.kinds)
            .field("words", &self.words.len())
            .field("vector", &self.vector)
            .field("limit", &self.limit)
            .finish()
    }
}

/// A record that matches a query.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MemoryHit {
    /// The record.
    pub stored: StoredMemory,
    /// The BM25 score; 0 if the record has none of the words.
    pub score: f64,
    /// The cosine similarity of the record's vector and the query's, if both exist.
    pub similarity: Option<f32>,
}

impl MemoryHit {
    /// Creates a hit with its scores.
    pub fn new(stored: StoredMemory, score: f64, similarity: Option<f32>) -> Self {
        Self { stored, score, similarity }
    }
}

/// The result of a query.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct MemoriesFound {
    /// The records: first the best by words, then those that were found only by their vectors.
    pub hits: Vec<MemoryHit>,
    /// The word statistics of these scopes, for ranking parts of records the same way.
    pub bm25: Bm25,
}

impl MemoriesFound {
    /// Creates a result from hits and word statistics.
    pub fn new(hits: Vec<MemoryHit>, bm25: Bm25) -> Self {
        Self { hits, bm25 }
    }
}
