//! Parsing of search texts.

use super::words::words;

/// Words that must be adjacent in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Phrase {
    /// The folded words. Never empty.
    pub words: Vec<String>,
    /// Whether the last word may be a prefix of a longer one.
    pub prefix: bool,
}

/// The phrases of a query, all of which must be in a text.
///
/// ```
/// use context_store_kit::search::Terms;
///
/// let typed = Terms::parse("CAFÉ lisb", true); // search as you type
/// assert!(typed.count("A cafe in Lisbon").is_hit());
/// assert!(!typed.count("A cafe in Porto").is_hit());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    phrases: Vec<Phrase>,
}

impl Terms {
    /// Parses a search text. With `prefix`, the last word may be a prefix of a longer one.
    pub fn parse(text: &str, prefix: bool) -> Self {
        let mut phrases: Vec<Phrase> = Vec::new();
        for typed in text.split_whitespace() {
            let words: Vec<_> = words(typed).map(|word| word.folded).collect();
            let phrase = Phrase { words, prefix: false };
            if !phrase.words.is_empty() && !phrases.contains(&phrase) {
                phrases.push(phrase);
            }
        }
        if let Some(last) = phrases.last_mut() {
            last.prefix = prefix;
        }
        Self { phrases }
    }

    /// Returns the distinct phrases, in the order of the query.
    pub fn phrases(&self) -> &[Phrase] {
        &self.phrases
    }

    /// Returns whether there are no phrases. Such a query finds nothing.
    pub fn is_empty(&self) -> bool {
        self.phrases.is_empty()
    }

    /// Counts the words of a text and the occurrences of each phrase.
    pub fn count(&self, text: &str) -> Count {
        let words: Vec<_> = words(text).map(|word| word.folded).collect();
        let phrases = self.phrases.iter().map(|phrase| phrase.positions(&words).count()).collect();
        Count { words: words.len(), phrases }
    }
}

/// The counts of a query's phrases in a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Count {
    /// Number of words in the text.
    pub words: usize,
    /// Number of occurrences of each phrase.
    pub phrases: Vec<usize>,
}

impl Count {
    /// Returns whether there are phrases and all of them occur.
    pub fn is_hit(&self) -> bool {
        !self.phrases.is_empty() && self.phrases.iter().all(|count| *count > 0)
    }
}

impl Phrase {
    /// Returns the indexes where the phrase occurs in a list of folded words.
    pub(super) fn positions<'a>(&'a self, words: &'a [String]) -> impl Iterator<Item = usize> + 'a {
        let (last, front) = self.words.split_last().expect("a phrase has words");
        words.windows(self.words.len()).enumerate().filter_map(move |(position, window)| {
            let end = &window[front.len()];
            let fits = if self.prefix { end.starts_with(last.as_str()) } else { end == last };
            (fits && window[..front.len()] == *front).then_some(position)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn finds(query: &str, text: &str, expected: bool) {
        assert_eq!(
            Terms::parse(query, false).count(text).is_hit(),
            expected,
            "{query:?} in {text:?}"
        );
    }

    #[test]
    fn all_phrases_must_be_there_in_any_order() {
        finds("lisbon friday", "Friday: two tickets to Lisbon.", true);
        finds("lisbon sunday", "Friday: two tickets to Lisbon.", false);
        finds("what's up?", "So what's up", true);
        finds("what's up?", "what is it with this s up there", false);
        finds("foo:bar", "a foo bar b", true);
        finds("foo:bar", "a foo b bar", false);
        finds("京东", "我住在北京东边", true);
        finds("京东", "北京 在东边", false);
        finds("\" OR 1=1 --", "or 1 1", true);
        finds("", "anything", false);
        finds("…", "anything", false);
    }

    #[test]
    fn a_prefix_is_the_last_word_alone() {
        let terms = Terms::parse("two tick", true);
        assert!(terms.count("tickets for two").is_hit());
        assert!(!terms.count("tickets for twofold").is_hit());
    }
}
