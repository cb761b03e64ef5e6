//! Counting the words of a memory record.

/// Counts of the query's words in one record. Stores without an index rank by them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryWords {
    /// Number of words in the record.
    pub length: u64,
    /// Number of occurrences of each query word in the record.
    pub counts: Vec<u32>,
}

impl MemoryWords {
    /// Counts the query words among a record's words.
    pub fn count(query: &[String], words: &str) -> Self {
        let mut counts = vec![0; query.len()];
        let mut length = 0;
        for word in words.split(' ').filter(|word| !word.is_empty()) {
            length += 1;
            if let Some(at) = query.iter().position(|query| query == word) {
                counts[at] += 1;
            }
        }
        Self { length, counts }
    }

    /// Returns whether the record has at least one of the words.
    pub fn is_hit(&self) -> bool {
        self.counts.iter().any(|count| *count > 0)
    }
}
