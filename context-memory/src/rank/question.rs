//! Parsing a question.

use std::collections::HashMap;
use std::ops::Range;

use context_core::Timestamp;
use context_core::base::limits;
use context_store_kit::search;

use super::cues::{self, Cue};
use super::related::related;
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
    /// Words that are related to them, without abbreviations and the words themselves.
    pub(super) related: Vec<Related>,
    /// The position of each related word in `related`.
    pub(super) related_places: HashMap<String, usize>,
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
    /// Whether the user asks about themselves.
    pub(super) asks_of_self: bool,
}

/// A word that is related to words of a question.
#[derive(Debug)]
pub(super) struct Related {
    /// The index word.
    word: String,
    /// The positions of the words that it is related to, each with its weight.
    pub(super) of: Vec<(usize, f64)>,
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

    /// Returns the related words to search for. Each adds to the score of the words that it is
    /// related to.
    pub(crate) fn related(&self) -> Vec<String> {
        self.related.iter().map(|related| related.word.clone()).collect()
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
        let asks_of_self = folded_words.iter().any(|word| is_first_person(word))
            && !folded_words.windows(2).any(|pair| {
                pair[1] == "you" && matches!(pair[0].as_str(), "did" | "had" | "have" | "were")
            });
        let related = all_related(&kept, &places);
        let related_places =
            related.iter().enumerate().map(|(at, related)| (related.word.clone(), at)).collect();
        Self {
            related,
            related_places,
            asks_of_self,
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

/// Returns the words that are related to the words of a question, as many as may be searched. All
/// words get an equal share.
fn all_related(words: &[String], places: &HashMap<String, usize>) -> Vec<Related> {
    let mut each: Vec<_> = words.iter().map(|word| related(word).into_iter()).collect();
    let mut found: Vec<Related> = Vec::new();
    let mut more = true;
    while more {
        more = false;
        for (place, related) in each.iter_mut().enumerate() {
            let Some((word, weight)) = related.find(|(word, _)| !places.contains_key(word)) else {
                continue;
            };
            more = true;
            match found.iter().position(|known| known.word == word) {
                Some(known) => found[known].of.push((place, weight)),
                None if found.len() == limits::MAX_MEMORY_TERMS => return found,
                None => found.push(Related { word, of: vec![(place, weight)] }),
            }
        }
    }
    found
}

/// Returns whether a folded word is one that speakers use for themselves.
pub(super) fn is_first_person(word: &str) -> bool {
    matches!(word, "i" | "me" | "mine" | "my" | "myself" | "our" | "ours" | "us" | "we")
}

/// Returns whether a speaker is a role rather than a name.
pub(super) fn is_role(speaker: &str) -> bool {
    matches!(speaker, "user" | "assistant" | "system" | "tool")
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
