//! The policy of retries: the number of tries, and the waits between them.

use std::time::Duration;

/// Limits on the number of tries and on the waits between them.
///
/// ```
/// use std::time::Duration;
///
/// use context_store_layers::RetryPolicy;
///
/// let policy = RetryPolicy::default()
///     .tries(3)
///     .waits(Duration::from_millis(10), Duration::from_millis(200))
///     .total(Duration::from_secs(1));
/// assert_ne!(policy, RetryPolicy::default());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetryPolicy {
    /// The maximum number of tries, including the first. 1 means no retries.
    pub tries: u32,
    /// The wait before the second try. It doubles before each further try. Up to half of a wait is
    /// left out.
    pub first_wait: Duration,
    /// The longest wait.
    pub longest_wait: Duration,
    /// The time after the first try in which a further try may begin.
    pub total: Duration,
}

impl Default for RetryPolicy {
    /// Five tries within ten seconds, with waits from 50 milliseconds to two seconds.
    fn default() -> Self {
        Self {
            tries: 5,
            first_wait: Duration::from_millis(50),
            longest_wait: Duration::from_secs(2),
            total: Duration::from_secs(10),
        }
    }
}

impl RetryPolicy {
    /// Sets the maximum number of tries.
    #[must_use]
    pub fn tries(mut self, tries: u32) -> Self {
        self.tries = tries;
        self
    }

    /// Sets the first and the longest wait.
    #[must_use]
    pub fn waits(mut self, first: Duration, longest: Duration) -> Self {
        (self.first_wait, self.longest_wait) = (first, longest);
        self
    }

    /// Sets the time after the first try in which a further try may begin.
    #[must_use]
    pub fn total(mut self, total: Duration) -> Self {
        self.total = total;
        self
    }

    /// Returns the wait after this many tries. `spread`, which may be any number, selects how much
    /// of the wait is left out.
    pub(super) fn wait(&self, tries: u32, spread: u64) -> Duration {
        let doubled = 2_u32.saturating_pow(tries.saturating_sub(1));
        let whole = self.first_wait.saturating_mul(doubled).min(self.longest_wait);
        let half = whole / 2;
        whole - half.mul_f64(spread as f64 / u64::MAX as f64).min(half)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest_and_are_spread_downwards() {
        let policy = RetryPolicy::default();
        let millis = |tries, spread| policy.wait(tries, spread).as_millis();
        assert_eq!(
            [1, 2, 3, 6, 7, 40, u32::MAX].map(|n| millis(n, 0)),
            [50, 100, 200, 1600, 2000, 2000, 2000]
        );
        assert_eq!([1, 2, 7].map(|n| millis(n, u64::MAX)), [25, 50, 1000]);
        assert_eq!(millis(7, u64::MAX / 2), 1500);
        let endless = RetryPolicy::default().waits(Duration::MAX, Duration::MAX);
        assert!(endless.wait(9, 7) > Duration::from_secs(1));
    }
}
