//! What a person typed, as the words to look for.

use super::words::words;

/// Words that must follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Phrase {
    /// The folded words; never empty.
    pub words: Vec<String>,
    /// Whether the last word may be the beginning of one.
    pub prefix: bool,
}

/// The phrases of a query: all of them must be in a text.
///
/// ```
/// use context_store_kit::search::Terms;
///
/// let typed = Terms::parse("CAFÉ lisb", true); // as somebody types
/// assert!(typed.count("A cafe in Lisbon").is_hit());
/// assert!(!typed.count("A cafe in Porto").is_hit());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    phrases: Vec<Phrase>,
}

impl Terms {
    /// Reads what a person typed. With `prefix` the last word may be the beginning of one.
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

    /// The phrases, each once, in the order they were typed.
    pub fn phrases(&self) -> &[Phrase] {
        &self.phrases
    }

    /// Whether there is nothing to look for; then nothing is found.
    pub fn is_empty(&self) -> bool {
        self.phrases.is_empty()
    }

    /// How many words a text has and how often each phrase is in it.
    pub fn count(&self, text: &str) -> Count {
        let words: Vec<_> = words(text).map(|word| word.folded).collect();
        let phrases = self.phrases.iter().map(|phrase| phrase.places(&words).count()).collect();
        Count { words: words.len(), phrases }
    }
}

/// What of a query is in a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Count {
    /// How many words the text has.
    pub words: usize,
    /// How often each phrase is in it.
    pub phrases: Vec<usize>,
}

impl Count {
    /// Whether all phrases are there, and there is one.
    pub fn is_hit(&self) -> bool {
        !self.phrases.is_empty() && self.phrases.iter().all(|count| *count > 0)
    }
}

impl Phrase {
    /// Where in a list of folded words the phrase begins.
    pub(super) fn places<'a>(&'a self, words: &'a [String]) -> impl Iterator<Item = usize> + 'a {
        let (last, front) = self.words.split_last().expect("a phrase has words");
        words.windows(self.words.len()).enumerate().filter_map(move |(place, window)| {
            let end = &window[front.len()];
            let fits = if self.prefix { end.starts_with(last.as_str()) } else { end == last };
            (fits && window[..front.len()] == *front).then_some(place)
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
