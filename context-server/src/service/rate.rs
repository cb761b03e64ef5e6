//! The rate of requests of each user.

use std::time::{Duration, Instant};

use context_runtime::UserId;
use moka::sync::Cache;
use std::sync::{Arc, Mutex, PoisonError};

/// The number of users whose rate is remembered.
const USERS: u64 = 100_000;

/// A bucket of requests for each user, which fills at a rate and holds a burst of two seconds.
#[derive(Clone, Debug)]
pub(crate) struct RateLimit {
    per_second: f64,
    buckets: Cache<UserId, Arc<Mutex<Bucket>>>,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    left: f64,
    at: Instant,
}

impl RateLimit {
    pub(crate) fn new(per_second: u32) -> Self {
        Self { per_second: f64::from(per_second), buckets: Cache::new(USERS) }
    }

    /// Takes a request of a user. Returns the time to wait if there are too many.
    pub(crate) fn take(&self, user: &UserId, now: Instant) -> Result<(), Duration> {
        let burst = self.per_second * 2.0;
        let new = || Arc::new(Mutex::new(Bucket { left: burst, at: now }));
        let bucket = self.buckets.get_with_by_ref(user, new);
        let mut bucket = bucket.lock().unwrap_or_else(PoisonError::into_inner);
        let since = now.saturating_duration_since(bucket.at).as_secs_f64();
        bucket.left = (bucket.left + since * self.per_second).min(burst);
        bucket.at = now;
        if bucket.left < 1.0 {
            return Err(Duration::from_secs_f64((1.0 - bucket.left) / self.per_second));
        }
        bucket.left -= 1.0;
        Ok(())
    }
}
