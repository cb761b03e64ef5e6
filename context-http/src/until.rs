//! Waiting no longer than is allowed, and not at all once the caller cancels.

use std::future::Future;
use std::time::Duration;

use context_core::CancelSignal;
use tokio::time::{Instant, sleep_until};

use crate::{HttpError, Phase};

/// When a call has to be over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    /// Nothing if that is beyond all time.
    at: Option<Instant>,
    total: Duration,
}

impl Deadline {
    /// So long from now.
    pub(crate) fn within(total: Duration) -> Self {
        Self { at: Instant::now().checked_add(total), total }
    }

    /// The same, or sooner: so long from now.
    pub(crate) fn or_within(&self, total: Duration) -> Self {
        let sooner = Self::within(total);
        match (self.at, sooner.at) {
            (Some(at), Some(end)) if at <= end => *self,
            (_, None) => *self,
            _ => sooner,
        }
    }

    /// Whether there is so much time left.
    pub(crate) fn leaves(&self, wait: Duration) -> bool {
        self.at.is_none_or(|at| at.saturating_duration_since(Instant::now()) > wait)
    }
}

/// What the work gives, unless it takes longer than `longest`, the deadline passes, or the signal
/// is raised; then it is dropped where it stands.
pub(crate) async fn until<T>(
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
