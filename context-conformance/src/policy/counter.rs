//! A counter for tests.

use context_core::model::{Framing, TokenCount, TokenCounter};

/// A counter of one token per four bytes or part of them, plus four per message and per call. It
/// has no vocabulary and is the same on every machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct QuarterCounter;

impl TokenCounter for QuarterCounter {
    fn name(&self) -> &str {
        "quarters"
    }

    fn count(&self, text: &str) -> TokenCount {
        TokenCount::exact(text.len().div_ceil(4) as u64)
    }

    fn framing(&self) -> Framing {
        let four = TokenCount::exact(4);
        Framing::new(four, four, four, TokenCount::ZERO)
    }
}
