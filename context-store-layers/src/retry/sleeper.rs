//! An injectable timer.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;

/// A timer that waits and measures elapsed time.
#[async_trait]
pub trait Sleeper: fmt::Debug + Send + Sync + 'static {
    /// Returns the time since a fixed moment. Never decreases.
    fn elapsed(&self) -> Duration;

    /// Returns after the given time.
    async fn sleep(&self, time: Duration);
}

/// Tokio's timer, which the runtime must have enabled. If tokio's time is paused, the paused time
/// is used.
#[derive(Clone, Copy, Debug)]
pub struct TokioSleeper(Instant);

impl Default for TokioSleeper {
    fn default() -> Self {
        Self(Instant::now())
    }
}

#[async_trait]
impl Sleeper for TokioSleeper {
    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    async fn sleep(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }
}
