//! The task that stores queued turns.

use std::sync::Arc;
use std::time::Duration;

use context_core::{CancelSignal, Error, ErrorKind, MemoryProvider, Retry};

use super::turn_queue::TurnQueue;

/// The number of attempts before a turn is postponed.
const TRIES: u32 = 5;

/// The first delay. It doubles with each retry.
const PAUSE: Duration = Duration::from_millis(100);

/// Starts the task. It ends when the queue is empty.
pub(super) fn start<P: MemoryProvider>(provider: Arc<P>, queue: Arc<TurnQueue>) {
    let watch = TaskGuard { queue, ended: false };
    tokio::spawn(async move {
        // Moves the whole value into the task instead of single fields.
        let mut watch = watch;
        keep(&*provider, &watch.queue).await;
        watch.ended = true;
    });
}

/// Stores turns until the queue is empty or the first turn is postponed.
async fn keep(provider: &dyn MemoryProvider, queue: &TurnQueue) {
    while let Some(turn) = queue.first() {
        let mut failed = 0;
        loop {
            let kept = provider.capture(&turn, &CancelSignal::never()).await;
            match kept {
                Ok(()) => queue.done(None),
                // The memory refuses to work, for example because of a wrong key. The turn is not
                // the cause.
                Err(error)
                    if error.retry() == Retry::Never && error.kind() == ErrorKind::Unavailable =>
                {
                    queue.postpone(error);
                    return;
                }
                Err(error) if error.retry() == Retry::Never => queue.done(Some(error)),
                Err(error) => {
                    failed += 1;
                    if failed == TRIES {
                        queue.postpone(error);
                        return;
                    }
                    tokio::time::sleep(PAUSE * 2_u32.pow(failed - 1)).await;
                    continue;
                }
            }
            break;
        }
    }
}

/// Marks the work as postponed if the task is dropped with its runtime or its provider panics, so
/// that no caller waits forever.
struct TaskGuard {
    queue: Arc<TurnQueue>,
    ended: bool,
}

impl Drop for TaskGuard {
    fn drop(&mut self) {
        if !self.ended {
            self.queue.postpone(Error::new(
                ErrorKind::Unavailable,
                "capture",
                "the task that stores captures has ended",
            ));
        }
    }
}
