//! Limits of a call.

use std::time::Duration;

/// How much may be tried for one call.
///
/// ```
/// use std::time::Duration;
///
/// use context_runtime::CallOptions;
///
/// let mut options = CallOptions::default();
/// options.max_calls = 3; // whatever the provider says
/// options.longest_wait = Duration::from_secs(5);
/// assert_eq!(options.retries, 3);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallOptions {
    /// How many requests are sent at most, summaries included. Default: 8; at least one.
    pub max_calls: u32,
    /// How often a request is sent again as it is, because the provider was busy or failed, or because the answer was empty or
    /// broke off. Default: 3.
    pub retries: u32,
    /// How long to wait before the first retry where the provider does not say; each further one waits twice as long. Default: one second.
    pub first_wait: Duration,
    /// The longest wait. A provider that wants more is not waited for. Default: one minute.
    pub longest_wait: Duration,
    /// Whether an answer that was cut off at [`PrepareInput::max_output_tokens`](crate::PrepareInput::max_output_tokens) is asked for
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
    /// How long to wait before a retry, counted from 0; nothing if that is too long.
    pub(super) fn wait(&self, retry: u32, asked: Option<Duration>) -> Option<Duration> {
        let doubled = self.first_wait.saturating_mul(2_u32.saturating_pow(retry));
        match asked {
            Some(asked) => (asked <= self.longest_wait).then_some(asked),
            None => Some(doubled.min(self.longest_wait)),
        }
    }
}
