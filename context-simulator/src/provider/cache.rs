//! The prompt cache of the provider: the prefixes of requests that were sent before.
//!
//! Whole blocks are compared: a change in the middle of a text changes the whole text. Without a
//! clock, entries never expire, so a cache miss is always due to the requests. With one, an entry
//! expires when it was not used for its lifetime. A use does not change the lifetime.

use std::collections::HashMap;
use std::time::Duration;

use context_core::Timestamp;

use super::prompt::{Boundary, PromptPosition};

/// The minimum size of an entry, in tokens.
const LEAST: u64 = 1_024;
/// The number of blocks before a cache breakpoint that are searched for an entry.
const BEHIND_MARK: usize = 20;
/// The granularity in which OpenAI reports cached tokens.
const STEP: u64 = 128;
/// The lifetime of an entry whose request names none.
pub(super) const USUAL: Duration = Duration::from_secs(300);

/// The caching strategy of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CacheStrategy {
    /// Only prefixes at cache breakpoints of the request.
    Marked,
    /// The whole request, reported in steps.
    InSteps,
    /// The whole request. Its entries never expire, because the provider states no lifetime.
    Everything,
}

impl CacheStrategy {
    pub(super) fn of(provider: &str) -> Self {
        match provider {
            "anthropic" => Self::Marked,
            "gemini" => Self::Everything,
            _ => Self::InSteps,
        }
    }
}

/// The tokens of a request that were read from the cache and written to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CacheUsage {
    pub(super) read: u64,
    pub(super) written: u64,
    /// The part of `written` that lives longer than usual.
    pub(super) written_long: u64,
}

/// A prefix that was sent before.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Its tokens, if they were counted.
    tokens: Option<u64>,
    lifetime: Duration,
    used: Option<Timestamp>,
}

impl Entry {
    fn is_alive(&self, now: Option<Timestamp>) -> bool {
        let (Some(used), Some(now)) = (self.used, now) else { return true };
        let age = now.as_micros().saturating_sub(used.as_micros());
        u128::try_from(age).is_ok_and(|age| age < self.lifetime.as_micros())
    }
}

/// The prefixes that were sent before, by their hash.
#[derive(Debug, Default)]
pub(super) struct PromptCache(HashMap<u64, Entry>);

impl PromptCache {
    /// Looks up a request of `total` tokens and stores it. `count` returns its tokens up to a
    /// position. Without a time nothing expires.
    pub(super) fn take(
        &mut self,
        strategy: CacheStrategy,
        boundaries: &[Boundary],
        total: u64,
        now: Option<Timestamp>,
        count: impl Fn(PromptPosition) -> u64,
    ) -> CacheUsage {
        let now = now.filter(|_| strategy != CacheStrategy::Everything);
        self.0.retain(|_, entry| entry.is_alive(now));
        let last = boundaries.len().saturating_sub(1);
        let tokens = |cache: &mut Self, at: usize| {
            let boundary = &boundaries[at];
            let known = cache.0.get(&boundary.hash).map(|entry| entry.tokens);
            match known {
                Some(Some(known)) => known,
                _ if at == last => total,
                seen => {
                    let counted = count(boundary.position).min(total);
                    if seen.is_some() {
                        cache.keep(boundary, Some(counted), now);
                    }
                    counted
                }
            }
        };
        let found = self.find(strategy, boundaries);
        let read = found.map_or(0, |at| tokens(self, at));
        let read = match strategy {
            _ if read < LEAST => 0,
            CacheStrategy::InSteps => read / STEP * STEP,
            _ => read,
        };
        let mut usage = CacheUsage { read, ..CacheUsage::default() };
        for (at, boundary) in boundaries.iter().enumerate() {
            match strategy {
                CacheStrategy::Marked if boundary.marked => {
                    let tokens = tokens(self, at);
                    if tokens >= LEAST {
                        self.keep(boundary, Some(tokens), now);
                        let behind = tokens.saturating_sub(read);
                        if boundary.lifetime > USUAL {
                            usage.written_long = behind;
                        }
                        usage.written = behind;
                    }
                }
                // A use of an entry is one of its prefixes, too.
                CacheStrategy::Marked if found.is_some_and(|found| at <= found) => {
                    self.refresh(boundary, now);
                }
                CacheStrategy::Marked => {}
                _ if at == last => self.keep(boundary, Some(total), now),
                _ => self.keep(boundary, None, now),
            }
        }
        usage
    }

    /// Stores a prefix, or refreshes its entry.
    fn keep(&mut self, boundary: &Boundary, tokens: Option<u64>, now: Option<Timestamp>) {
        let new = Entry { tokens: None, lifetime: boundary.lifetime, used: None };
        let entry = self.0.entry(boundary.hash).or_insert(new);
        entry.tokens = tokens.or(entry.tokens);
        entry.used = now;
    }

    fn refresh(&mut self, boundary: &Boundary, now: Option<Timestamp>) {
        if let Some(entry) = self.0.get_mut(&boundary.hash) {
            entry.used = now;
        }
    }

    /// Returns the last boundary up to which the request was sent before.
    fn find(&self, strategy: CacheStrategy, boundaries: &[Boundary]) -> Option<usize> {
        let is_kept = |at: &usize| self.0.contains_key(&boundaries[*at].hash);
        if strategy != CacheStrategy::Marked {
            return (0..boundaries.len()).rev().find(is_kept);
        }
        let marks = (0..boundaries.len()).rev().filter(|at| boundaries[*at].marked);
        marks.flat_map(|mark| (mark.saturating_sub(BEHIND_MARK)..=mark).rev()).find(is_kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a prompt with a boundary every thousand tokens. The numbers serve as hashes.
    fn prompt(hashes: &[u64], marks: &[usize]) -> Vec<Boundary> {
        let boundary = |(i, hash): (usize, &u64)| Boundary {
            hash: *hash,
            position: PromptPosition::Messages(i + 1, 0),
            marked: marks.contains(&i),
            lifetime: USUAL,
        };
        hashes.iter().enumerate().map(boundary).collect()
    }

    fn take(
        cache: &mut PromptCache,
        strategy: CacheStrategy,
        hashes: &[u64],
        marks: &[usize],
    ) -> (u64, u64) {
        let count = |position| match position {
            PromptPosition::Messages(n, _) => n as u64 * 1_000,
            _ => 0,
        };
        let total = hashes.len() as u64 * 1_000;
        let usage = cache.take(strategy, &prompt(hashes, marks), total, None, count);
        (usage.read, usage.written)
    }

    #[test]
    fn what_begins_alike_is_read() {
        let mut cache = PromptCache::default();
        assert_eq!(take(&mut cache, CacheStrategy::Everything, &[1, 2, 3], &[]), (0, 0));
        assert_eq!(take(&mut cache, CacheStrategy::Everything, &[1, 2, 3, 4], &[]), (3_000, 0));
        assert_eq!(take(&mut cache, CacheStrategy::Everything, &[1, 2, 9, 10], &[]), (2_000, 0));
        assert_eq!(take(&mut cache, CacheStrategy::InSteps, &[1, 2, 8], &[]), (1_920, 0));
        // The request is too small for an entry.
        assert_eq!(take(&mut cache, CacheStrategy::Everything, &[1, 7], &[]), (0, 0));
        assert_eq!(take(&mut cache, CacheStrategy::Everything, &[], &[]), (0, 0));
    }

    #[test]
    fn with_marks_only_what_is_marked_is_kept_and_found() {
        let mut cache = PromptCache::default();
        assert_eq!(take(&mut cache, CacheStrategy::Marked, &[1, 2, 3], &[]), (0, 0));
        assert_eq!(take(&mut cache, CacheStrategy::Marked, &[1, 2, 3], &[1, 2]), (0, 3_000));
        assert_eq!(take(&mut cache, CacheStrategy::Marked, &[1, 2, 3, 4], &[3]), (3_000, 1_000));
        assert_eq!(take(&mut cache, CacheStrategy::Marked, &[1, 2, 3, 4], &[]), (0, 0));
        assert_eq!(take(&mut cache, CacheStrategy::Marked, &[1, 2, 8], &[2]), (2_000, 1_000));
        // A cache breakpoint far behind the entry does not find it. A second breakpoint at the
        // entry does.
        let long: Vec<u64> = [1, 2, 3, 4].into_iter().chain(100..130).collect();
        assert_eq!(take(&mut cache, CacheStrategy::Marked, &long, &[33]).0, 0);
        let other: Vec<u64> = [1, 2, 3, 4].into_iter().chain(200..230).collect();
        assert_eq!(take(&mut cache, CacheStrategy::Marked, &other, &[3, 33]).0, 4_000);
    }

    #[test]
    fn an_entry_lives_for_its_lifetime_after_its_last_use() {
        let mut cache = PromptCache::default();
        let mut at = |seconds: i64, hours: bool, hashes: &[u64]| {
            let mut boundaries = prompt(hashes, &[hashes.len() - 1]);
            if hours {
                boundaries.iter_mut().for_each(|at| at.lifetime = USUAL * 12);
            }
            let now = Some(Timestamp::from_micros(seconds * 1_000_000));
            let count = |_| 2_000;
            let usage = cache.take(CacheStrategy::Marked, &boundaries, 2_000, now, count);
            (usage.read, usage.written, usage.written_long)
        };
        assert_eq!(at(0, false, &[1, 2]), (0, 2_000, 0));
        assert_eq!(at(299, false, &[1, 2]), (2_000, 0, 0));
        assert_eq!(at(598, false, &[1, 2]), (2_000, 0, 0)); // refreshed by the use before
        assert_eq!(at(898, true, &[1, 2]), (0, 2_000, 2_000));
        assert_eq!(at(4_497, true, &[1, 2]), (2_000, 0, 0));
        assert_eq!(at(8_097, false, &[1, 2]), (0, 2_000, 0));
    }
}
