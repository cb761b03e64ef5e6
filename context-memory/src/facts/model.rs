//! Extraction of facts by a language model.

use std::sync::Arc;

use async_trait::async_trait;
use context_core::memory::CapturedMessage;
use context_core::model::{LanguageModel, ModelErrorCode};
use context_core::{CancelSignal, Error, ErrorKind, ModelError, Result, Retry, Timestamp};

use super::{Extracted, FactExtractor, ask};

const OPERATION: &str = "extract_facts";

/// Extracts facts by asking a model.
///
/// Messages are sent as JSON data, with the statement that nothing in them is an instruction. The
/// answer is checked fact by fact, so the worst effect of a hostile message is a wrong memory about
/// its own author. Facts in another form are left out.
#[derive(Clone, Debug)]
pub struct ModelExtractor {
    model: Arc<dyn LanguageModel>,
    prompt: String,
    most: usize,
    longest: usize,
    output: u64,
}

impl ModelExtractor {
    /// Creates an extractor. Defaults: at most 32 facts per request, at most 8 KiB of each message.
    pub fn new(model: Arc<dyn LanguageModel>) -> Self {
        Self { model, prompt: ask::PROMPT.to_owned(), most: 32, longest: 8 << 10, output: 4_096 }
    }

    /// Sets the prompt that tells which facts are wanted. The answer format is always appended.
    #[must_use]
    pub fn prompt(mut self, text: impl Into<String>) -> Self {
        self.prompt = text.into();
        self
    }

    /// Sets the most facts per request, at most 1,000.
    #[must_use]
    pub fn max_facts(mut self, facts: usize) -> Self {
        self.most = facts.clamp(1, 1_000);
        self
    }

    /// Sets how many bytes of each message are shown, from its start.
    #[must_use]
    pub fn max_message_bytes(mut self, bytes: usize) -> Self {
        self.longest = bytes;
        self
    }

    /// Sets the output token limit of the model.
    #[must_use]
    pub fn max_output_tokens(mut self, tokens: u64) -> Self {
        self.output = tokens;
        self
    }
}

#[async_trait]
impl FactExtractor for ModelExtractor {
    async fn extract(
        &self,
        messages: &[CapturedMessage],
        _told_at: Timestamp,
        cancel: &CancelSignal,
    ) -> Result<Extracted> {
        let request = ask::request(&self.prompt, messages, self.most, self.longest);
        let request = request.max_output_tokens(self.output);
        let answer = self.model.complete(&request, cancel).await;
        cancel.check(OPERATION)?;
        let answer = answer.map_err(|error| self.failed(&error))?;
        if let Some(error) = answer.error {
            return Err(self.failed(&error));
        }
        let text = answer.message.plain_text();
        Ok(ask::answer(&text, messages.len(), self.most).unwrap_or_else(|| {
            // Asking again would give the same answer, so the messages count as processed.
            tracing::warn!(
                model = self.model.name(),
                bytes = text.len(),
                "an answer with facts is not JSON"
            );
            Extracted::default()
        }))
    }
}

impl ModelExtractor {
    /// Distinguishes an unavailable model, a misconfigured one, and messages that the model never
    /// accepts.
    fn failed(&self, error: &ModelError) -> Error {
        use ModelErrorCode as Code;
        let (kind, retry, record) = match error.code {
            Code::ContextOverflow | Code::RequestTooLarge | Code::ContentFilter => {
                (ErrorKind::Invalid, Retry::Never, "the model does not take these messages")
            }
            Code::Unknown => (ErrorKind::Unavailable, Retry::Safe, "the model did not answer"),
            _ if error.retryable => {
                (ErrorKind::Unavailable, Retry::Safe, "the model did not answer")
            }
            _ => (ErrorKind::Unavailable, Retry::Never, "the model refuses to answer"),
        };
        let failed = Error::new(kind, OPERATION, record).with_retry(retry);
        failed.with("model", self.model.name()).with("code", error.code.as_str())
    }
}
