//! Waiting for something that the caller may cancel.

use std::future::Future;
use std::pin::pin;

use context_core::{CancelSignal, Result};
use futures_util::future::{Either, select};

/// What the work gives, or an [`ErrorKind::Cancelled`](context_core::ErrorKind::Cancelled) as soon
/// as the signal is raised. Work that is cancelled is dropped where it stands.
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
