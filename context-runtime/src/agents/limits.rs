//! Limits of a turn.

use std::time::Duration;

/// The most that one turn may use. A turn that reaches a limit ends with an error that names it;
/// its history stays valid, and [`AgentChat::resume`](crate::AgentChat::resume) continues it.
///
/// ```
/// use std::time::Duration;
///
/// use context_runtime::TurnLimits;
///
/// let limits = TurnLimits::new().steps(5).time(Duration::from_secs(60));
/// assert_eq!(limits.calls, 64);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub struct TurnLimits {
    /// The number of requests to models, with retries and summaries. Default: 64.
    pub calls: u32,
    /// The number of times that the model gets tool results. Default: 32.
    pub steps: u32,
    /// The time from the question to the answer. Default: one hour.
    pub time: Duration,
}

impl Default for TurnLimits {
    fn default() -> Self {
        Self { calls: 64, steps: 32, time: Duration::from_secs(3_600) }
    }
}

impl TurnLimits {
    /// Returns the defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the number of requests, with retries and summaries.
    pub fn calls(mut self, calls: u32) -> Self {
        self.calls = calls;
        self
    }

    /// Sets how often the model gets tool results.
    pub fn steps(mut self, steps: u32) -> Self {
        self.steps = steps;
        self
    }

    /// Sets the time from the question to the answer.
    pub fn time(mut self, time: Duration) -> Self {
        self.time = time;
        self
    }
}
