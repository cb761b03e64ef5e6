//! Token usage in records.

use context_core::Json;
use context_core::base::JsonMap;
use context_core::model::Usage;
use serde::{Deserialize, Serialize};

/// Token usage of one call, or the sum of several. Cache tokens are part of the input, reasoning
/// tokens part of the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct TokenUsage {
    /// Input tokens, whether read from a cache, written to one, or neither.
    pub input_tokens: u64,
    /// Tokens of output, reasoning included.
    pub output_tokens: u64,
    /// The total as the provider reports it.
    pub total_tokens: u64,
    /// Input tokens read from a cache.
    pub input_cache_read_tokens: u64,
    /// Input tokens written to a cache.
    pub input_cache_creation_tokens: u64,
    /// Output tokens used for reasoning.
    pub output_reasoning_tokens: u64,
}

impl TokenUsage {
    /// Reads a usage object: either six flat numbers, or three numbers with nested detail objects.
    /// A missing value, or one that is not a non-negative number, counts as 0. Returns `None` if
    /// the value is not an object.
    pub fn read(json: &Json) -> Option<Self> {
        let map: JsonMap = json.parse().ok()?;
        let nested =
            |key: &str| map.get(key).and_then(|json| json.parse().ok()).unwrap_or_default();
        let (input, output): (JsonMap, JsonMap) =
            (nested("input_token_details"), nested("output_token_details"));
        let either = |flat: &str, details: &JsonMap, key: &str| match map.get(flat) {
            Some(number) => count(number),
            None => details.get(key).map(count).unwrap_or_default(),
        };
        let plain = |key: &str| map.get(key).map(count).unwrap_or_default();
        Some(Self {
            input_tokens: plain("input_tokens"),
            output_tokens: plain("output_tokens"),
            total_tokens: plain("total_tokens"),
            input_cache_read_tokens: either("input_cache_read_tokens", &input, "cache_read"),
            input_cache_creation_tokens: either(
                "input_cache_creation_tokens",
                &input,
                "cache_creation",
            ),
            output_reasoning_tokens: either("output_reasoning_tokens", &output, "reasoning"),
        })
    }

    /// Returns the sum, saturating.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            total_tokens: self.total_tokens.saturating_add(other.total_tokens),
            input_cache_read_tokens: self
                .input_cache_read_tokens
                .saturating_add(other.input_cache_read_tokens),
            input_cache_creation_tokens: self
                .input_cache_creation_tokens
                .saturating_add(other.input_cache_creation_tokens),
            output_reasoning_tokens: self
                .output_reasoning_tokens
                .saturating_add(other.output_reasoning_tokens),
        }
    }

    /// Returns the share of input tokens read from a cache, in percent with one decimal. 0 without
    /// input.
    pub fn cache_hit_rate(&self) -> f64 {
        if self.input_tokens == 0 {
            return 0.0;
        }
        rounded(self.input_cache_read_tokens as f64 / self.input_tokens as f64 * 100.0, 1)
    }
}

impl From<TokenUsage> for Usage {
    fn from(usage: TokenUsage) -> Self {
        let cached =
            usage.input_cache_read_tokens.saturating_add(usage.input_cache_creation_tokens);
        let mut own = Self::default();
        own.input = usage.input_tokens.saturating_sub(cached);
        own.output = usage.output_tokens;
        own.cache_read = usage.input_cache_read_tokens;
        own.cache_write = usage.input_cache_creation_tokens;
        own.reasoning =
            (usage.output_reasoning_tokens > 0).then_some(usage.output_reasoning_tokens);
        own
    }
}

impl From<Usage> for TokenUsage {
    fn from(usage: Usage) -> Self {
        Self {
            input_tokens: usage.total_input(),
            output_tokens: usage.output,
            total_tokens: usage.total(),
            input_cache_read_tokens: usage.cache_read,
            input_cache_creation_tokens: usage.cache_write,
            output_reasoning_tokens: usage.reasoning.unwrap_or_default(),
        }
    }
}

/// Returns a token count. Some programs write counts as floats.
fn count(json: &Json) -> u64 {
    let float = || json.parse::<f64>().ok().filter(|number| *number >= 0.0);
    // The cast saturates.
    json.parse::<u64>().ok().or_else(|| float().map(|number| number as u64)).unwrap_or_default()
}

/// Rounds a number to `decimals` places, by its exact value, with ties to even.
pub(super) fn rounded(number: f64, decimals: usize) -> f64 {
    format!("{number:.decimals$}").parse().unwrap_or(number)
}
