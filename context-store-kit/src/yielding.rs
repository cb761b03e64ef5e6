//! Letting other tasks run.

use std::future::poll_fn;
use std::mem;
use std::task::Poll;

/// Lets every other ready task run once, on any runtime that runs ready tasks in order.
///
/// A call that never waits, as a write in memory, keeps its thread from other tasks for as long as
/// its caller repeats it.
pub async fn yield_now() {
    let mut yielded = false;
    poll_fn(|context| {
        if mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
