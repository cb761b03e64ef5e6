//! The score of a record.

use std::collections::HashMap;

use context_core::memory::StoredMemory;
use context_core::store::{Bm25, MemoryHit};

use super::question::Question;
use super::text::{TextScores, Weights};

/// The weight of the best sentence relative to the whole record.
const SENTENCE: f64 = 0.5;
/// Weights of features other than words, as shares of the best score by words.
const PAIR: f64 = 0.2;
const SPEAKER: f64 = 0.3;
/// A named speaker's words about themselves.
const OF_SELF: f64 = 0.2;
/// A record that ends with a question asks rather than tells.
const ASKS: f64 = -0.15;
const TIME: f64 = 0.2;
const NEIGHBOUR: f64 = 0.15;
/// The speaker's own words before the other's turn: they go on with them.
const SAID_BEFORE: f64 = 0.2;
const REPLY: f64 = 0.5;
const NEWEST: f64 = 0.02;
const NEWEST_IF_ASKED: f64 = 0.15;

/// A candidate record with its neighbours.
#[derive(Debug)]
pub(crate) struct Candidate {
    pub(crate) hit: MemoryHit,
    /// The records before and after it in its session, in order.
    pub(crate) beside: Vec<StoredMemory>,
    /// The scores of its text, once computed.
    own: Option<TextScores>,
    /// The score, once computed.
    pub(crate) score: f64,
    /// Whether the record matches by its own words, or by those of the records before it.
    pub(crate) fits: bool,
}

impl Candidate {
    pub(crate) fn new(hit: MemoryHit) -> Self {
        Self { hit, beside: Vec::new(), own: None, score: 0.0, fits: false }
    }

    /// Returns the text.
    pub(crate) fn text(&self) -> &str {
        &self.hit.stored.record.text
    }

    fn speaker(&self) -> Option<&str> {
        self.hit.stored.record.speaker.as_deref()
    }

    /// Returns the records before it, the last one first.
    pub(crate) fn before(&self) -> impl DoubleEndedIterator<Item = &StoredMemory> {
        self.beside.iter().rev().filter(|stored| stored.place < self.hit.stored.place)
    }

    /// Returns the records behind it in order.
    pub(crate) fn behind(&self) -> impl Iterator<Item = &StoredMemory> {
        self.beside.iter().filter(|stored| stored.place > self.hit.stored.place)
    }
}

/// Scores the candidates of a question.
pub(crate) struct Scorer<'a> {
    question: &'a Question,
    weights: Weights<'a>,
}

impl<'a> Scorer<'a> {
    /// Creates a scorer from the candidates that were found. `related` has the statistics of the
    /// related words, if they were searched.
    pub(crate) fn new(
        question: &'a Question,
        bm25: &'a Bm25,
        related: Option<&'a Bm25>,
        candidates: &[Candidate],
    ) -> Self {
        let speakers = candidates.iter().filter_map(Candidate::speaker);
        let texts = candidates.iter().map(Candidate::text);
        Self { question, weights: Weights::new(question, bm25, related, speakers, texts) }
    }

    /// Computes the scores of all candidates in place, with what is known of the records beside
    /// them.
    pub(crate) fn score(&self, candidates: &mut [Candidate]) {
        let question = self.question;
        for candidate in &mut *candidates {
            if candidate.own.is_none() {
                candidate.own = Some(self.scores_of(candidate.text()));
            }
        }
        let of_all = |score: fn(&TextScores) -> f64| {
            let scores = candidates.iter().filter_map(|candidate| candidate.own.as_ref());
            scores.map(score).fold(f64::MIN_POSITIVE, f64::max)
        };
        let best = Best { whole: of_all(|own| own.whole), sentence: of_all(|own| own.sentence) };
        let named = candidates.iter().any(|candidate| is_named(question, candidate));
        let newest = if question.asks_for_newest { NEWEST_IF_ASKED } else { NEWEST };
        let (oldest, span) = lifetime(candidates);
        // Most records beside a candidate are candidates, too.
        let known = candidates
            .iter()
            .filter_map(|candidate| candidate.own.map(|own| (candidate.hit.stored.place, own)));
        let mut known: HashMap<u64, TextScores> = known.collect();
        for candidate in candidates {
            let Some(own) = candidate.own else { continue };
            let record = &candidate.hit.stored.record;
            let mut score = best.share(&own) + PAIR * own.pairs;
            let is_speaker =
                if named { is_named(question, candidate) } else { is_self(question, candidate) };
            if is_speaker {
                score += SPEAKER + if own.first_person { OF_SELF } else { 0.0 };
            }
            score += if own.asks { ASKS } else { 0.0 };
            score += if question.spans.iter().any(|span| span.has(record.at)) { TIME } else { 0.0 };
            score += newest * (record.at.as_micros().saturating_sub(oldest)) as f64 / span;
            let context = self.context(candidate, &best, &mut known);
            score += NEIGHBOUR * context.beside;
            score += SAID_BEFORE * context.said_before;
            score += REPLY * context.asked;
            candidate.fits = own.whole > 0.0
                || context.asked > 0.0
                || context.said_before > 0.0
                || candidate.hit.score > 0.0;
            candidate.score = score;
        }
    }

    fn scores_of(&self, text: &str) -> TextScores {
        TextScores::of(self.question, &self.weights, text)
    }

    /// Returns what the records beside a candidate add. Their scores are kept in `known`.
    fn context(
        &self,
        candidate: &Candidate,
        best: &Best,
        known: &mut HashMap<u64, TextScores>,
    ) -> Context {
        let mut scores_of = |stored: &StoredMemory| {
            *known.entry(stored.place).or_insert_with(|| self.scores_of(&stored.record.text))
        };
        let mut context = Context::default();
        let speaker = &candidate.hit.stored.record.speaker;
        let mut before = candidate.before();
        if let Some(last) = before.next() {
            let scores = scores_of(last);
            context.beside = scores.whole / best.whole;
            if last.record.speaker != *speaker {
                context.asked = scores.asked / best.sentence;
                if let Some(own) = before.next().filter(|own| own.record.speaker == *speaker) {
                    context.said_before = best.share(&scores_of(own));
                }
            }
        }
        if let Some(next) = candidate.behind().next() {
            context.beside = context.beside.max(scores_of(next).whole / best.whole);
        }
        context
    }
}

/// The best scores of all candidates, of which the others are shares.
struct Best {
    whole: f64,
    sentence: f64,
}

impl Best {
    /// Returns how well a text matches by its words.
    fn share(&self, scores: &TextScores) -> f64 {
        (1.0 - SENTENCE) * scores.whole / self.whole + SENTENCE * scores.sentence / self.sentence
    }
}

/// The scores that the records beside a candidate add.
#[derive(Default)]
struct Context {
    /// The best score of the records next to it: a question and its answer are next to each other.
    beside: f64,
    /// The match of the speaker's record before the other's.
    said_before: f64,
    /// The match of the preceding question of another speaker: a record may answer it without
    /// sharing a word with it.
    asked: f64,
}

fn is_named(question: &Question, candidate: &Candidate) -> bool {
    candidate.speaker().is_some_and(|speaker| question.names(speaker))
}

/// Returns whether the user, who asks about themselves, said this.
fn is_self(question: &Question, candidate: &Candidate) -> bool {
    question.asks_of_self && candidate.speaker() == Some("user")
}

/// Returns the time of the oldest candidate, and the time span to the newest, at least 1.
fn lifetime(candidates: &[Candidate]) -> (i64, f64) {
    let times = || candidates.iter().map(|candidate| candidate.hit.stored.record.at.as_micros());
    let (oldest, newest) = (times().min().unwrap_or_default(), times().max().unwrap_or_default());
    (oldest, (newest.saturating_sub(oldest) as f64).max(1.0))
}
