//! Counting for a model.

use std::sync::Arc;

use context_core::message::Media;
use context_core::model::{Framing, MediaKind, TokenCount, TokenCounter};
use serde::{Deserialize, Serialize};

use crate::images::ImageRule;
use crate::{ModelTable, Vocabulary, media};

/// How many tokens of a model there are for each token of the vocabulary it is counted with.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Factor {
    pub(crate) typical: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Factor {
    pub(crate) const EXACT: Self = Self { typical: 1.0, low: 1.0, high: 1.0 };

    pub(crate) fn is_sound(&self) -> bool {
        0.0 < self.low
            && self.low <= self.typical
            && self.typical <= self.high
            && self.high <= 100.0
    }

    fn of(&self, tokens: u64) -> TokenCount {
        if self.low >= self.high {
            return TokenCount::exact(tokens);
        }
        let times = |factor: f64| tokens as f64 * factor;
        TokenCount::estimate(
            times(self.typical).round() as u64,
            times(self.low).floor() as u64,
            // A few tokens more: short texts vary most.
            (times(self.high).ceil() as u64).saturating_add(if tokens > 0 { 2 } else { 0 }),
        )
    }
}

/// Counts for a model: text exactly if the vocabulary is published (OpenAI), else by that of GPT-4o
/// and a factor with a stated interval (Claude, Gemini, anything else). Images by the published
/// formula; what a provider adds around messages and tools is published by none, and an estimate
/// for all.
///
/// Making one loads nothing. The factors: Anthropic says of its newer models that they need about
/// 30 percent more tokens than the ones before; everything else is judged, and meant to be replaced
/// by what a [`Calibration`](crate::Calibration) learns.
///
/// ```
/// use context_core::model::TokenCounter;
/// use context_tokens::ModelCounter;
///
/// let count = ModelCounter::for_model("gpt-4o").count("hello world<|endoftext|>");
/// assert!(count.is_exact());
/// let count = ModelCounter::for_model("claude-sonnet-4-5").count("hello world");
/// assert!(count.low() < count.tokens() && count.tokens() < count.high());
/// ```
#[derive(Clone, Debug)]
pub struct ModelCounter {
    name: Arc<str>,
    vocabulary: Vocabulary,
    factor: Factor,
    images: Option<ImageRule>,
    framing: Framing,
}

impl ModelCounter {
    /// For a model, by the built-in table.
    pub fn for_model(name: &str) -> Self {
        ModelTable::builtin().model(name).counter()
    }

    /// For a vocabulary, and nothing around the content.
    pub fn for_vocabulary(vocabulary: Vocabulary) -> Self {
        Self::new(vocabulary.name(), vocabulary, Factor::EXACT, None, Framing::default())
    }

    pub(crate) fn new(
        name: &str,
        vocabulary: Vocabulary,
        factor: Factor,
        images: Option<ImageRule>,
        framing: Framing,
    ) -> Self {
        Self { name: name.into(), vocabulary, factor, images, framing }
    }

    /// For a model of which nothing is known.
    pub(crate) fn unknown(name: &str) -> Self {
        let factor = Factor { typical: 1.1, low: 0.6, high: 2.5 };
        Self::new(name, Vocabulary::O200kBase, factor, None, Framing::default())
    }

    /// The vocabulary it counts with.
    pub fn vocabulary(&self) -> Vocabulary {
        self.vocabulary
    }

    /// Whether counts of text are exact.
    pub fn is_exact(&self) -> bool {
        self.factor == Factor::EXACT
    }
}

impl TokenCounter for ModelCounter {
    fn name(&self) -> &str {
        &self.name
    }

    fn count(&self, text: &str) -> TokenCount {
        self.factor.of(self.vocabulary.count(text))
    }

    fn count_media(&self, kind: MediaKind, media: &Media) -> TokenCount {
        match kind {
            MediaKind::Image => crate::images::count(media, self.images.as_ref()),
            MediaKind::Document => media::document(media, |text| self.count(text)),
            _ => media::audio(media),
        }
    }

    fn framing(&self) -> Framing {
        self.framing
    }
}
