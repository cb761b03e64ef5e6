//! Waiting, as something that is handed in.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;

/// Waits, and tells how long it took.
#[async_trait]
pub trait Sleeper: fmt::Debug + Send + Sync + 'static {
    /// How long ago some moment was that stays the same. Never goes back.
    fn elapsed(&self) -> Duration;

    /// Returns when this time is over.
    async fn sleep(&self, time: Duration);
}

/// Waits by tokio's timer, which the runtime must have; in paused time it is tokio's paused time.
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
