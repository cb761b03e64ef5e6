//! Limits of a call.

use std::time::Duration;

/// Limits on the attempts at one call.
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
    /// The maximum number of requests, summaries included. Default: 8; at least one.
    pub max_calls: u32,
    /// The maximum number of times a request is sent again unchanged, because the provider was busy
    /// or failed, or because the answer was empty or broke off. Default: 3.
    pub retries: u32,
    /// The wait before the first retry if the provider names none. It doubles with each further
    /// retry. Default: one second.
    pub first_wait: Duration,
    /// The longest wait. If the provider asks for a longer one, the call gives up. Default: one
    /// minute.
    pub longest_wait: Duration,
    /// Whether the call itself waits before a retry. Otherwise
    /// [`CallRequest::wait`](crate::CallRequest::wait) names the wait, and the program waits.
    /// Default: yes.
    pub sleep: bool,
    /// Whether an answer that was cut off at
    /// [`PrepareInput::max_output_tokens`](crate::PrepareInput::max_output_tokens) is requested
    /// again, once, with twice the limit. Default: yes.
    pub grow_output: bool,
}

impl Default for CallOptions {
    fn default() -> Self {
        Self {
            max_calls: 8,
            retries: 3,
            first_wait: Duration::from_secs(1),
            longest_wait: Duration::from_secs(60),
            sleep: true,
            grow_output: true,
        }
    }
}

impl CallOptions {
    /// Returns the defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the maximum number of requests, summaries included.
    pub fn max_calls(mut self, calls: u32) -> Self {
        self.max_calls = calls;
        self
    }

    /// Sets how often a request is sent again unchanged.
    pub fn retries(mut self, retries: u32) -> Self {
        self.retries = retries;
        self
    }

    /// Sets the wait before the first retry.
    pub fn first_wait(mut self, wait: Duration) -> Self {
        self.first_wait = wait;
        self
    }

    /// Sets the longest wait. A provider that asks for more is not waited for.
    pub fn longest_wait(mut self, wait: Duration) -> Self {
        self.longest_wait = wait;
        self
    }

    /// Sets whether the call itself waits before a retry.
    pub fn sleep(mut self, sleep: bool) -> Self {
        self.sleep = sleep;
        self
    }

    /// Sets whether an answer that was cut off is requested again with more room.
    pub fn grow_output(mut self, grow: bool) -> Self {
        self.grow_output = grow;
        self
    }

    /// Returns the wait before a retry, counted from 0. `None` if the provider asks for more than
    /// the longest wait.
    pub(super) fn wait(&self, retry: u32, asked: Option<Duration>) -> Option<Duration> {
        let doubled = self.first_wait.saturating_mul(2_u32.saturating_pow(retry));
        match asked {
            Some(asked) => (asked <= self.longest_wait).then_some(asked),
            None => Some(doubled.min(self.longest_wait)),
        }
    }
}
