//! BM25: how well a text fits words, by how rare they are among all texts.

/// What is known of all texts together, to score one of them by BM25 (`k1` 1.2, `b` 0.75): rare
/// words count more, more of them count more, in long texts less.
///
/// ```
/// use context_core::store::Bm25;
///
/// // Of 100 texts of 20 words each, 90 have the first word that is looked for, 2 the second.
/// let known = Bm25::new(100, 2_000, vec![90, 2]);
/// assert!(known.score(20, [0, 1]) > known.score(20, [3, 0])); // rare beats often
/// assert!(known.score(10, [0, 1]) > known.score(40, [0, 1])); // short beats long
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Bm25 {
    /// How many texts there are.
    pub texts: u64,
    /// How many words they have together.
    pub words: u64,
    /// For each word that is looked for, in how many texts it is.
    pub found: Vec<u64>,
}

impl Bm25 {
    const K1: f64 = 1.2;
    /// How much the length of a text counts.
    pub const B: f64 = 0.75;

    /// So many texts of so many words, in so many of which each of the words that are looked for
    /// is.
    pub fn new(texts: u64, words: u64, found: Vec<u64>) -> Self {
        Self { texts, words, found }
    }

    /// How many words a text has on average; at least 1.
    pub fn average(&self) -> f64 {
        (self.words as f64 / self.texts.max(1) as f64).max(1.0)
    }

    /// How rare a word is: by its place among those that are looked for. Never nothing, since among
    /// three texts a word that is in two of them still says something; `Ranking` of `context-store-kit`,
    /// which ranks where all words must be there anyway, is stricter.
    pub fn rarity(&self, word: usize) -> f64 {
        let (texts, found) =
            (self.texts as f64, self.found.get(word).copied().unwrap_or_default() as f64);
        (1.0 + (texts - found + 0.5).max(0.0) / (found + 0.5)).ln()
    }

    /// The score of a text of so many words that has each word so often.
    pub fn score(&self, length: u64, counts: impl IntoIterator<Item = u32>) -> f64 {
        self.score_with(Self::B, length as f64 / self.average(), counts)
    }

    /// The same where length counts as much as `b` says, from 0 to 1, for a text that is so many
    /// times as long as one on average.
    pub fn score_with(&self, b: f64, length: f64, counts: impl IntoIterator<Item = u32>) -> f64 {
        let length = 1.0 - b + b * length;
        let score = |(word, count): (usize, u32)| {
            let count = f64::from(count);
            self.rarity(word) * count * (Self::K1 + 1.0) / (count + Self::K1 * length)
        };
        let found = counts.into_iter().enumerate().filter(|(_, count)| *count > 0);
        // Not `sum`, which of nothing is minus zero.
        found.map(score).fold(0.0, |sum, score| sum + score)
    }
}

#[cfg(test)]
mod tests {
    use super::Bm25;

    /// One store said 0 and another -0 of a memory that was found by its vector alone.
    #[test]
    fn nothing_found_is_zero_and_not_minus_zero() {
        let known = Bm25 { texts: 2, words: 20, found: vec![1, 2] };
        for counts in [&[][..], &[0, 0]] {
            assert_eq!(known.score(10, counts.iter().copied()).to_bits(), 0.0_f64.to_bits());
        }
    }
}
