//! The score of a record.

use std::collections::HashSet;

use context_core::memory::StoredMemory;
use context_core::store::{Bm25, MemoryHit};
use context_store_kit::search;

use super::cues;
use super::question::{Question, initials, is_short};
use super::sentences::sentences;
use crate::words;

/// The weight of sentence length. Lower than for records, since a long sentence says more about one
/// thing.
const SENTENCE_B: f64 = 0.35;
/// The weight of the best sentence relative to the whole record.
const SENTENCE: f64 = 0.5;
/// The factor by which a sentence with all answer types gains.
const CUES: f64 = 1.0;
/// Weights of features other than words, as shares of the best score by words.
const PAIR: f64 = 0.1;
const SPEAKER: f64 = 0.2;
const TIME: f64 = 0.2;
const NEIGHBOUR: f64 = 0.15;
const REPLY: f64 = 0.5;
const NEWEST: f64 = 0.02;
const NEWEST_IF_ASKED: f64 = 0.15;

/// A candidate record with its neighbours.
#[derive(Debug)]
pub(crate) struct Candidate {
    pub(crate) hit: MemoryHit,
    /// The records before and after it in its session.
    pub(crate) beside: Vec<StoredMemory>,
    /// The score, once computed.
    pub(crate) score: f64,
    /// Whether the record matches by its own words, or by those of the question before it.
    pub(crate) fits: bool,
}

impl Candidate {
    pub(crate) fn new(hit: MemoryHit) -> Self {
        Self { hit, beside: Vec::new(), score: 0.0, fits: false }
    }

    /// Returns the text.
    pub(crate) fn text(&self) -> &str {
        &self.hit.stored.record.text
    }
}

/// The scores of one text.
#[derive(Debug, Default)]
struct TextScores {
    /// The BM25 of the whole record.
    whole: f64,
    /// The best sentence, by BM25 and answer types.
    sentence: f64,
    /// The share of the question's word pairs that are also consecutive in the text, from 0 to 1.
    pairs: f64,
}

/// Computes the scores of all candidates in place.
pub(crate) fn score(question: &Question, bm25: &Bm25, candidates: &mut [Candidate]) {
    let length = average_sentence(candidates);
    let scores: Vec<TextScores> = candidates
        .iter()
        .map(|candidate| text_scores(question, bm25, length, candidate.text()))
        .collect();
    let best = scores.iter().map(|scores| scores.whole).fold(f64::MIN_POSITIVE, f64::max);
    let best_sentence =
        scores.iter().map(|scores| scores.sentence).fold(f64::MIN_POSITIVE, f64::max);
    let named = candidates.iter().any(|candidate| is_named(question, candidate));
    let weight = if question.asks_for_newest { NEWEST_IF_ASKED } else { NEWEST };
    let (oldest, span) = lifetime(candidates);
    for (candidate, scores) in candidates.iter_mut().zip(&scores) {
        let record = &candidate.hit.stored.record;
        let mut score =
            (1.0 - SENTENCE) * scores.whole / best + SENTENCE * scores.sentence / best_sentence;
        score += PAIR * scores.pairs;
        score += if named && is_named(question, candidate) { SPEAKER } else { 0.0 };
        score += if question.spans.iter().any(|span| span.has(record.at)) { TIME } else { 0.0 };
        score += weight * (record.at.as_micros().saturating_sub(oldest)) as f64 / span;
        score += NEIGHBOUR * neighbours(question, bm25, &candidate.beside) / best;
        let asked = asked_before(question, bm25, length, candidate);
        score += REPLY * asked / best_sentence;
        candidate.fits = scores.whole > 0.0 || asked > 0.0 || candidate.hit.score > 0.0;
        candidate.score = score;
    }
}

fn is_named(question: &Question, candidate: &Candidate) -> bool {
    candidate.hit.stored.record.speaker.as_deref().is_some_and(|speaker| question.names(speaker))
}

/// Returns the time of the oldest candidate, and the time span to the newest, at least 1.
fn lifetime(candidates: &[Candidate]) -> (i64, f64) {
    let times = || candidates.iter().map(|candidate| candidate.hit.stored.record.at.as_micros());
    let (oldest, newest) = (times().min().unwrap_or_default(), times().max().unwrap_or_default());
    (oldest, (newest.saturating_sub(oldest) as f64).max(1.0))
}

/// Returns the average number of words in a sentence.
fn average_sentence(candidates: &[Candidate]) -> f64 {
    let (mut count, mut length) = (0_u64, 0_u64);
    for candidate in candidates {
        for sentence in sentences(candidate.text()) {
            count += 1;
            length += sentence.split_whitespace().count() as u64;
        }
    }
    (length as f64 / count.max(1) as f64).max(1.0)
}

fn text_scores(question: &Question, bm25: &Bm25, average: f64, text: &str) -> TextScores {
    let mut scores = TextScores::default();
    let mut whole = vec![0; question.words.len()];
    let mut words = 0;
    for sentence in sentences(text) {
        let WordCounts { counts, pairs, length: content } = word_counts(question, sentence);
        words += content;
        whole.iter_mut().zip(&counts).for_each(|(whole, count)| *whole += count);
        let length = sentence.split_whitespace().count() as f64 / average;
        let by_words = bm25.score_with(SENTENCE_B, length, counts);
        if by_words > 0.0 {
            let score = by_words * (1.0 + CUES * cues::share(&question.cues, sentence));
            scores.sentence = scores.sentence.max(score);
        }
        if !question.pairs.is_empty() {
            scores.pairs = scores.pairs.max(pairs as f64 / question.pairs.len() as f64);
        }
    }
    scores.whole = bm25.score(words, whole);
    scores
}

/// The words of a question that a sentence contains.
struct WordCounts {
    /// The count of each word. An abbreviation counts for each of its words.
    counts: Vec<u32>,
    /// The number of word pairs.
    pairs: usize,
    /// The number of content words in the sentence.
    length: u64,
}

fn word_counts(question: &Question, sentence: &str) -> WordCounts {
    let mut counts = vec![0; question.words.len()];
    let mut follow = HashSet::new();
    let mut before = None;
    let kept: Vec<search::Word> =
        search::words(sentence).filter(|word| !words::is_stop(&word.folded)).collect();
    for word in &kept {
        let place = question.places.get(words::stem(&word.folded).as_ref()).copied();
        if let Some(place) = place {
            counts[place] += 1;
        } else if is_short(&sentence[word.range.clone()])
            && let Some(places) = question.short.get(&word.folded)
        {
            places.iter().for_each(|place| counts[*place] += 1);
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
                counts[*place] += 1;
            }
        }
    }
    WordCounts { counts, pairs: follow.len(), length: kept.len() as u64 }
}

/// Returns how well the preceding question of another speaker matches: a record may answer it
/// without sharing a word with it.
fn asked_before(question: &Question, bm25: &Bm25, average: f64, candidate: &Candidate) -> f64 {
    let own = &candidate.hit.stored;
    let before = candidate.beside.iter().rev().find(|stored| stored.place < own.place);
    let Some(before) = before.filter(|before| before.record.speaker != own.record.speaker) else {
        return 0.0;
    };
    let asked = sentences(&before.record.text).filter(|sentence| sentence.ends_with(['?', '？']));
    let fits = asked.map(|sentence| {
        let length = sentence.split_whitespace().count() as f64 / average;
        bm25.score_with(SENTENCE_B, length, word_counts(question, sentence).counts)
    });
    fits.fold(0.0, f64::max)
}

/// Returns the best score of the neighbouring records: a question and its answer are next to each
/// other.
fn neighbours(question: &Question, bm25: &Bm25, beside: &[StoredMemory]) -> f64 {
    let score = |stored: &StoredMemory| {
        let word_counts = word_counts(question, &stored.record.text);
        bm25.score(word_counts.length, word_counts.counts)
    };
    beside.iter().map(score).fold(0.0, f64::max)
}
