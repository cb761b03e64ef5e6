//! The waits between attempts.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// Waits between two attempts. The default implementation waits on tokio's clock. A test may record
/// the waits instead.
///
/// Implementors: dropping the future must end the wait.
pub trait Pauses: fmt::Debug + Send + Sync + 'static {
    /// Waits for `length`.
    fn pause(&self, length: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

/// Waits on tokio's clock.
#[derive(Debug)]
pub(crate) struct TokioPauses;

impl Pauses for TokioPauses {
    fn pause(&self, length: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(tokio::time::sleep(length))
    }
}
