//! Prices of models.

use serde::{Deserialize, Serialize};

/// Prices per million tokens, in the currency of their table.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Prices {
    /// Price of a million tokens of input that is in no cache.
    pub input: f64,
    /// Price of a million tokens of output, thoughts included.
    pub output: f64,
    /// Price of a million tokens of input read from a cache; `None` means the price of other input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    /// Price of a million tokens of input written to a cache for its usual lifetime; `None` means
    /// the price of other input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
    /// Different prices for calls with much input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long: Option<LongPrices>,
}

/// Prices of calls with much input. A missing price is the same as for other calls.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct LongPrices {
    /// The number of input tokens, cached input included, above which these prices apply to the
    /// whole call.
    pub above: u64,
    /// Price of a million tokens of input that is in no cache.
    pub input: f64,
    /// Price of a million tokens of output.
    pub output: f64,
    /// Price of a million tokens of input read from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    /// Price of a million tokens of input written to a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
}

impl Prices {
    /// Returns all prices.
    pub(crate) fn all(&self) -> impl Iterator<Item = f64> {
        let long = self.long.map(|long| {
            [Some(long.input), Some(long.output), long.cache_read, long.cache_write]
                .into_iter()
                .flatten()
        });
        [Some(self.input), Some(self.output), self.cache_read, self.cache_write]
            .into_iter()
            .flatten()
            .chain(long.into_iter().flatten())
    }
}
