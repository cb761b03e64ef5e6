//! Compactions that the provider of a model makes.

/// Asks the provider to compact the conversation of a request instead of answering it. The answer
/// then holds one opaque block, which stands for all messages of the request from then on.
///
/// | codec | form | instructions |
/// |---|---|---|
/// | `anthropic` | `compaction`, with the header `anthropic-beta: compact-2026-09-04` | replace those of the provider |
/// | `openai-responses` | an item `compaction_trigger` at the end of the input | not taken |
///
/// Other codecs refuse such a request ([`WireError::NoCompaction`](crate::model::WireError)).
///
/// Sources: the guides *Compaction on demand* of Anthropic and *Compaction* of OpenAI, October
/// 2026.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProviderCompaction {
    /// Instructions for the summary, in place of those of the provider. `None` for those of the
    /// provider.
    pub instructions: Option<String>,
}

impl ProviderCompaction {
    /// Creates a request for a compaction by the rules of the provider.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the instructions.
    #[must_use]
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = Some(text.into());
        self
    }
}
