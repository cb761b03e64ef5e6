//! Counting the words of a memory record.

/// How often words that are looked for are in the words of a record: what stores without an index
/// of their own rank by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryWords {
    /// How many words the record has.
    pub length: u64,
    /// How often each of the words that are looked for is there.
    pub counts: Vec<u32>,
}

impl MemoryWords {
    /// Counts these words in those of a record.
    pub fn count(wanted: &[String], words: &str) -> Self {
        let mut counts = vec![0; wanted.len()];
        let mut length = 0;
        for word in words.split(' ').filter(|word| !word.is_empty()) {
            length += 1;
            if let Some(at) = wanted.iter().position(|wanted| wanted == word) {
                counts[at] += 1;
            }
        }
        Self { length, counts }
    }

    /// Whether one of them is there.
    pub fn is_hit(&self) -> bool {
        self.counts.iter().any(|count| *count > 0)
    }
}
