//! A model that finds facts.

use std::sync::Arc;

use async_trait::async_trait;
use context_core::memory::CapturedMessage;
use context_core::model::{LanguageModel, ModelErrorCode};
use context_core::{CancelSignal, Error, ErrorKind, ModelError, Result, Retry, Timestamp};

use super::{Extracted, FactExtractor, ask};

const OPERATION: &str = "extract_facts";

/// Finds facts by asking a model.
///
/// Messages go to the model as data in JSON, with the word that nothing in them is an instruction;
/// what comes back is checked fact by fact, so the worst a message can do is to have something
/// wrong remembered of its own writer. Facts that are not in the form that was asked for are left
/// out.
#[derive(Clone, Debug)]
pub struct ModelExtractor {
    model: Arc<dyn LanguageModel>,
    prompt: String,
    most: usize,
    longest: usize,
    output: u64,
}

impl ModelExtractor {
    /// Asks this model, for at most 32 facts at a time, showing at most 8 KiB of each message.
    pub fn new(model: Arc<dyn LanguageModel>) -> Self {
        Self { model, prompt: ask::PROMPT.to_owned(), most: 32, longest: 8 << 10, output: 4_096 }
    }

    /// Says which facts are wanted. How the answer is written is said behind it, whatever stands
    /// here.
    #[must_use]
    pub fn prompt(mut self, text: impl Into<String>) -> Self {
        self.prompt = text.into();
        self
    }

    /// At most so many facts at a time, at most 1,000.
    #[must_use]
    pub fn max_facts(mut self, facts: usize) -> Self {
        self.most = facts.clamp(1, 1_000);
        self
    }

    /// Shows at most so many bytes of each message, from its beginning.
    #[must_use]
    pub fn max_message_bytes(mut self, bytes: usize) -> Self {
        self.longest = bytes;
        self
    }

    /// The model may write so many tokens.
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
            // Asked again, it would say so again: the messages count as looked through.
            tracing::warn!(
                model = self.model.name(),
                bytes = text.len(),
                "an answer with facts is no JSON"
            );
            Extracted::default()
        }))
    }
}

impl ModelExtractor {
    /// Tells a model that is away from one that is set up wrongly, and both from messages that it
    /// never takes.
    fn failed(&self, error: &ModelError) -> Error {
        use ModelErrorCode as Code;
        let (kind, retry, said) = match error.code {
            Code::ContextOverflow | Code::RequestTooLarge | Code::ContentFilter => {
                (ErrorKind::Invalid, Retry::Never, "the model does not take these messages")
            }
            Code::Unknown => (ErrorKind::Unavailable, Retry::Safe, "the model did not answer"),
            _ if error.retryable => {
                (ErrorKind::Unavailable, Retry::Safe, "the model did not answer")
            }
            _ => (ErrorKind::Unavailable, Retry::Never, "the model refuses to answer"),
        };
        let failed = Error::new(kind, OPERATION, said).with_retry(retry);
        failed.with("model", self.model.name()).with("code", error.code.as_str())
    }
}
