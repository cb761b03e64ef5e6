//! What a compaction is to reach, and what it costs.

use serde::Serialize;

use crate::model::Budget;

/// What a policy is to reach.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Goal {
    /// The window, and what of it is kept for the answer.
    pub budget: Budget,
    /// How many tokens of the request are not the history's: system prompt, tools, recall, what the
    /// provider adds.
    pub outside: u64,
    /// How many tokens of input the request should have at most, `outside` included.
    pub target: u64,
    /// What the provider's prompt cache holds.
    pub cache: CacheState,
}

impl Goal {
    /// To reach this many tokens of input, `outside` included, with nothing in a cache.
    pub fn new(budget: Budget, outside: u64, target: u64) -> Self {
        Self { budget, outside, target, cache: CacheState::default() }
    }

    /// With this in the provider's cache.
    #[must_use]
    pub fn cache(mut self, cache: CacheState) -> Self {
        self.cache = cache;
        self
    }

    /// How many tokens the history should have at most.
    pub fn history(&self) -> u64 {
        self.target.saturating_sub(self.outside)
    }

    /// How many tokens of history fit the window at all.
    pub fn limit(&self) -> u64 {
        self.budget.input().saturating_sub(self.outside)
    }

    /// How many tokens a history of so many has to lose.
    pub fn excess(&self, history: u64) -> u64 {
        history.saturating_sub(self.history())
    }
}

/// What a provider's prompt cache holds of a conversation, and what it is worth.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct CacheState {
    /// How many messages from the first on are in the cache; 0 if it is cold.
    pub messages: usize,
    /// What a token read from the cache costs, as a share of one that is not cached.
    pub read: f64,
    /// What a token written to the cache costs, as a share of one that is not cached.
    pub write: f64,
    /// How many more calls are expected before the conversation ends or is compacted again.
    pub expected_calls: u32,
}

impl Default for CacheState {
    /// Nothing is cached. The shares are those of the providers that charge for writing; ten more
    /// calls are expected.
    fn default() -> Self {
        Self { messages: 0, read: 0.1, write: 1.25, expected_calls: 10 }
    }
}

/// What a plan costs and saves, in tokens.
///
/// ```
/// use context_core::history::{CacheState, Price};
///
/// let cache = CacheState::default(); // reading a tenth, writing 1.25
/// let late = Price::new(1_000, 1_000, 200, &cache); // near the end: little is read anew
/// let early = Price::new(1_000, 1_000, 90_000, &cache);
/// assert_eq!((late.pays_off_after(), early.pays_off_after()), (Some(3), Some(1_035)));
/// assert!(late.pays_off_within(cache.expected_calls) && !early.pays_off_within(cache.expected_calls));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Price {
    /// How many tokens each later call has less.
    pub saved: u64,
    /// How many tokens that are in the cache and stay in the request have to be read again, once,
    /// because what stands before them changes.
    pub reread: u64,
    /// How many input tokens at full price the rereading costs.
    pub cost: f64,
    /// How many input tokens at full price each later call saves.
    pub gain: f64,
}

impl Price {
    /// Of saving so many tokens, `cached` of them and `reread` others being in the cache now.
    pub fn new(saved: u64, cached: u64, reread: u64, cache: &CacheState) -> Self {
        let cost = reread as f64 * (cache.write - cache.read).max(0.0);
        let cached = cached.min(saved);
        // What is not cached yet is paid once in full whether or not the next calls read it from
        // the cache.
        let fresh = (saved - cached) as f64;
        let gain = saved as f64 * cache.read
            + fresh * cache.write / f64::from(cache.expected_calls.max(1));
        Self { saved, reread, cost, gain }
    }

    /// After how many calls it has paid off; nothing if it never does.
    pub fn pays_off_after(&self) -> Option<u32> {
        if self.cost <= 0.0 {
            return Some(0);
        }
        (self.gain > 0.0).then(|| (self.cost / self.gain).ceil().min(f64::from(u32::MAX)) as u32)
    }

    /// Whether it pays off within so many calls.
    pub fn pays_off_within(&self, calls: u32) -> bool {
        self.pays_off_after().is_some_and(|after| after <= calls)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cold_cache_makes_every_saving_free() {
        let price = Price::new(5_000, 0, 0, &CacheState::default());
        assert_eq!((price.cost, price.pays_off_after()), (0.0, Some(0)));
    }

    #[test]
    fn rereading_a_warm_prefix_is_weighed_against_what_later_calls_save() {
        let warm = CacheState { messages: 100, ..CacheState::default() };
        let little = Price::new(100, 100, 50_000, &warm);
        assert!(!little.pays_off_within(warm.expected_calls));
        let much = Price::new(60_000, 60_000, 18_000, &warm);
        assert_eq!(much.pays_off_after(), Some(4));
        assert_eq!(Price::new(0, 0, 10, &warm).pays_off_after(), None);
    }
}
