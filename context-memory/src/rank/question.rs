//! What a question asks, taken apart once.

use std::collections::HashMap;
use std::ops::Range;

use context_core::Timestamp;
use context_core::base::limits;
use context_store_kit::search;

use super::cues::{self, Cue};
use super::times::{self, Span};
use crate::words;

/// Words, as they are indexed, that say how something is asked and not what about, in order.
const ASKING: &[&str] = &[
    "ever", "give", "kind", "know", "long", "mani", "many", "much", "often", "pleas", "rememb",
    "remember", "sort", "tell", "typ", "type",
];

/// How many short forms of names are looked for.
const SHORT_NAMES: usize = 12;

/// A question.
#[derive(Debug)]
pub(crate) struct Question {
    /// Its words, as records are indexed by them, each once.
    pub(crate) words: Vec<String>,
    /// Where each of them stands among them.
    pub(super) places: HashMap<String, usize>,
    /// Pairs of words that follow each other.
    pub(super) pairs: Vec<(usize, usize)>,
    pub(super) cues: Vec<Cue>,
    /// What two to four words that follow each other may be written as in short, and the places of
    /// these words.
    pub(super) short: HashMap<String, Vec<usize>>,
    /// The places of what is written in short itself: two to four capitals.
    pub(super) capitals: HashMap<String, usize>,
    pub(super) spans: Vec<Span>,
    /// All its words, folded: for the names of speakers.
    said: Vec<String>,
    /// Whether it asks for how things are now.
    pub(super) asks_for_newest: bool,
}

impl Question {
    /// The words by which records are looked for: its own, and what several of them may be written
    /// as in short.
    pub(crate) fn looked_for(&self) -> Vec<String> {
        let mut wanted = self.words.clone();
        let mut short: Vec<_> =
            self.short.keys().filter(|short| !self.places.contains_key(*short)).collect();
        short.sort();
        wanted.extend(short.into_iter().take(SHORT_NAMES).cloned());
        wanted.truncate(limits::MAX_MEMORY_TERMS);
        wanted
    }

    /// Reads a question that was asked then.
    pub(crate) fn new(text: &str, asked_at: Option<Timestamp>) -> Self {
        let mut places = HashMap::new();
        let mut kept = Vec::new();
        let mut order = Vec::new();
        let all: Vec<String> = words::content_words(text).collect();
        let asks = |word: &String| ASKING.binary_search(&word.as_str()).is_ok();
        // A question of nothing else is about that.
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
        let said: Vec<String> = search::words(text).map(|word| word.folded).collect();
        let asks_for_newest = said.iter().any(|word| {
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
            said,
            asks_for_newest,
        }
    }

    /// Whether it names a speaker, by any part of their name.
    pub(super) fn names(&self, speaker: &str) -> bool {
        search::words(speaker).any(|word| word.folded.len() > 1 && self.said.contains(&word.folded))
    }
}

/// The initials of all runs of two to four words, with where these stand: `emergency room` is `er`.
/// Not those that are words which say nothing.
pub(super) fn initials<'a>(words: &'a [&str]) -> impl Iterator<Item = (String, Range<usize>)> + 'a {
    let run = |at: usize, length: usize| {
        let run = words.get(at..at + length)?;
        let first = run.iter().map(|word| word.chars().next().filter(char::is_ascii_lowercase));
        let short = first.collect::<Option<String>>().filter(|short| !words::is_stop(short))?;
        Some((short, at..at + length))
    };
    (2..=4).flat_map(move |length| (0..words.len()).filter_map(move |at| run(at, length)))
}

/// What is written in capitals alone: two to four of them.
pub(super) fn capitals(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| is_short(word))
}

/// Whether a word is written in two to four capitals.
pub(super) fn is_short(word: &str) -> bool {
    (2..=4).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_uppercase())
}
