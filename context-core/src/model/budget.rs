//! The token budget of a request.

use serde::Serialize;

use crate::model::TokenCount;

/// A window, and the reserve for the answer.
///
/// Use the same number for the reserve and for the maximum output tokens of the request. If the
/// reserve is not smaller than the window, the input budget is one token.
///
/// ```
/// use context_core::model::{Budget, Pressure};
///
/// let budget = Budget::new(1_000, 400);
/// assert_eq!(budget.input(), 600);
/// assert_eq!(budget.pressure(500), Pressure::Tight); // 83 percent
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Budget {
    /// The window in tokens.
    pub window: u64,
    /// The reserve for the answer in tokens.
    pub reserve: u64,
}

/// A level of window usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Pressure {
    /// Below 80 percent.
    Low,
    /// From 80 percent.
    Tight,
    /// From 90 percent.
    Full,
}

impl Budget {
    /// Creates a budget from a window and a reserve.
    pub const fn new(window: u64, reserve: u64) -> Self {
        Self { window, reserve }
    }

    /// Returns the number of input tokens that fit, at least one.
    pub fn input(&self) -> u64 {
        self.window.saturating_sub(self.reserve).max(1)
    }

    /// Returns the share of the input budget that these tokens use. Above one if they do not fit.
    pub fn ratio(&self, tokens: u64) -> f64 {
        tokens as f64 / self.input() as f64
    }

    /// Returns the level of usage for these tokens.
    pub fn pressure(&self, tokens: u64) -> Pressure {
        match self.ratio(tokens) {
            ratio if ratio >= 0.9 => Pressure::Full,
            ratio if ratio >= 0.8 => Pressure::Tight,
            _ => Pressure::Low,
        }
    }

    /// Returns the remaining tokens as an estimate with bounds. 0 if the budget is exceeded.
    pub fn left(&self, used: TokenCount) -> TokenCount {
        let left = |tokens| self.input().saturating_sub(tokens);
        TokenCount::estimate(left(used.tokens()), left(used.high()), left(used.low()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_full_it_is_goes_by_what_fits_beside_the_answer() {
        let budget = Budget::new(1_000, 200);
        assert_eq!([0, 400, 800, 1_200].map(|tokens| budget.ratio(tokens)), [0.0, 0.5, 1.0, 1.5]);
        let pressures = [639, 640, 719, 720, 900].map(|tokens| budget.pressure(tokens));
        assert_eq!(
            pressures,
            [Pressure::Low, Pressure::Tight, Pressure::Tight, Pressure::Full, Pressure::Full]
        );
        assert_eq!(
            Budget::new(10, 20).ratio(3),
            3.0,
            "a window smaller than the reserve counts as one token"
        );
    }

    #[test]
    fn what_is_left_is_as_uncertain_as_what_is_used() {
        let left = Budget::new(1_000, 200).left(TokenCount::estimate(500, 400, 900));
        assert_eq!((left.low(), left.tokens(), left.high()), (0, 300, 400));
    }
}
