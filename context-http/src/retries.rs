//! The retry policy of requests.

use std::time::Duration;

use context_core::Retry;

use crate::HttpError;

/// The number of retries and the waits before them. [`HttpError::retry`] says which errors are
/// retried.
///
/// A wait that the service asks for is kept to the millisecond, without jitter. If the service asks
/// for none, each wait is twice the previous one. A service that asks for more than the longest
/// wait is not called again: an earlier retry would make matters worse, and the error tells the
/// caller how long to wait.
///
/// ```
/// use std::time::Duration;
///
/// use context_http::Retries;
///
/// let retries = Retries::at_most(4).first_wait(Duration::from_millis(200));
/// assert_ne!(retries, Retries::none());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Retries {
    most: u32,
    first: Duration,
    longest: Duration,
    total: Duration,
}

impl Default for Retries {
    /// Returns two retries, after half a second and a second; at most 30 seconds at a time and 60
    /// in total.
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            most: 2,
            first: Duration::from_millis(500),
            longest: seconds(30),
            total: seconds(60),
        }
    }
}

impl Retries {
    /// Sends every request once, for callers that retry themselves.
    pub fn none() -> Self {
        Self::at_most(0)
    }

    /// Allows `most` retries.
    pub fn at_most(most: u32) -> Self {
        Self { most, ..Self::default() }
    }

    /// Sets the wait before the first retry, if the service asks for no wait.
    pub fn first_wait(mut self, wait: Duration) -> Self {
        self.first = wait;
        self
    }

    /// Limits a single wait.
    pub fn longest_wait(mut self, wait: Duration) -> Self {
        self.longest = wait;
        self
    }

    /// Limits the sum of the waits.
    pub fn total_wait(mut self, wait: Duration) -> Self {
        self.total = wait;
        self
    }

    /// Returns the wait before the next attempt, if there is one. `retries_done` is the number of
    /// retries so far, `waited` the time they waited.
    pub(crate) fn wait(
        &self,
        retries_done: u32,
        waited: Duration,
        error: &HttpError,
        repeatable: bool,
    ) -> Option<Duration> {
        if retries_done >= self.most || error.retry(repeatable) != Retry::Safe {
            return None;
        }
        let doubled = self.first.saturating_mul(2_u32.saturating_pow(retries_done));
        let wait = match error.retry_after().filter(|asked| !asked.is_zero()) {
            Some(asked) if asked > self.longest => return None,
            Some(asked) => asked,
            None => doubled.min(self.longest),
        };
        (waited.saturating_add(wait) <= self.total).then_some(wait)
    }
}
