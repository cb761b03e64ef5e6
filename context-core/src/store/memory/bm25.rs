//! BM25 scores of texts.

/// Statistics of all texts, for scoring one of them by BM25 (`k1` 1.2, `b` 0.75). Rare words weigh
/// more, repetitions add to the score, and long texts score lower.
///
/// ```
/// use context_core::store::Bm25;
///
/// // Of 100 texts of 20 words each, 90 have the first query word, and 2 have the second.
/// let known = Bm25::new(100, 2_000, vec![90, 2]);
/// assert!(known.score(20, [0, 1]) > known.score(20, [3, 0])); // rare beats frequent
/// assert!(known.score(10, [0, 1]) > known.score(40, [0, 1])); // short beats long
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Bm25 {
    /// Number of texts.
    pub texts: u64,
    /// Number of words in all texts.
    pub words: u64,
    /// For each query word, the number of texts that have it.
    pub found: Vec<u64>,
}

impl Bm25 {
    const K1: f64 = 1.2;
    /// The weight of a text's length.
    pub const B: f64 = 0.75;

    /// Creates statistics from the number of texts, of words, and of texts with each query word.
    pub fn new(texts: u64, words: u64, found: Vec<u64>) -> Self {
        Self { texts, words, found }
    }

    /// Returns the average number of words in a text, at least 1.
    pub fn average(&self) -> f64 {
        (self.words as f64 / self.texts.max(1) as f64).max(1.0)
    }

    /// Returns the weight of the query word at this index: higher for rarer words, and positive
    /// even for a word that most texts have. `Ranking` of `context-store-kit`, which scores only
    /// texts with all words, weighs frequent words less.
    pub fn rarity(&self, word: usize) -> f64 {
        let matching = self.found.get(word).copied().unwrap_or_default() as f64;
        (1.0 + (self.texts as f64 - matching + 0.5).max(0.0) / (matching + 0.5)).ln()
    }

    /// Returns the score of a text from its length in words and the count of each query word.
    pub fn score(&self, length: u64, counts: impl IntoIterator<Item = u32>) -> f64 {
        self.score_with(Self::B, length as f64 / self.average(), counts)
    }

    /// Returns the score with another weight `b` of the length, from 0 to 1. `length` is relative
    /// to the average.
    pub fn score_with(&self, b: f64, length: f64, counts: impl IntoIterator<Item = u32>) -> f64 {
        let length = 1.0 - b + b * length;
        let score = |(word, count): (usize, u32)| {
            let count = f64::from(count);
            self.rarity(word) * count * (Self::K1 + 1.0) / (count + Self::K1 * length)
        };
        let occurring = counts.into_iter().enumerate().filter(|(_, count)| *count > 0);
        // Not `sum`, which is -0.0 for an empty iterator.
        occurring.map(score).fold(0.0, |sum, score| sum + score)
    }
}

#[cfg(test)]
mod tests {
    use super::Bm25;

    /// A regression test: one store returned 0 and another -0 for a memory that was found by its
    /// vector alone.
    #[test]
    fn nothing_found_is_zero_and_not_minus_zero() {
        let known = Bm25 { texts: 2, words: 20, found: vec![1, 2] };
        for counts in [&[][..], &[0, 0]] {
            assert_eq!(known.score(10, counts.iter().copied()).to_bits(), 0.0_f64.to_bits());
        }
    }
}
