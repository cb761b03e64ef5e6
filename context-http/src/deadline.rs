//! Waits with a timeout, a deadline and cancellation.

use std::future::Future;
use std::time::Duration;

use context_core::CancelSignal;
use tokio::time::{Instant, sleep_until};

use crate::{HttpError, Phase};

/// The time at which a call must end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    /// `None` if the time is beyond the range of the clock.
    at: Option<Instant>,
    total: Duration,
}

impl Deadline {
    /// Creates a deadline `total` from now.
    pub(crate) fn within(total: Duration) -> Self {
        Self { at: Instant::now().checked_add(total), total }
    }

    /// Returns this deadline, or `total` from now if that is earlier.
    pub(crate) fn or_within(&self, total: Duration) -> Self {
        let sooner = Self::within(total);
        match (self.at, sooner.at) {
            (Some(at), Some(end)) if at <= end => *self,
            (_, None) => *self,
            _ => sooner,
        }
    }

    /// Returns whether more than `wait` is left.
    pub(crate) fn leaves(&self, wait: Duration) -> bool {
        self.at.is_none_or(|at| at.saturating_duration_since(Instant::now()) > wait)
    }
}

/// Returns the output of `work`, unless it takes longer than `longest`, the deadline passes, or the
/// signal is raised. Then `work` is dropped.
pub(crate) async fn with_limits<T>(
    work: impl Future<Output = T>,
    (phase, longest): (Phase, Duration),
    deadline: &Deadline,
    address: &str,
    cancel: &CancelSignal,
) -> Result<T, HttpError> {
    let own = Instant::now().checked_add(longest);
    let (end, phase, longest) = match (own, deadline.at) {
        (Some(own), Some(at)) if own <= at => (Some(own), phase, longest),
        (Some(own), None) => (Some(own), phase, longest),
        (_, at) => (at, Phase::Total, deadline.total),
    };
    let timer = async {
        match end {
            Some(end) => sleep_until(end).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(HttpError::Cancelled),
        done = work => Ok(done),
        () = timer => Err(HttpError::Timeout { address: address.to_owned(), phase, longest }),
    }
}
