//! The counters of the recorded system.

use context_core::model::{Framing, TokenCount, TokenCounter};
use context_runtime::tokens::Vocabulary;

/// The vocabulary of the recorded system.
#[derive(Debug)]
pub(super) struct O200k {
    /// The tokens added per message.
    pub(super) message: u64,
}

impl TokenCounter for O200k {
    fn name(&self) -> &str {
        Vocabulary::O200kBase.name()
    }

    fn count(&self, text: &str) -> TokenCount {
        TokenCount::exact(Vocabulary::O200kBase.count(text))
    }

    fn framing(&self) -> Framing {
        let mut framing = Framing::default();
        framing.message = TokenCount::exact(self.message);
        framing
    }
}

/// One token per byte, where nothing depends on the tokenizer.
#[derive(Debug)]
pub(super) struct Bytes;

impl TokenCounter for Bytes {
    fn name(&self) -> &str {
        "bytes"
    }

    fn count(&self, text: &str) -> TokenCount {
        TokenCount::exact(text.len() as u64)
    }
}
