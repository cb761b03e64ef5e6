//! Retrying calls whose error says that a retry is safe.

use std::future::Future;
use std::time::Duration;

use context_core::{Result, Retry};
use tokio::time::sleep;

/// The maximum number of tries.
const TRIES: u32 = 5;
/// The wait before the second call. It doubles with each further call.
const PAUSE: Duration = Duration::from_millis(50);

/// Repeats a call until it succeeds, fails permanently, or the limit is reached.
pub(super) async fn retry<T, F: Future<Output = Result<T>>>(
    mut call: impl FnMut() -> F,
) -> Result<T> {
    let mut pause = PAUSE;
    for _ in 1..TRIES {
        match call().await {
            Err(error) if error.retry() == Retry::Safe => sleep(pause).await,
            result => return result,
        }
        pause *= 2;
    }
    call().await
}
