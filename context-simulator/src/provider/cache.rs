//! The prompt cache of the provider: the prefixes of requests that were sent before.
//!
//! Whole blocks are compared: a change in the middle of a text changes the whole text. Entries
//! never expire, so a cache miss is always due to the requests.

use std::collections::HashMap;

use super::prompt::{Boundary, PromptPosition};

/// The minimum size of an entry, in tokens.
const LEAST: u64 = 1_024;
/// The number of blocks before a cache breakpoint that are searched for an entry.
const BEHIND_MARK: usize = 20;
/// The granularity in which OpenAI reports cached tokens.
const STEP: u64 = 128;

/// The caching strategy of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CacheStrategy {
    /// Only prefixes at cache breakpoints of the request.
    Marked,
    /// The whole request, reported in steps.
    InSteps,
    /// The whole request.
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
}

/// Hashes of the prefixes that were sent before, with their token counts if known.
#[derive(Debug, Default)]
pub(super) struct PromptCache(HashMap<u64, Option<u64>>);

impl PromptCache {
    /// Looks up a request of `total` tokens and stores it. `count` returns its tokens up to a
    /// position.
    pub(super) fn take(
        &mut self,
        strategy: CacheStrategy,
        boundaries: &[Boundary],
        total: u64,
        count: impl Fn(PromptPosition) -> u64,
    ) -> CacheUsage {
        let last = boundaries.len().saturating_sub(1);
        let tokens = |cache: &mut Self, at: usize| match cache.0.get(&boundaries[at].hash) {
            Some(Some(known)) => *known,
            _ if at == last => total,
            seen => {
                let is_kept = seen.is_some();
                let counted = count(boundaries[at].position).min(total);
                if is_kept {
                    cache.0.insert(boundaries[at].hash, Some(counted));
                }
                counted
            }
        };
        let found = self.find(strategy, boundaries);
        let read = found.map_or(0, |at| tokens(self, at));
        let read = match strategy {
            _ if read < LEAST => 0,
            CacheStrategy::InSteps => read / STEP * STEP,
            _ => read,
        };
        let mut written = 0;
        for (at, boundary) in boundaries.iter().enumerate() {
            match strategy {
                CacheStrategy::Marked if boundary.marked => {
                    let tokens = tokens(self, at);
                    if tokens >= LEAST {
                        self.0.insert(boundary.hash, Some(tokens));
                        written = tokens.saturating_sub(read);
                    }
                }
                CacheStrategy::Marked => {}
                _ if at == last => _ = self.0.insert(boundary.hash, Some(total)),
                _ => _ = self.0.entry(boundary.hash).or_insert(None),
            }
        }
        CacheUsage { read, written }
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
        let CacheUsage { read, written } =
            cache.take(strategy, &prompt(hashes, marks), total, count);
        (read, written)
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
}
