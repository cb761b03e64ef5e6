//! Finding records by what they say.

use std::fmt;

use super::write::check_word;
use crate::base::limits;
use crate::memory::MemoryScope;
use crate::memory::{MemoryVector, StoredMemory};
use crate::store::Bm25;
use crate::{Error, Result};

/// Which records are looked for.
///
/// A record fits if it has one of the words, or a vector of the same embedder. The answer has the
/// best by BM25 (as [`Bm25`] counts it, over all records of these scopes), then of those that are
/// not among them the best by the angle of their vectors: at most `limit` of each; of equal ones
/// the newest first.
///
/// What a store may leave out: if the words have together more than
/// [`limits::EXACT_MEMORY_POSTINGS`] places in records, it looks at that many at least, beginning
/// with records that have several of the rarest words, and at the newest first; if more than
/// [`limits::EXACT_MEMORY_VECTORS`] records have a vector, at the newest of them. So a recall takes
/// no longer in a large memory than in a middling one.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct MemoryFind {
    /// The scopes, each exactly; at least one, all of one user.
    pub scopes: Vec<MemoryScope>,
    /// Only records of these kinds; all, if there are none.
    pub kinds: Vec<String>,
    /// The words, cut and folded as those of the records, each once.
    pub words: Vec<String>,
    /// What is meant.
    pub vector: Option<MemoryVector>,
    /// The most records by words, and the most by vectors: from 1 to [`limits::MAX_PAGE`].
    pub limit: usize,
}

impl MemoryFind {
    /// Looks for records that have some of these words.
    pub fn new(scopes: Vec<MemoryScope>, words: Vec<String>, limit: usize) -> Self {
        Self { scopes, kinds: Vec::new(), words, vector: None, limit }
    }

    /// Refuses bad scopes, words and vectors, and a bad page size.
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

    /// Whether a record is of a kind that is looked for.
    pub fn takes(&self, kind: &str) -> bool {
        self.kinds.is_empty() || self.kinds.iter().any(|wanted| wanted == kind)
    }
}

/// Refuses no scopes, too many, and those of several users.
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

/// A record that was found.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MemoryHit {
    /// The record.
    pub stored: StoredMemory,
    /// How well it fits by its words; 0 if it has none of them.
    pub score: f64,
    /// The cosine of the angle between its vector and the one that was looked for, if both are
    /// there.
    pub similarity: Option<f32>,
}

impl MemoryHit {
    /// A record that fits so well.
    pub fn new(stored: StoredMemory, score: f64, similarity: Option<f32>) -> Self {
        Self { stored, score, similarity }
    }
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct MemoriesFound {
    /// The records: the best by words first, then those that were found by their vectors alone.
    pub hits: Vec<MemoryHit>,
    /// How common the words are in these scopes, for ranking parts of records the same way.
    pub bm25: Bm25,
}

impl MemoriesFound {
    /// These records were found, among so common words.
    pub fn new(hits: Vec<MemoryHit>, bm25: Bm25) -> Self {
        Self { hits, bm25 }
    }
}
