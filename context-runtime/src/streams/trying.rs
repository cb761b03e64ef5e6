//! Making a call again whose failure says that this is safe.

use std::future::Future;
use std::time::Duration;

use context_core::{Result, Retry};
use tokio::time::sleep;

/// Sets the maximum number of tries.
const TRIES: u32 = 5;
/// How long to wait before the second; then twice as long each time.
const PAUSE: Duration = Duration::from_millis(50);

/// Makes a call until it succeeds, fails for good, or has been tried often enough.
pub(super) async fn persistently<T, F: Future<Output = Result<T>>>(
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
