//! A token counter for a model.

use std::sync::Arc;

use context_core::message::Media;
use context_core::model::{Framing, MediaKind, TokenCount, TokenCounter};
use serde::{Deserialize, Serialize};

use crate::images::ImageRule;
use crate::{ModelTable, Vocabulary, media};

/// The number of the model's tokens per token of the vocabulary it is counted with.
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
            // Two tokens more, because short texts vary most.
            (times(self.high).ceil() as u64).saturating_add(if tokens > 0 { 2 } else { 0 }),
        )
    }
}

/// A token counter for a model.
///
/// Text is counted exactly if the vocabulary is published (OpenAI), otherwise by the vocabulary of
/// GPT-4o and a factor with a stated interval (Claude, Gemini and all others). Images are counted
/// by the published formula. No provider publishes the tokens it adds around messages and tools;
/// those are estimates for all models.
///
/// Creating a counter loads nothing. About the factors: Anthropic says that its newer models need
/// about 30 percent more tokens than the ones before. All other factors are judgements, to be
/// replaced by what a [`Calibration`](crate::Calibration) learns.
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
    /// Creates a counter for a model, from the built-in table.
    pub fn for_model(name: &str) -> Self {
        ModelTable::builtin().model(name).counter()
    }

    /// Creates a counter for a vocabulary that counts no tokens around the content.
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

    /// Creates a counter for a model that is not in the table.
    pub(crate) fn unknown(name: &str) -> Self {
        let factor = Factor { typical: 1.1, low: 0.6, high: 2.5 };
        Self::new(name, Vocabulary::O200kBase, factor, None, Framing::default())
    }

    /// Returns the vocabulary that the counter uses.
    pub fn vocabulary(&self) -> Vocabulary {
        self.vocabulary
    }

    /// Returns whether counts of text are exact.
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
