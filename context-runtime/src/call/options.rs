//! Limits of a call.

use std::time::Duration;

/// How much may be tried for one call.
///
/// ```
/// use context_runtime::CallOptions;
///
/// let impatient = CallOptions::new().max_calls(3).longest_wait(std::time::Duration::from_secs(5));
/// assert_eq!(impatient.retries, 3);
/// ```
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallOptions {
    /// How many requests are sent at most, summaries included. Default: 8; at least one.
    pub max_calls: u32,
    /// How often a request is sent again as it is, because the provider was busy or failed, or
    /// because the answer was empty or broke off. Default: 3.
    pub retries: u32,
    /// How long to wait before the first retry where the provider does not say; each further one
    /// waits twice as long. Default: one second.
    pub first_wait: Duration,
    /// The longest wait. A provider that wants more is not waited for. Default: one minute.
    pub longest_wait: Duration,
    /// Whether an answer that was cut off at
    /// [`PrepareInput::max_output_tokens`](crate::PrepareInput::max_output_tokens) is asked for
    /// again, once, with twice as many. Default: yes.
    pub grow_output: bool,
}

impl Default for CallOptions {
    fn default() -> Self {
        Self {
            max_calls: 8,
            retries: 3,
            first_wait: Duration::from_secs(1),
            longest_wait: Duration::from_secs(60),
            grow_output: true,
        }
    }
}

impl CallOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sends at most so many requests, summaries included.
    pub fn max_calls(mut self, calls: u32) -> Self {
        self.max_calls = calls;
        self
    }

    /// Sends a request at most so often again as it is.
    pub fn retries(mut self, retries: u32) -> Self {
        self.retries = retries;
        self
    }

    /// Waits so long before the first retry.
    pub fn first_wait(mut self, wait: Duration) -> Self {
        self.first_wait = wait;
        self
    }

    /// Waits for no provider that wants more than this.
    pub fn longest_wait(mut self, wait: Duration) -> Self {
        self.longest_wait = wait;
        self
    }

    /// Whether an answer that was cut off is asked for again with more room.
    pub fn grow_output(mut self, grow: bool) -> Self {
        self.grow_output = grow;
        self
    }

    /// How long to wait before a retry, counted from 0; nothing if that is too long.
    pub(super) fn wait(&self, retry: u32, asked: Option<Duration>) -> Option<Duration> {
        let doubled = self.first_wait.saturating_mul(2_u32.saturating_pow(retry));
        match asked {
            Some(asked) => (asked <= self.longest_wait).then_some(asked),
            None => Some(doubled.min(self.longest_wait)),
        }
    }
}
