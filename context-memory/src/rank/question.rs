//! What a question asks, taken apart once.

use std::collections::HashMap;

use context_core::{Timestamp, limits, search};

use super::cues::{self, Cue};
use super::times::{self, Span};
use crate::words;

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
    /// Initials of words that follow each other, and what is written in capitals.
    pub(super) initials: Vec<String>,
    pub(super) capitals: Vec<String>,
    pub(super) spans: Vec<Span>,
    /// All its words, folded: for the names of speakers.
    said: Vec<String>,
    /// Whether it asks for how things are now.
    pub(super) asks_for_newest: bool,
}

impl Question {
    /// Reads a question that was asked then.
    pub(crate) fn new(text: &str, asked_at: Option<Timestamp>) -> Self {
        let mut places = HashMap::new();
        let mut kept = Vec::new();
        let mut order = Vec::new();
        for word in words::content_words(text) {
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
        let pairs = order.windows(2).map(|pair| (pair[0], pair[1])).filter(|(a, b)| a != b).collect();
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
            initials: initials(text),
            capitals: capitals(text).map(str::to_lowercase).collect(),
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

/// The initials of all runs of two to five words: `emergency room` is `er`.
pub(super) fn initials(text: &str) -> Vec<String> {
    let first: Vec<Option<char>> =
        search::words(text).map(|word| word.folded.chars().next().filter(char::is_ascii_lowercase)).collect();
    let mut runs = Vec::new();
    for length in 2..=5 {
        runs.extend(first.windows(length).filter_map(|run| run.iter().copied().collect::<Option<String>>()));
    }
    runs
}

/// What is written in capitals alone: two to five of them.
pub(super) fn capitals(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| (2..=5).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_uppercase()))
}
