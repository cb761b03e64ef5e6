//! How often and how patiently a request is tried again.

use std::time::Duration;

use context_core::Retry;

use crate::HttpError;

/// How often a request is tried again, and how long it waits for that. What is tried again is said
/// at [`HttpError::retry`].
///
/// A wait that the service asks for is kept to the millisecond, without chance in it; where it asks
/// for none, each wait is twice the one before. A service that asks for more than the longest wait
/// is not asked again: sooner than it wants would only make it worse, and whoever calls is told how
/// long.
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
    /// Two, behind half a second and a second; at most 30 seconds at a time and 60 in all.
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
    /// Every request is sent once. For callers that try again themselves.
    pub fn none() -> Self {
        Self::at_most(0)
    }

    /// So many further tries.
    pub fn at_most(most: u32) -> Self {
        Self { most, ..Self::default() }
    }

    /// Waits so long before the first further try, where the service asks for no wait.
    pub fn first_wait(mut self, wait: Duration) -> Self {
        self.first = wait;
        self
    }

    /// Waits at most so long at a time.
    pub fn longest_wait(mut self, wait: Duration) -> Self {
        self.longest = wait;
        self
    }

    /// Waits at most so long in all.
    pub fn total_wait(mut self, wait: Duration) -> Self {
        self.total = wait;
        self
    }

    /// How long to wait before the next try, if there is one. `tried` counts the further tries
    /// there were, `waited` what they waited.
    pub(crate) fn wait(
        &self,
        tried: u32,
        waited: Duration,
        error: &HttpError,
        repeatable: bool,
    ) -> Option<Duration> {
        if tried >= self.most || error.retry(repeatable) != Retry::Safe {
            return None;
        }
        let doubled = self.first.saturating_mul(2_u32.saturating_pow(tried));
        let wait = match error.retry_after().filter(|asked| !asked.is_zero()) {
            Some(asked) if asked > self.longest => return None,
            Some(asked) => asked,
            None => doubled.min(self.longest),
        };
        (waited.saturating_add(wait) <= self.total).then_some(wait)
    }
}
