//! Writing records.

use std::collections::HashSet;
use std::fmt;

use crate::base::limits;
use crate::memory::{MemoryRecord, MemoryVector, StoredMemory};
use crate::{Error, Result};

/// What a write relies on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MemoryExpected {
    /// Nothing: it is written, whatever there is.
    Anything,
    /// That there is none of its name and there never was one that was forgotten; else what is
    /// there stays, and that is no conflict.
    Absent,
    /// That the record was written so often: 0 for one that is not there. If the very same record
    /// is there, written once more than that, the write counts as done: it is taken for this one,
    /// repeated after its reply was lost. So who counts up, or adds what somebody else may add as
    /// well, says in the record which write it is, such as by its time or its author.
    Version(u64),
}

/// A record to be written. `Debug` shows no content.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct MemoryWrite {
    /// The record.
    pub record: MemoryRecord,
    /// The words under which it is found, with a space between two of them, each as often as it
    /// counts; how they are cut and folded is the provider's business. Nothing finds a record
    /// without.
    pub words: String,
    /// What it means.
    pub vector: Option<MemoryVector>,
    /// What the write relies on.
    pub expected: MemoryExpected,
}

impl MemoryWrite {
    /// Writes a record that is not there.
    pub fn new(record: MemoryRecord, words: impl Into<String>) -> Self {
        Self { record, words: words.into(), vector: None, expected: MemoryExpected::Absent }
    }

    /// Found by this vector, too.
    #[must_use]
    pub fn vector(mut self, vector: MemoryVector) -> Self {
        self.vector = Some(vector);
        self
    }

    /// Relies on this.
    #[must_use]
    pub fn expected(mut self, expected: MemoryExpected) -> Self {
        self.expected = expected;
        self
    }

    /// The words, in order.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.words.split(' ').filter(|word| !word.is_empty())
    }

    /// Refuses a bad record, words that are too many or too long or hold a space of another kind,
    /// and a bad vector.
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

    /// Whether a record that was written so often is this one, written by a call whose reply was
    /// lost: it counts as written.
    pub fn is_replay_of(&self, stored: &StoredMemory) -> bool {
        match self.expected {
            MemoryExpected::Version(version) => {
                stored.version == version.saturating_add(1) && stored.record == self.record
            }
            _ => false,
        }
    }
}

/// Refuses a word that is too long or would be two.
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

/// Refuses writes that are wrong in themselves: none or too many, of several users, the same record
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

/// What became of one record of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MemoryWritten {
    /// It is there, and has been written so often.
    Written(u64),
    /// There was one already, which stays as it is and was written so often.
    Kept(u64),
    /// There was one that was forgotten, and it stays so.
    Forgotten,
}

/// What became of a write.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
#[non_exhaustive]
pub enum MemoryOutcome {
    /// All is as it should be: one answer for each record, in their order.
    Applied(Vec<MemoryWritten>),
    /// Nothing was written: a record is not as expected.
    Conflict {
        /// Which of the writes, counted from 0.
        write: usize,
        /// What there is of that name.
        stored: Option<Box<StoredMemory>>,
    },
}
