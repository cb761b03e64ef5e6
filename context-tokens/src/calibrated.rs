//! A counter that applies a calibration.

use std::sync::Arc;

use context_core::message::{Media, MessageHash};
use context_core::model::{Framing, MediaKind, RequestTokens, TokenCount, TokenCounter, Tool};
use context_core::{Message, ModelRequest, Part};

use crate::Calibration;

/// A counter whose counts are corrected by a [`Calibration`].
///
/// Keep the inner counter to learn more: [`Calibration::observe`] takes the estimate before
/// correction.
///
/// ```
/// use std::sync::Arc;
///
/// use context_core::Message;
/// use context_core::model::{TokenCounter, Usage};
/// use context_tokens::{Calibrated, Calibration, ModelCounter};
///
/// let plain: Arc<dyn TokenCounter> = Arc::new(ModelCounter::for_model("claude-sonnet-4-5"));
/// let talk = [Arc::new(Message::from("Two tickets to Lisbon on Friday, please. ".repeat(100)))];
/// let estimate = plain.count_messages(&talk);
/// let mut learned = Calibration::default();
/// for _ in 0..5 {
///     learned.observe(estimate, &Usage::new(estimate.tokens() + 10, 50)); // what answers say
/// }
/// let better = Calibrated::new(plain, learned).count_messages(&talk);
/// assert!(better.high() - better.low() < estimate.high() - estimate.low());
/// ```
#[derive(Clone, Debug)]
pub struct Calibrated {
    inner: Arc<dyn TokenCounter>,
    calibration: Calibration,
}

impl Calibrated {
    /// Creates a counter that corrects the counts of `inner` by `calibration`.
    pub fn new(inner: Arc<dyn TokenCounter>, calibration: Calibration) -> Self {
        Self { inner, calibration }
    }

    /// Returns the counter before correction.
    pub fn uncalibrated(&self) -> &Arc<dyn TokenCounter> {
        &self.inner
    }
}

impl TokenCounter for Calibrated {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn count(&self, text: &str) -> TokenCount {
        self.calibration.scale(self.inner.count(text))
    }

    fn count_media(&self, kind: MediaKind, media: &Media) -> TokenCount {
        self.calibration.scale(self.inner.count_media(kind, media))
    }

    fn framing(&self) -> Framing {
        let framing = self.inner.framing();
        let scaled = |count| self.calibration.scale(count);
        Framing::new(
            scaled(framing.message),
            scaled(framing.call),
            scaled(framing.tool),
            scaled(framing.request),
        )
    }

    fn count_part(&self, part: &Part) -> TokenCount {
        self.calibration.scale(self.inner.count_part(part))
    }

    fn count_message(&self, message: &Message) -> TokenCount {
        self.calibration.scale(self.inner.count_message(message))
    }

    fn count_shared(&self, message: &Arc<Message>) -> TokenCount {
        self.calibration.scale(self.inner.count_shared(message))
    }

    fn count_hashed(&self, message: &Arc<Message>, hash: &MessageHash) -> TokenCount {
        self.calibration.scale(self.inner.count_hashed(message, hash))
    }

    fn count_messages(&self, messages: &[Arc<Message>]) -> TokenCount {
        self.calibration.apply(self.inner.count_messages(messages))
    }

    fn count_tool(&self, tool: &Tool) -> TokenCount {
        self.calibration.scale(self.inner.count_tool(tool))
    }

    fn count_request(&self, request: &ModelRequest) -> RequestTokens {
        let mut tokens = self.inner.count_request(request);
        let parts = [
            &mut tokens.system,
            &mut tokens.tools,
            &mut tokens.output,
            &mut tokens.messages,
            &mut tokens.framing,
        ];
        for count in parts {
            *count = self.calibration.apply(*count);
        }
        tokens
    }
}
