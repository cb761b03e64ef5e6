//! How the wait between two tries is spent.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// Waits between two tries. The one there is waits on tokio's clock; a test may write down what it
/// is asked for instead.
///
/// Implementors: a pause that is dropped is over.
pub trait Pauses: fmt::Debug + Send + Sync + 'static {
    /// Waits so long.
    fn pause(&self, length: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

/// Pauses on tokio's clock.
#[derive(Debug)]
pub(crate) struct TokioPauses;

impl Pauses for TokioPauses {
    fn pause(&self, length: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(tokio::time::sleep(length))
    }
}
