//! The cost of tokens.

use std::fmt;
use std::sync::Arc;

use context_core::model::{TokenCount, Usage};
use serde::Serialize;

use crate::Prices;

/// An amount of money with its lower and upper bound. The bounds hold as far as the prices are
/// right.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Cost {
    /// The most likely amount, in units of the currency.
    pub amount: f64,
    /// The lower bound.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
    /// The currency, such as `USD`.
    pub currency: Arc<str>,
}

impl Cost {
    /// Returns the cost of reported usage. `long_write` is the price of a token that is written for
    /// the longest lifetime, relative to other input.
    pub(crate) fn of_usage(
        usage: &Usage,
        prices: &Prices,
        long_write: Option<f64>,
        currency: &Arc<str>,
    ) -> Self {
        let amount = price(usage, prices, long_write);
        Self { amount, low: amount, high: amount, currency: Arc::clone(currency) }
    }

    /// Returns the cost of estimated input and output.
    pub(crate) fn of_counts(
        input: TokenCount,
        output: TokenCount,
        prices: &Prices,
        currency: &Arc<str>,
    ) -> Self {
        let at = |input, output| {
            let mut usage = Usage::default();
            (usage.input, usage.output) = (input, output);
            price(&usage, prices, None)
        };
        Self {
            amount: at(input.tokens(), output.tokens()),
            low: at(input.low(), output.low()),
            high: at(input.high(), output.high()),
            currency: Arc::clone(currency),
        }
    }
}

fn price(usage: &Usage, prices: &Prices, long_write: Option<f64>) -> f64 {
    let long = prices.long.filter(|long| usage.total_input() > long.above);
    let (input, output) =
        long.map_or((prices.input, prices.output), |long| (long.input, long.output));
    let cache_read = long.and_then(|long| long.cache_read).or(prices.cache_read).unwrap_or(input);
    let cache_write =
        long.and_then(|long| long.cache_write).or(prices.cache_write).unwrap_or(input);
    let written_long = usage.cache_write_long.min(usage.cache_write);
    let parts = [
        (usage.input, input),
        (usage.cache_read, cache_read),
        (usage.cache_write - written_long, cache_write),
        (written_long, long_write.map_or(cache_write, |share| share * input)),
        (usage.output, output),
    ];
    parts.iter().map(|(tokens, price)| *tokens as f64 * price / 1e6).sum()
}

impl fmt::Display for Cost {
    /// Writes `0.0123 USD` or `0.0123 USD (0.0100 to 0.0150)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.4} {}", self.amount, self.currency)?;
        if self.low < self.high {
            write!(f, " ({:.4} to {:.4})", self.low, self.high)?;
        }
        Ok(())
    }
}
