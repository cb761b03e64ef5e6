//! The task that keeps what waits.

use std::sync::Arc;
use std::time::Duration;

use context_core::{CancelSignal, Error, ErrorKind, MemoryProvider, Retry};

use super::line::Line;

/// How often one turn is tried before it rests.
const TRIES: u32 = 5;

/// How long the first pause is; each later one is twice as long.
const PAUSE: Duration = Duration::from_millis(100);

/// Starts the task. It ends when nothing waits any more.
pub(super) fn start<P: MemoryProvider>(provider: Arc<P>, line: Arc<Line>) {
    let watch = Watch { line, ended: false };
    tokio::spawn(async move {
        // Whole, not field by field.
        let mut watch = watch;
        keep(&*provider, &watch.line).await;
        watch.ended = true;
    });
}

/// Keeps turns until none waits, or the first of them rests.
async fn keep(provider: &dyn MemoryProvider, line: &Line) {
    while let Some(turn) = line.first() {
        let mut failed = 0;
        loop {
            let kept = provider.capture(&turn, &CancelSignal::never()).await;
            match kept {
                Ok(()) => line.done(None),
                // The memory refuses to work, as it does with a wrong key. The turn has nothing to
                // do with it.
                Err(error)
                    if error.retry() == Retry::Never && error.kind() == ErrorKind::Unavailable =>
                {
                    line.rest(error);
                    return;
                }
                Err(error) if error.retry() == Retry::Never => line.done(Some(error)),
                Err(error) => {
                    failed += 1;
                    if failed == TRIES {
                        line.rest(error);
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

/// Says that the work rests if the task is dropped with its runtime, or its provider panics: so
/// nobody waits for it for ever.
struct Watch {
    line: Arc<Line>,
    ended: bool,
}

impl Drop for Watch {
    fn drop(&mut self) {
        if !self.ended {
            self.line.rest(Error::new(
                ErrorKind::Unavailable,
                "capture",
                "the task that keeps captures has ended",
            ));
        }
    }
}
