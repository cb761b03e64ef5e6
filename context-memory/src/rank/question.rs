//! Parsing a question.

use std::collections::HashMap;
use std::ops::Range;

use context_core::Timestamp;
use context_core::base::limits;
use context_store_kit::search;

use super::cues::{self, Cue};
use super::times::{self, Span};
use crate::words;

/// Index words that say how something is asked rather than what about, sorted.
const ASKING: &[&str] = &[
    "ever", "give", "kind", "know", "long", "mani", "many", "much", "often", "pleas", "rememb",
    "remember", "sort", "tell", "typ", "type",
];

/// The number of abbreviations that are searched.
const SHORT_NAMES: usize = 12;

/// A parsed question.
#[derive(Debug)]
pub(crate) struct Question {
    /// The index words, without duplicates.
    pub(crate) words: Vec<String>,
    /// The position of each word in `words`.
    pub(super) places: HashMap<String, usize>,
    /// Pairs of consecutive words.
    pub(super) pairs: Vec<(usize, usize)>,
    pub(super) cues: Vec<Cue>,
    /// Abbreviations of two to four consecutive words, with the positions of those words.
    pub(super) short: HashMap<String, Vec<usize>>,
    /// The positions of abbreviations in the question: two to four capitals.
    pub(super) capitals: HashMap<String, usize>,
    pub(super) spans: Vec<Span>,
    /// All words, folded, for the names of speakers.
    folded_words: Vec<String>,
    /// Whether the question asks for the current state.
    pub(super) asks_for_newest: bool,
}

impl Question {
    /// Returns the words to search for: the question's words and their abbreviations.
    pub(crate) fn looked_for(&self) -> Vec<String> {
        let mut wanted = self.words.clone();
        let mut short: Vec<_> =
            self.short.keys().filter(|short| !self.places.contains_key(*short)).collect();
        short.sort();
        wanted.extend(short.into_iter().take(SHORT_NAMES).cloned());
        wanted.truncate(limits::MAX_MEMORY_TERMS);
        wanted
    }

    /// Parses a question. `asked_at` is the time of the question.
    pub(crate) fn new(text: &str, asked_at: Option<Timestamp>) -> Self {
        let mut places = HashMap::new();
        let mut kept = Vec::new();
        let mut order = Vec::new();
        let all: Vec<String> = words::content_words(text).collect();
        let asks = |word: &String| ASKING.binary_search(&word.as_str()).is_ok();
        // A question that has no other words is about these.
        let only_asks = all.iter().all(asks);
        for word in all.into_iter().filter(|word| only_asks || !asks(word)) {
            let next = kept.len();
            if next == limits::MAX_MEMORY_TERMS && !places.contains_key(&word) {
                continue;
            }
            let place = *places.entry(word.clone()).or_insert(next);
            if place == next {
                kept.push(word);
            }
            order.push(place);
        }
        let pairs =
            order.windows(2).map(|pair| (pair[0], pair[1])).filter(|(a, b)| a != b).collect();
        let of_words: Vec<&str> = order.iter().map(|place| kept[*place].as_str()).collect();
        let short = initials(&of_words).map(|(short, at)| (short, order[at].to_vec())).collect();
        let capitals = capitals(text).map(str::to_lowercase);
        let capitals = capitals
            .filter_map(|word| {
                places.get(words::stem(&word).as_ref()).map(|at| (word.clone(), *at))
            })
            .collect();
        let folded_words: Vec<String> = search::words(text).map(|word| word.folded).collect();
        let asks_for_newest = folded_words.iter().any(|word| {
            matches!(
                word.as_str(),
                "now" | "current" | "currently" | "latest" | "recent" | "recently" | "still"
            )
        });
        Self {
            pairs,
            cues: cues::asked(text),
            short,
            capitals,
            spans: times::named(text, asked_at),
            words: kept,
            places,
            folded_words,
            asks_for_newest,
        }
    }

    /// Returns whether the question contains any part of a speaker's name.
    pub(super) fn names(&self, speaker: &str) -> bool {
        search::words(speaker)
            .any(|word| word.folded.len() > 1 && self.folded_words.contains(&word.folded))
    }
}

/// Returns the initials of all runs of two to four words, with their positions: `emergency room`
/// gives `er`. Initials that are stop words are left out.
pub(super) fn initials<'a>(words: &'a [&str]) -> impl Iterator<Item = (String, Range<usize>)> + 'a {
    let run = |at: usize, length: usize| {
        let run = words.get(at..at + length)?;
        let first = run.iter().map(|word| word.chars().next().filter(char::is_ascii_lowercase));
        let short = first.collect::<Option<String>>().filter(|short| !words::is_stop(short))?;
        Some((short, at..at + length))
    };
    (2..=4).flat_map(move |length| (0..words.len()).filter_map(move |at| run(at, length)))
}

/// Returns the words of two to four capitals.
pub(super) fn capitals(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| is_short(word))
}

/// Returns whether a word consists of two to four capitals.
pub(super) fn is_short(word: &str) -> bool {
    (2..=4).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_uppercase())
}
