//! The index words of memories: split and folded as in search, without stop words and inflection.
//!
//! The rules are for English. Words of other languages, and scripts without spaces, mostly pass
//! through unchanged. The results are not for display; they only have to be equal for all forms of
//! a word.

mod irregular;

use std::borrow::Cow;

use context_core::base::limits;
use context_store_kit::search;

/// The longest index word in bytes. Longer strings are not words.
const LONGEST: usize = 64;

/// Stop words, sorted.
const STOP: &[&str] = &[
    "a", "about", "after", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be",
    "because", "been", "before", "being", "but", "by", "can", "could", "did", "do", "does",
    "doing", "done", "for", "from", "had", "has", "have", "having", "he", "her", "hers", "him",
    "his", "how", "i", "if", "in", "into", "is", "it", "its", "just", "ll", "m", "may", "me",
    "might", "mine", "my", "myself", "no", "nor", "not", "of", "on", "or", "our", "ours", "out",
    "own", "re", "s", "shall", "she", "should", "so", "some", "such", "t", "than", "that", "the",
    "their", "theirs", "them", "then", "there", "these", "they", "this", "those", "to", "too",
    "us", "ve", "very", "was", "we", "were", "what", "when", "where", "which", "while", "who",
    "whom", "whose", "why", "will", "with", "would", "you", "your", "yours",
];

/// Returns whether a folded word is a stop word.
pub fn is_stop(word: &str) -> bool {
    STOP.binary_search(&word).is_ok()
}

/// Removes the inflection of a folded word: plurals, `-ed`, `-ing`, `-ly`, and forms of irregular
/// verbs and nouns.
pub fn stem(word: &str) -> Cow<'_, str> {
    if !word.bytes().all(|byte| byte.is_ascii_lowercase()) || word.len() < 3 {
        return Cow::Borrowed(word);
    }
    if let Some(regular) = irregular::regular(word) {
        return end(regular);
    }
    let (rest, is_verb) = strip(word);
    let mut rest = end(rest);
    // `planned` and `planning` are forms of `plan`, but `calling` is one of `call`.
    let bytes = rest.as_bytes();
    if is_verb
        && let [.., a, b] = bytes
        && a == b
        && !matches!(b, b'l' | b's' | b'z' | b'e' | b'o')
    {
        let shorter = rest.len() - 1;
        rest = match rest {
            Cow::Borrowed(text) => Cow::Borrowed(&text[..shorter]),
            Cow::Owned(text) => Cow::Owned(text[..shorter].to_owned()),
        };
    }
    rest
}

/// Returns a word without its ending, and whether it was a verb ending.
fn strip(word: &str) -> (&str, bool) {
    let without = |suffix: &str| {
        let rest = word.strip_suffix(suffix)?;
        let has_vowel =
            rest.bytes().any(|byte| matches!(byte, b'a' | b'e' | b'i' | b'o' | b'u' | b'y'));
        (rest.len() >= 2 && has_vowel).then_some(rest)
    };
    for suffix in ["ies", "ied"] {
        if let Some(rest) = without(suffix).filter(|rest| rest.len() >= 2) {
            // Keeps the `i`, which a final `y` becomes too.
            return (&word[..rest.len() + 1], false);
        }
    }
    for suffix in ["ingly", "edly", "ing", "ed"] {
        if let Some(rest) = without(suffix) {
            return (rest, true);
        }
    }
    for suffix in ["sses", "shes", "ches", "xes", "zes"] {
        if without(suffix).is_some() {
            return (&word[..word.len() - 2], false);
        }
    }
    if let Some(rest) = without("ly").filter(|rest| rest.len() >= 4) {
        return (rest, false);
    }
    let is_plural =
        word.ends_with('s') && !["ss", "us", "is"].iter().any(|end| word.ends_with(end));
    if is_plural && word.len() > 3 { (&word[..word.len() - 1], false) } else { (word, false) }
}

/// Removes a silent `e` and turns a final `y` into `i`, so that the base form equals what remains
/// of an inflected form.
fn end(word: &str) -> Cow<'_, str> {
    match word.as_bytes() {
        [_, _, .., b'e'] => Cow::Borrowed(&word[..word.len() - 1]),
        [.., before, b'y']
            if word.len() > 2 && !matches!(before, b'a' | b'e' | b'i' | b'o' | b'u') =>
        {
            Cow::Owned(format!("{}i", &word[..word.len() - 1]))
        }
        _ => Cow::Borrowed(word),
    }
}

/// Returns the index words of a text, in order.
pub fn content_words(text: &str) -> impl Iterator<Item = String> {
    search::words(text)
        .filter(|word| !is_stop(&word.folded) && word.folded.len() <= LONGEST)
        .map(|word| stem(&word.folded).into_owned())
}

/// Returns the index words of a text joined by spaces, at most as many as a record may have.
pub fn index_words(text: &str) -> String {
    let mut words = String::with_capacity(text.len());
    for word in content_words(text).take(limits::MAX_MEMORY_WORDS) {
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(&word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stop_words_are_in_order() {
        assert!(STOP.is_sorted());
        assert!(is_stop("the") && is_stop("yours") && is_stop("a") && !is_stop("hotel"));
    }

    #[test]
    fn forms_of_a_word_are_one() {
        for forms in [
            &["hotel", "hotels"][..],
            &["study", "studies", "studied", "studying"],
            &["plan", "plans", "planned", "planning"],
            &["hope", "hopes", "hoped", "hoping"],
            &["call", "calls", "called", "calling"],
            &["pass", "passes", "passed", "passing"],
            &["box", "boxes"],
            &["watch", "watches", "watched"],
            &["buy", "buys", "bought", "buying"],
            &["go", "goes", "went", "gone", "going"],
            &["child", "children"],
            &["recent", "recently"],
            &["city", "cities"],
        ] {
            let stems: Vec<_> = forms.iter().map(|form| stem(form)).collect();
            assert!(stems.iter().all(|stem| *stem == stems[0]), "{forms:?}: {stems:?}");
        }
        let different =
            [("bus", "bu"), ("this", "thi"), ("red", "r"), ("sing", "s"), ("news", "new2")];
        assert!(different.iter().all(|(word, bad)| stem(word) != *bad));
        assert_eq!(
            (stem("2023"), stem("北"), stem("ok")),
            ("2023".into(), "北".into(), "ok".into())
        );
    }

    #[test]
    fn what_is_indexed_are_words_that_a_record_may_have() {
        assert_eq!(index_words("The hotels in Lisbon — were they booked?"), "hotel lisbon book");
        assert_eq!(index_words("…"), "");
        assert_eq!(index_words(&"x".repeat(1_000)).len(), LONGEST);
    }
}
