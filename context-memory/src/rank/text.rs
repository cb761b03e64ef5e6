//! The match of a text's words with a question.

use std::collections::HashSet;

use context_core::store::Bm25;
use context_store_kit::search;

use super::question::{Question, initials, is_short};
use super::sentences::sentences;
use super::{cues, question};
use crate::words;

/// The weight of sentence length. Lower than for records, since a long sentence says more about one
/// thing.
const SENTENCE_B: f64 = 0.35;
/// The factor by which a sentence with all answer types gains.
const CUES: f64 = 1.0;
/// The weight of a speaker's name within a text, compared with other words. The speaker counts by
/// itself, and a text that greets somebody says little about them.
const NAME: f64 = 0.3;

/// The words of a question: the number of texts that have each, and its weight.
#[derive(Debug)]
pub(crate) struct Weights<'a> {
    bm25: &'a Bm25,
    /// The same for the related words, if they were searched.
    related: Option<&'a Bm25>,
    /// The weight of each of the question's words.
    words: Vec<f64>,
    /// The average number of words in a sentence.
    sentence: f64,
}

impl<'a> Weights<'a> {
    /// `speakers` are those of the candidates, `texts` what they said.
    pub(super) fn new<'b>(
        question: &Question,
        bm25: &'a Bm25,
        related: Option<&'a Bm25>,
        speakers: impl Iterator<Item = &'b str>,
        texts: impl Iterator<Item = &'b str>,
    ) -> Self {
        let mut words = vec![1.0; question.words.len()];
        for name in speakers.filter(|speaker| !question::is_role(speaker)).flat_map(search::words) {
            if let Some(place) = question.places.get(words::stem(&name.folded).as_ref()) {
                words[*place] = NAME;
            }
        }
        let (mut count, mut length) = (0_u64, 0_u64);
        for sentence in texts.flat_map(sentences) {
            count += 1;
            length += sentence.split_whitespace().count() as u64;
        }
        let sentence = (length as f64 / count.max(1) as f64).max(1.0);
        Self { bm25, related, words, sentence }
    }

    /// Returns the score of a text by its words. A word of the question counts by itself or by the
    /// best of the words that are related to it.
    fn score(&self, question: &Question, b: f64, length: f64, counts: &Counts) -> f64 {
        // The score of one word alone.
        let score = |bm25: &Bm25, at: usize, count: u32| {
            bm25.score_with(b, length, std::iter::repeat_n(0, at).chain([count]))
        };
        let own = counts.own.iter().enumerate();
        let mut scores: Vec<f64> =
            own.map(|(place, count)| score(self.bm25, place, *count)).collect();
        for (at, count) in &counts.related {
            let Some(bm25) = self.related else { break };
            let score = score(bm25, *at, *count);
            for (place, weight) in &question.related[*at].of {
                scores[*place] = scores[*place].max(weight * score);
            }
        }
        scores.iter().zip(&self.words).fold(0.0, |sum, (score, weight)| sum + score * weight)
    }
}

/// The scores of one text.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TextScores {
    /// The BM25 of the whole record.
    pub(super) whole: f64,
    /// The best sentence, by BM25 and answer types.
    pub(super) sentence: f64,
    /// The best sentence that is a question, by BM25.
    pub(super) asked: f64,
    /// The share of the question's word pairs that are also consecutive in the text, from 0 to 1.
    pub(super) pairs: f64,
    /// Whether the text says `I`, `my`, `we` and the like.
    pub(super) first_person: bool,
    /// Whether the text ends with a question.
    pub(super) asks: bool,
}

impl TextScores {
    pub(super) fn of(question: &Question, weights: &Weights<'_>, text: &str) -> Self {
        let mut scores = Self::default();
        let mut whole = Counts::none(question);
        let mut words = 0;
        for sentence in sentences(text) {
            let counts = Counts::of(question, sentence);
            words += counts.length;
            let length = sentence.split_whitespace().count() as f64 / weights.sentence;
            let by_words = weights.score(question, SENTENCE_B, length, &counts);
            scores.asks = sentence.ends_with(['?', '？']);
            if by_words > 0.0 {
                let score = by_words * (1.0 + CUES * cues::share(&question.cues, sentence));
                scores.sentence = scores.sentence.max(score);
                if scores.asks {
                    scores.asked = scores.asked.max(by_words);
                }
            }
            if !question.pairs.is_empty() {
                let share = counts.pairs as f64 / question.pairs.len() as f64;
                scores.pairs = scores.pairs.max(share);
            }
            scores.first_person |= counts.first_person;
            whole.add(counts);
        }
        let length = words as f64 / weights.bm25.average();
        scores.whole = weights.score(question, Bm25::B, length, &whole);
        scores
    }
}

/// The words of a question that a text contains.
struct Counts {
    /// The count of each word. An abbreviation counts for each of its words.
    own: Vec<u32>,
    /// The related words that occur, each with its index and its count.
    related: Vec<(usize, u32)>,
    /// The number of word pairs.
    pairs: usize,
    /// The number of content words.
    length: u64,
    first_person: bool,
}

impl Counts {
    fn none(question: &Question) -> Self {
        let own = vec![0; question.words.len()];
        Self { own, related: Vec::new(), pairs: 0, length: 0, first_person: false }
    }

    fn of(question: &Question, sentence: &str) -> Self {
        let mut counts = Self::none(question);
        let mut follow = HashSet::new();
        let mut before = None;
        let mut kept: Vec<search::Word> = Vec::new();
        for word in search::words(sentence) {
            if words::is_stop(&word.folded) {
                counts.first_person |= question::is_first_person(&word.folded);
            } else {
                kept.push(word);
            }
        }
        for word in &kept {
            let stem = words::stem(&word.folded);
            let place = question.places.get(stem.as_ref()).copied();
            if let Some(place) = place {
                counts.own[place] += 1;
            } else if is_short(&sentence[word.range.clone()])
                && let Some(places) = question.short.get(&word.folded)
            {
                places.iter().for_each(|place| counts.own[*place] += 1);
            } else if let Some(at) = question.related_places.get(stem.as_ref()) {
                counts.add_related(*at, 1);
            }
            if let (Some(before), Some(place)) = (before, place)
                && question.pairs.contains(&(before, place))
            {
                follow.insert((before, place));
            }
            before = place;
        }
        if !question.capitals.is_empty() {
            let folded: Vec<&str> = kept.iter().map(|word| word.folded.as_str()).collect();
            for (short, _) in initials(&folded) {
                if let Some(place) = question.capitals.get(&short) {
                    counts.own[*place] += 1;
                }
            }
        }
        counts.pairs = follow.len();
        counts.length = kept.len() as u64;
        counts
    }

    fn add(&mut self, other: Self) {
        self.own.iter_mut().zip(&other.own).for_each(|(count, other)| *count += other);
        other.related.into_iter().for_each(|(at, count)| self.add_related(at, count));
    }

    fn add_related(&mut self, at: usize, more: u32) {
        match self.related.iter_mut().find(|(known, _)| *known == at) {
            Some((_, count)) => *count += more,
            None => self.related.push((at, more)),
        }
    }
}
