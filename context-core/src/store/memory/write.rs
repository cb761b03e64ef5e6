//! Writing memory records.

use std::collections::HashSet;
use std::fmt;

use crate::base::limits;
use crate::memory::{MemoryRecord, MemoryVector, StoredMemory};
use crate::{Error, Result};

/// The precondition of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MemoryExpected {
    /// No precondition: the record is written in any case.
    Anything,
    /// No record with this id exists or was forgotten. Otherwise the stored state is kept, which is
    /// not a conflict.
    Absent,
    /// The record was written this many times, 0 for a record that does not exist. If the stored
    /// record equals the written one and its version is one higher than expected, the write counts
    /// as done: it is taken for a repetition whose first reply was lost. So a caller that counts
    /// up, or that adds something another writer may add as well, must identify the write in the
    /// record, for example by its time or author.
    Version(u64),
}

/// A memory record to write. `Debug` shows no content.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct MemoryWrite {
    /// The record.
    pub record: MemoryRecord,
    /// The words under which the record is found, separated by single spaces, each repeated as
    /// often as it counts. Providers choose how to tokenize and fold them. A record without words
    /// is never found by words.
    pub words: String,
    /// The embedding of the record, if there is one.
    pub vector: Option<MemoryVector>,
    /// The precondition.
    pub expected: MemoryExpected,
}

impl MemoryWrite {
    /// Creates a write for a record that does not exist yet.
    pub fn new(record: MemoryRecord, words: impl Into<String>) -> Self {
        Self { record, words: words.into(), vector: None, expected: MemoryExpected::Absent }
    }

    /// Sets the vector, so that the record is also found by similarity.
    #[must_use]
    pub fn vector(mut self, vector: MemoryVector) -> Self {
        self.vector = Some(vector);
        self
    }

    /// Sets the precondition.
    #[must_use]
    pub fn expected(mut self, expected: MemoryExpected) -> Self {
        self.expected = expected;
        self
    }

    /// Returns the words in order.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.words.split(' ').filter(|word| !word.is_empty())
    }

    /// Refuses an invalid record or vector, too many words, and words that are too long or contain
    /// other white space, control characters or quotes.
    pub fn check(&self, operation: &'static str) -> Result<()> {
        self.record.check(operation)?;
        let mut count = 0;
        for word in self.words() {
            count += 1;
            check_word(operation, word)?;
        }
        limits::check_length(operation, "words of a memory", count, limits::MAX_MEMORY_WORDS)?;
        self.vector.iter().try_for_each(|vector| vector.check(operation))
    }

    /// Returns whether the stored record is this write, made by an earlier call whose reply was
    /// lost. Such a write counts as written.
    pub fn is_replay_of(&self, stored: &StoredMemory) -> bool {
        match self.expected {
            MemoryExpected::Version(version) => {
                stored.version == version.saturating_add(1) && stored.record == self.record
            }
            _ => false,
        }
    }
}

/// Refuses a word that is too long or contains white space, control characters or quotes.
pub(super) fn check_word(operation: &'static str, word: &str) -> Result<()> {
    limits::check_id(operation, "word", word)?;
    if word.chars().any(|c| c.is_whitespace() || c.is_control() || c == '"') {
        return Err(Error::invalid(
            operation,
            "a word of a memory has no space, quote or control character in it",
        ));
    }
    Ok(())
}

/// Refuses invalid batches: an empty or too long one, records of several users, and the same record
/// twice.
pub fn check_memory_writes(writes: &[MemoryWrite]) -> Result<()> {
    const OPERATION: &str = "write_memories";
    limits::check_page(OPERATION, writes.len())?;
    let mut seen = HashSet::with_capacity(writes.len());
    for write in writes {
        write.check(OPERATION)?;
        let MemoryRecord { scope, id, .. } = &write.record;
        if scope.user != writes[0].record.scope.user {
            return Err(Error::invalid(OPERATION, "records of two users in one write"));
        }
        if !seen.insert((scope, id)) {
            return Err(
                Error::invalid(OPERATION, "the same memory twice in one write").with("memory", id)
            );
        }
    }
    Ok(())
}

impl fmt::Debug for MemoryWrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryWrite")
            .field("record", &self.record)
            .field("vector", &self.vector)
            .field("expected", &self.expected)
            .finish_non_exhaustive()
    }
}

/// The outcome for one record of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MemoryWritten {
    /// The record is stored, with this version.
    Written(u64),
    /// A record existed already and is unchanged, with this version.
    Unchanged(u64),
    /// A record with this id was forgotten, and stays forgotten.
    Forgotten,
}

/// The outcome of a write.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
#[non_exhaustive]
pub enum MemoryOutcome {
    /// All preconditions held. One outcome for each record, in order.
    Applied(Vec<MemoryWritten>),
    /// Nothing was written, because a stored record is not as expected.
    Conflict {
        /// The index of the write, from 0.
        write: usize,
        /// The stored record with this id, if there is one.
        stored: Option<Box<StoredMemory>>,
    },
}
