//! The price of a request's input.

use context_core::ModelRequest;
use context_tokens::{Model, Prices};
use serde::Serialize;

/// The cost of the input of a request, if the provider's cache holds what it should.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct InputCost {
    /// The cost of tokens that are read from the cache.
    pub cached: f64,
    /// The cost of tokens that are neither read from the cache nor written to it.
    pub uncached: f64,
    /// The cost of tokens that are written to the cache. `None` if the provider has no price of its
    /// own for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written: Option<f64>,
    /// The sum.
    pub total: f64,
    /// The cost of the same input if nothing were cached and nothing written.
    pub without_cache: f64,
    /// The currency, such as `USD`.
    pub currency: String,
    /// The date of the prices.
    pub as_of: String,
}

/// The prices of input, per token.
#[derive(Clone, Copy, Debug)]
pub(super) struct InputPrices {
    input: f64,
    read: f64,
    /// The price of a write. `None` if it is that of other input.
    write: Option<f64>,
}

impl InputPrices {
    /// Returns the prices for a request of so many tokens, if they are known.
    pub(super) fn of(model: &Model<'_>, request: &ModelRequest, total: u64) -> Option<Self> {
        let prices = model.prices()?;
        let Prices { input, cache_read, cache_write, long, .. } = *prices;
        let long = long.filter(|long| total > long.above);
        let read = long.and_then(|long| long.cache_read).or(cache_read);
        let write = long.and_then(|long| long.cache_write).or(cache_write);
        let input = long.map_or(input, |long| long.input);
        let asked = request.cache_lifetime.map(|lifetime| model.cache_write_share(Some(lifetime)));
        let write = asked.flatten().map(|share| share * input).or(write);
        let per_token = |price: f64| price / 1e6;
        let read = per_token(read.unwrap_or(input));
        Some(Self { input: per_token(input), read, write: write.map(per_token) })
    }

    /// Whether writing to the cache has a price of its own.
    pub(super) fn has_write(&self) -> bool {
        self.write.is_some()
    }

    /// Returns the cost of tokens at the price of uncached input.
    pub(super) fn input(&self, tokens: u64) -> f64 {
        tokens as f64 * self.input
    }

    /// Returns what it costs more to send tokens again than to read them from the cache.
    pub(super) fn lost(&self, tokens: u64) -> f64 {
        tokens as f64 * (self.write.unwrap_or(self.input) - self.read).max(0.0)
    }

    /// Returns the cost of a request of which `reused` tokens are cached. `writes` states whether
    /// the rest is written to the cache.
    pub(super) fn cost(
        &self,
        model: &Model<'_>,
        (total, reused): (u64, u64),
        writes: bool,
        currency: &str,
    ) -> InputCost {
        let reused = reused.min(total);
        let rest = total - reused;
        let written = self.write.filter(|_| writes).map(|write| rest as f64 * write);
        let uncached = if written.is_some() { 0.0 } else { self.input(rest) };
        let cached = reused as f64 * self.read;
        InputCost {
            cached,
            uncached,
            written,
            total: cached + uncached + written.unwrap_or(0.0),
            without_cache: self.input(total),
            currency: currency.to_owned(),
            as_of: model.as_of().to_owned(),
        }
    }
}
