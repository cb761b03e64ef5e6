//! Words that are related to a question's words: `instrument` to `guitar`, `adopt` to `adoption`.
//!
//! A memory often has another word than the question. The general vocabulary `related.txt` has
//! everyday English words, each with words of similar meaning and, for kinds of things, with things
//! of that kind. It is not specific to any data, and other languages have no entries.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::words;

/// The vocabulary: lines of a word and the words that are related to it.
const VOCABULARY: &str = include_str!("related.txt");

/// The weight of a related word compared with the question's own word.
const RELATED: f64 = 0.5;
/// The weight of a word whose entry names the question's word.
const BACK: f64 = 0.35;
/// The weight of a word of the same root.
const SAME_ROOT: f64 = 0.8;

/// The shortest root in bytes.
const SHORTEST: usize = 4;

/// The endings that words of one root differ in. They are those of index words, which have lost
/// their inflection.
const ENDINGS: &[&str] = &[
    "ation", "ment", "ness", "ship", "ence", "ance", "ful", "ist", "ian", "ity", "ive", "ous",
    "ion", "age", "ant", "ent", "al", "er", "or", "ic", "i",
];
/// The endings that are tried to find other words of a root.
const TRIED: &[&str] = &["", "er", "or", "ion", "ation", "ment", "ist", "ian", "al", "ic", "i"];

/// Related index words with their weights, by index word and by root.
static RELATIONS: LazyLock<HashMap<String, Vec<(String, f64)>>> = LazyLock::new(|| {
    let mut relations: HashMap<String, Vec<(String, f64)>> = HashMap::new();
    for (word, others) in VOCABULARY.lines().filter_map(|line| line.split_once(':')) {
        let word = words::stem(word);
        for other in others.split_whitespace().map(words::stem) {
            let mut add = |key: &str, other: &str, weight| {
                relations.entry(key.to_owned()).or_default().push((other.to_owned(), weight));
            };
            add(&other, &word, BACK);
            add(&word, &other, RELATED);
            roots(&word).for_each(|root| add(root, &other, RELATED));
        }
    }
    relations
});

/// Returns the index words that are related to an index word, each with its weight, from 0 to 1.
/// First come those of the vocabulary.
pub(super) fn related(word: &str) -> Vec<(String, f64)> {
    let mut found: Vec<(String, f64)> = Vec::new();
    let mut add = |other: &str, weight: f64| {
        if other != word {
            match found.iter_mut().find(|(known, _)| known == other) {
                Some((_, known)) => *known = known.max(weight),
                None => found.push((other.to_owned(), weight)),
            }
        }
    };
    for key in std::iter::once(word).chain(roots(word)) {
        for (other, weight) in RELATIONS.get(key).into_iter().flatten() {
            // What names a root says little of its other words.
            if key == word || *weight == RELATED {
                add(other, *weight);
            }
        }
    }
    if word.len() >= SHORTEST && word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        for root in roots(word).chain([word]) {
            for ending in TRIED {
                add(&words::stem(&format!("{root}{ending}")), SAME_ROOT);
            }
        }
    }
    found
}

/// Returns what an index word may be formed from.
fn roots(word: &str) -> impl Iterator<Item = &str> {
    let without = |ending: &&str| word.strip_suffix(*ending).filter(|rest| rest.len() >= SHORTEST);
    ENDINGS.iter().filter_map(without).chain(undoubled(word))
}

/// Returns `travel` for `travell`, the index word of `travelling`.
fn undoubled(word: &str) -> Option<&str> {
    match word.as_bytes() {
        [_, _, _, .., a, b] if a == b && matches!(b, b'l' | b's' | b'z') => {
            word.get(..word.len() - 1)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn relates(word: &str, other: &str) {
        let related = related(&words::stem(word));
        assert!(
            related.iter().any(|(found, _)| *found == words::stem(other)),
            "{word}: {related:?}"
        );
    }

    #[test]
    fn a_question_finds_similar_words_things_of_a_kind_and_forms_of_a_root() {
        relates("instrument", "guitar");
        relates("profession", "teacher");
        relates("physician", "doctor");
        relates("adoption", "adopt");
        relates("teach", "teacher");
        relates("travelling", "travel");
        assert_eq!(related("北"), []);
        assert!(related("zzyzx").iter().all(|(_, weight)| *weight == SAME_ROOT));
    }

    #[test]
    fn each_line_is_a_word_and_its_relations_in_order() {
        let mut before = "";
        for line in VOCABULARY.lines() {
            let (word, others) = line.split_once(": ").unwrap();
            assert!(before <= word, "{line}");
            before = word;
            for other in others.split(' ') {
                let is_word = !other.is_empty() && other.bytes().all(|b| b.is_ascii_lowercase());
                assert!(is_word && !words::is_stop(other) && other != word, "{line}: {other:?}");
            }
        }
    }
}
