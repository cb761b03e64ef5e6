//! The tries of one call.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use context_core::{Error, IdGenerator, Result, Retry};

use super::policy::RetryPolicy;
use super::sleeper::Sleeper;

/// The number of failed tries of a call, and the time of the first.
pub(super) struct Attempts<'a> {
    policy: &'a RetryPolicy,
    sleeper: &'a dyn Sleeper,
    ids: &'a dyn IdGenerator,
    began: Duration,
    failed: u32,
}

impl<'a> Attempts<'a> {
    pub(super) fn new(
        policy: &'a RetryPolicy,
        sleeper: &'a dyn Sleeper,
        ids: &'a dyn IdGenerator,
    ) -> Self {
        Self { policy, sleeper, ids, began: sleeper.elapsed(), failed: 0 }
    }

    /// Whether a try failed, and so may have been carried out.
    pub(super) fn lost(&self) -> bool {
        self.failed > 0
    }

    /// Waits before the next try. Returns the error if there is none.
    pub(super) async fn failed(&mut self, error: Error) -> Result<()> {
        if error.retry() != Retry::Safe {
            return Err(error);
        }
        self.failed += 1;
        let mut spread = DefaultHasher::new();
        self.ids.next_id().hash(&mut spread);
        let wait = self.policy.wait(self.failed, spread.finish());
        let spent = self.sleeper.elapsed().saturating_sub(self.began);
        if self.failed >= self.policy.tries || spent.saturating_add(wait) > self.policy.total {
            return Err(error.with("tries", self.failed));
        }
        self.sleeper.sleep(wait).await;
        Ok(())
    }
}
