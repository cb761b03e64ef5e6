//! The goal and the price of a compaction.

use std::time::Duration;

use serde::Serialize;

use crate::model::Budget;

/// The goal of a compaction.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Goal {
    /// The window, and the reserve for the answer.
    pub budget: Budget,
    /// Tokens of the request that do not belong to the history: system prompt, tools, recall, the
    /// provider's framing.
    pub outside: u64,
    /// Maximum number of input tokens of the request, `outside` included.
    pub target: u64,
    /// The state of the provider's prompt cache.
    pub cache: CacheState,
    /// Instructions for a summary, from whoever asked for this compaction. They may be empty.
    /// `None` if nobody asked: the window is filling up.
    pub focus: Option<String>,
}

impl Goal {
    /// Creates a goal of at most this many input tokens, `outside` included, with an empty cache.
    pub fn new(budget: Budget, outside: u64, target: u64) -> Self {
        Self { budget, outside, target, cache: CacheState::default(), focus: None }
    }

    /// Sets the state of the provider's cache.
    #[must_use]
    pub fn cache(mut self, cache: CacheState) -> Self {
        self.cache = cache;
        self
    }

    /// Returns the target size of the history in tokens.
    pub fn history(&self) -> u64 {
        self.target.saturating_sub(self.outside)
    }

    /// Returns the number of history tokens that fit the window at all.
    pub fn limit(&self) -> u64 {
        self.budget.input().saturating_sub(self.outside)
    }

    /// Returns the number of tokens that a history of this size exceeds the target by.
    pub fn excess(&self, history: u64) -> u64 {
        history.saturating_sub(self.history())
    }
}

/// The part of a conversation in a provider's prompt cache, and its value.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct CacheState {
    /// Number of messages from the first on that are cached. 0 for a cold cache.
    pub messages: usize,
    /// Price of a token read from the cache, relative to an uncached token.
    pub read: f64,
    /// Price of a token written to the cache, relative to an uncached token.
    pub write: f64,
    /// Expected number of further calls before the conversation ends or is compacted again.
    pub expected_calls: u32,
    /// The time since the last request of the chat. `None` if it is not known.
    pub idle: Option<Duration>,
    /// The time that is left until the provider forgets the prefix of the chat. `None` if it is not
    /// known, and if nothing is cached.
    pub expires_in: Option<Duration>,
}

impl CacheState {
    /// Returns whether a request was sent before and the provider has nothing of the history any
    /// more, so that a change costs nothing extra.
    pub fn is_cold(&self) -> bool {
        self.idle.is_some() && self.messages == 0
    }
}

impl Default for CacheState {
    /// Creates an empty cache, with the prices of the providers that charge for writes, and ten
    /// expected calls.
    fn default() -> Self {
        Self {
            messages: 0,
            read: 0.1,
            write: 1.25,
            expected_calls: 10,
            idle: None,
            expires_in: None,
        }
    }
}

/// The cost and the savings of a plan, in tokens.
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
    /// Tokens that each later call saves.
    pub saved: u64,
    /// Cached tokens that stay in the request but have to be written to the cache again, once,
    /// because messages before them change.
    pub reread: u64,
    /// The one-time cost of rereading, in full-price input tokens.
    pub cost: f64,
    /// The gain of each later call, in full-price input tokens.
    pub gain: f64,
}

impl Price {
    /// Computes the price of saving `saved` tokens, of which `cached` are cached now, and of
    /// invalidating `reread` further cached tokens.
    pub fn new(saved: u64, cached: u64, reread: u64, cache: &CacheState) -> Self {
        let cost = reread as f64 * (cache.write - cache.read).max(0.0);
        let cached = cached.min(saved);
        // Tokens that are not cached yet are written once, whether or not later calls read them
        // from the cache.
        let fresh = (saved - cached) as f64;
        let gain = saved as f64 * cache.read
            + fresh * cache.write / f64::from(cache.expected_calls.max(1));
        Self { saved, reread, cost, gain }
    }

    /// Returns the number of calls after which the plan has paid off. `None` if it never does.
    pub fn pays_off_after(&self) -> Option<u32> {
        if self.cost <= 0.0 {
            return Some(0);
        }
        (self.gain > 0.0).then(|| (self.cost / self.gain).ceil().min(f64::from(u32::MAX)) as u32)
    }

    /// Returns whether the plan pays off within this many calls.
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
