//! The request log of a simulated provider.

use context_codec_kit::provider_rules::Violation;
use context_core::model::ModelErrorCode;
use serde::Serialize;

use super::fault::ProviderFault;

/// A request and its outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Served {
    /// The index of the request, from 0.
    pub number: u64,
    /// The HTTP status of the reply.
    pub status: u16,
    /// The error code, if the request was refused.
    pub refused: Option<ModelErrorCode>,
    /// The fault that the script has for this request.
    pub fault: Option<ProviderFault>,
    /// The size of the body in bytes.
    pub bytes: usize,
    /// The input tokens, whether read from the cache or not. `None` if the request was refused
    /// before they were counted.
    pub input: Option<u64>,
    /// The input tokens that were read from the prompt cache.
    pub cache_read: u64,
    /// The input tokens that were written to the prompt cache, if the provider reports them.
    pub cache_write: u64,
    /// The part of these that was written for longer than usual.
    pub cache_write_long: u64,
    /// The tokens of the answer.
    pub output: u64,
    /// The rules that the body breaks, even if it was refused for another reason.
    pub violations: Vec<Violation>,
}

impl Served {
    pub(super) fn new(number: u64, bytes: usize, fault: Option<ProviderFault>) -> Self {
        Self {
            number,
            status: 200,
            refused: None,
            fault,
            bytes,
            input: None,
            cache_read: 0,
            cache_write: 0,
            cache_write_long: 0,
            output: 0,
            violations: Vec::new(),
        }
    }

    /// The price of the input, in tokens at the full price, as Anthropic charges: a token that is
    /// read from the cache costs a tenth, one that is written for five minutes 1.25, and one that
    /// is written for an hour 2.
    pub fn input_price(&self) -> f64 {
        let cached = self.cache_read + self.cache_write;
        let full = self.input.unwrap_or_default().saturating_sub(cached);
        let short = self.cache_write - self.cache_write_long;
        full as f64
            + self.cache_read as f64 * 0.1
            + short as f64 * 1.25
            + self.cache_write_long as f64 * 2.0
    }

    /// Whether the request was answered, with any answer.
    pub fn is_answered(&self) -> bool {
        self.refused.is_none()
    }
}
