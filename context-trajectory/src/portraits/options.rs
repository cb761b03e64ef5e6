//! How portraits are made.

use std::time::Duration;

use context_core::ModelError;

/// How portraits are made. What is not said is as usual.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub struct PortraitOptions {
    /// How many are made at the same time, at least 1. 4, unless said otherwise.
    pub concurrency: usize,
    /// How long one call of the model may take. 300 seconds, unless said otherwise.
    pub call_limit: Duration,
    /// How often a call is made again, where its error says that this may help. Twice, unless said
    /// otherwise.
    pub retries: u32,
    /// How long the first retry waits; each further one waits twice as long. 1 second, unless said
    /// otherwise.
    pub first_wait: Duration,
    /// The longest that a retry waits. A provider that asks for more is not asked again until a
    /// later schedule. 30 seconds, unless said otherwise.
    pub longest_wait: Duration,
    /// The most tokens that the model may write; nothing leaves it to the provider. 1,000, unless
    /// said otherwise: thoughts count.
    pub max_output_tokens: Option<u64>,
}

impl Default for PortraitOptions {
    fn default() -> Self {
        Self {
            concurrency: 4,
            call_limit: Duration::from_secs(300),
            retries: 2,
            first_wait: Duration::from_secs(1),
            longest_wait: Duration::from_secs(30),
            max_output_tokens: Some(1_000),
        }
    }
}

impl PortraitOptions {
    /// As usual.
    pub fn new() -> Self {
        Self::default()
    }

    /// So many at the same time.
    pub fn concurrency(mut self, portraits: usize) -> Self {
        self.concurrency = portraits;
        self
    }

    /// So long a call.
    pub fn call_limit(mut self, limit: Duration) -> Self {
        self.call_limit = limit;
        self
    }

    /// So many retries.
    pub fn retries(mut self, retries: u32) -> Self {
        self.retries = retries;
        self
    }

    /// How long to wait before a retry, counted from 0; nothing if there is to be none.
    pub(super) fn wait(&self, retry: u32, error: &ModelError) -> Option<Duration> {
        if !error.retryable || retry >= self.retries {
            return None;
        }
        match error.retry_after {
            Some(asked) => (asked <= self.longest_wait).then_some(asked),
            None => {
                let doubled = self.first_wait.saturating_mul(2_u32.saturating_pow(retry));
                Some(doubled.min(self.longest_wait))
            }
        }
    }
}
