//! Options for portraits.

use std::time::Duration;

use context_core::ModelError;

/// Options for portraits.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub struct PortraitOptions {
    /// The number of portraits made concurrently, at least 1. Default: 4.
    pub concurrency: usize,
    /// The time limit of one model call. Default: 300 seconds.
    pub call_limit: Duration,
    /// The number of retries of a call whose error is retryable. Default: 2.
    pub retries: u32,
    /// The delay before the first retry. It doubles with each further retry. Default: 1 second.
    pub first_wait: Duration,
    /// The longest delay before a retry. If the provider asks for a longer one, the call is not
    /// retried until a later schedule. Default: 30 seconds.
    pub longest_wait: Duration,
    /// The output token limit, which includes reasoning. `None` leaves it to the provider. Default:
    /// 1,000.
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
    /// Returns the default options.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the number of concurrent portraits.
    pub fn concurrency(mut self, portraits: usize) -> Self {
        self.concurrency = portraits;
        self
    }

    /// Sets the time limit of one call.
    pub fn call_limit(mut self, limit: Duration) -> Self {
        self.call_limit = limit;
        self
    }

    /// Sets the number of retries.
    pub fn retries(mut self, retries: u32) -> Self {
        self.retries = retries;
        self
    }

    /// Returns the delay before a retry, counted from 0, or `None` if the call is not retried.
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
