//! Cancellable waiting.

use std::future::Future;
use std::pin::pin;

use context_core::{CancelSignal, Result};
use futures_util::future::{Either, select};

/// Returns the result of `work`, or [`ErrorKind::Cancelled`](context_core::ErrorKind::Cancelled) as
/// soon as the signal is raised. Cancelled work is dropped at its current await point.
pub(crate) async fn unless_cancelled<T>(
    cancel: &CancelSignal,
    operation: &'static str,
    work: impl Future<Output = T>,
) -> Result<T> {
    cancel.check(operation)?;
    match select(pin!(work), cancel.cancelled()).await {
        Either::Left((done, _)) => Ok(done),
        Either::Right(((), _)) => Err(cancel.check(operation).err().unwrap_or_else(|| {
            context_core::Error::new(
                context_core::ErrorKind::Cancelled,
                operation,
                "cancelled by the caller",
            )
        })),
    }
}
