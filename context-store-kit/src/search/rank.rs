//! BM25 ranking, for stores that have no index to rank by.

use super::terms::Count;

/// A two-pass ranking by BM25 (`k1` 1.2, `b` 0.75): first add all texts, then score each. Rare
/// phrases weigh more, repetitions add to the score, and long texts score lower.
#[derive(Clone, Debug, Default)]
pub struct Ranking {
    texts: usize,
    words: usize,
    /// For each phrase, the number of texts that have it.
    matching: Vec<usize>,
}

impl Ranking {
    const K1: f64 = 1.2;
    const B: f64 = 0.75;

    /// Creates a ranking that has statistics of other texts: their number, the number of all of
    /// their words, and for each phrase the number of those that have it.
    pub fn of(texts: usize, words: usize, matching: Vec<usize>) -> Self {
        Self { texts, words, matching }
    }

    /// Adds a text to the statistics.
    pub fn add(&mut self, count: &Count) {
        self.texts += 1;
        self.words += count.words;
        if self.matching.len() < count.phrases.len() {
            self.matching.resize(count.phrases.len(), 0);
        }
        for (matching, count) in self.matching.iter_mut().zip(&count.phrases) {
            *matching += usize::from(*count > 0);
        }
    }

    /// Returns the score of a text. All texts must have been added.
    pub fn score(&self, count: &Count) -> f64 {
        let average = self.words as f64 / (self.texts.max(1)) as f64;
        let length = 1.0 - Self::B + Self::B * count.words as f64 / average.max(1.0);
        let score = |(matching, count): (&usize, &usize)| {
            let (texts, matching, count) = (self.texts as f64, *matching as f64, *count as f64);
            let rarity = ((texts - matching + 0.5) / (matching + 0.5)).ln().max(1e-6);
            rarity * count * (Self::K1 + 1.0) / (count + Self::K1 * length)
        };
        // Not `sum`, which is -0.0 for an empty iterator.
        self.matching.iter().zip(&count.phrases).map(score).fold(0.0, |sum, score| sum + score)
    }
}
