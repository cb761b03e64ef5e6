//! No turn waits, no queued turn is lost, and no turn is reported as stored before it is.

use std::sync::atomic::Ordering;

use context_core::base::CancelSource;
use context_core::memory::{MemoryForget, MemoryScope, MemorySource};
use context_core::{ErrorKind, MemoryProvider, Retry};
use context_memory::Queued;

use crate::kit::{FlakyProvider, ada, never, recall, turn};

#[tokio::test(start_paused = true)]
async fn a_capture_is_taken_at_once_and_kept_behind() {
    let queue = Queued::new(FlakyProvider::failing(0, ErrorKind::Unavailable));
    let held = queue.inner().held.lock().await;
    for at in 0..3 {
        queue
            .capture(&turn(&ada("s"), at * 2, &["The harbour is closed."]), &never())
            .await
            .unwrap();
    }
    assert_eq!(queue.waiting(), 3);
    assert!(recall(&queue, ada("t"), "harbour").await.is_empty());
    drop(held);
    queue.flush(&never()).await.unwrap();
    assert_eq!((queue.waiting(), recall(&queue, ada("t"), "harbour").await.len()), (0, 1));
    assert_eq!(*queue.inner().told.lock().unwrap(), ["t0", "t2", "t4"]);
}

#[tokio::test(start_paused = true)]
async fn what_fails_is_tried_again_in_its_order() {
    let queue = Queued::new(FlakyProvider::failing(3, ErrorKind::Unavailable));
    for at in 0..2 {
        queue.capture(&turn(&ada("s"), at * 2, &["x"]), &never()).await.unwrap();
    }
    queue.flush(&never()).await.unwrap();
    assert_eq!(*queue.inner().told.lock().unwrap(), ["t0", "t0", "t0", "t0", "t2"]);
}

#[tokio::test(start_paused = true)]
async fn a_memory_that_stays_down_is_said_by_the_flush_and_loses_nothing() {
    let queue = Queued::new(FlakyProvider::failing(7, ErrorKind::Unavailable));
    queue.capture(&turn(&ada("s"), 0, &["The harbour is closed."]), &never()).await.unwrap();
    let error = queue.flush(&never()).await.unwrap_err();
    assert_eq!((error.kind(), error.retry()), (ErrorKind::Unavailable, Retry::Safe));
    assert_eq!(queue.waiting(), 1);
    // Later turns wait behind it.
    queue.capture(&turn(&ada("s"), 2, &["It opens on Friday."]), &never()).await.unwrap();
    queue.flush(&never()).await.unwrap();
    assert_eq!(queue.waiting(), 0);
    assert_eq!(recall(&queue, ada("t"), "harbour Friday").await.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_refuses_and_takes_the_same_turn_later() {
    let queue = Queued::bounded(FlakyProvider::failing(0, ErrorKind::Unavailable), 2, 1 << 20);
    let held = queue.inner().held.lock().await;
    let turns: Vec<_> = (0..3).map(|at| turn(&ada("s"), at * 2, &["x"])).collect();
    queue.capture(&turns[0], &never()).await.unwrap();
    queue.capture(&turns[1], &never()).await.unwrap();
    let error = queue.capture(&turns[2], &never()).await.unwrap_err();
    assert_eq!((error.kind(), error.retry()), (ErrorKind::Unavailable, Retry::Safe));
    assert!(error.to_string().contains("limit"), "{error}");
    drop(held);
    queue.flush(&never()).await.unwrap();
    queue.capture(&turns[2], &never()).await.unwrap();
    queue.flush(&never()).await.unwrap();
    // The limit in bytes: a turn that is too large is accepted if it is alone.
    let small = Queued::bounded(FlakyProvider::failing(0, ErrorKind::Unavailable), 100, 10);
    let held = small.inner().held.lock().await;
    small.capture(&turns[0], &never()).await.unwrap();
    assert!(small.capture(&turns[1], &never()).await.is_err());
    drop(held);
}

#[tokio::test(start_paused = true)]
async fn what_can_never_be_kept_is_dropped_and_said_once() {
    let queue = Queued::new(FlakyProvider::failing(1, ErrorKind::Invalid));
    for at in 0..2 {
        queue
            .capture(&turn(&ada("s"), at * 2, &["The harbour is closed."]), &never())
            .await
            .unwrap();
    }
    let error = queue.flush(&never()).await.unwrap_err();
    assert_eq!((error.kind(), error.retry()), (ErrorKind::Invalid, Retry::Never));
    queue.flush(&never()).await.unwrap();
    assert_eq!(recall(&queue, ada("t"), "harbour").await.len(), 1);
}

/// Regression: a wrong key is not the turn's fault, but the turn was dropped as one that can never
/// be stored.
#[tokio::test(start_paused = true)]
async fn a_memory_that_refuses_to_work_is_asked_once_and_loses_nothing() {
    let refusing = FlakyProvider::failing(1, ErrorKind::Unavailable);
    let queue = Queued::new(FlakyProvider { retry: Some(Retry::Never), ..refusing });
    queue.capture(&turn(&ada("s"), 0, &["The harbour is closed."]), &never()).await.unwrap();
    let error = queue.flush(&never()).await.unwrap_err();
    assert_eq!((error.kind(), error.retry()), (ErrorKind::Unavailable, Retry::Never));
    assert_eq!((queue.waiting(), queue.inner().told.lock().unwrap().len()), (1, 1));
    // With the right key the work continues.
    queue.flush(&never()).await.unwrap();
    assert_eq!((queue.waiting(), recall(&queue, ada("t"), "harbour").await.len()), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn forgetting_reaches_what_is_on_its_way() {
    let queue = Queued::new(FlakyProvider::failing(2, ErrorKind::Unavailable));
    queue.capture(&turn(&ada("s"), 0, &["My password is swordfish."]), &never()).await.unwrap();
    let forget = MemoryForget::source(MemoryScope::new("ada"), MemorySource::session("s"));
    assert_eq!(queue.forget(&forget).await.unwrap().removed, 1);
    assert!(recall(&queue, ada("t"), "password").await.is_empty());
    // A turn that cannot be stored cannot be reported as forgotten.
    queue.inner().failures.store(100, Ordering::SeqCst);
    queue.capture(&turn(&ada("s"), 2, &["My password is codfish."]), &never()).await.unwrap();
    assert_eq!(queue.forget(&forget).await.unwrap_err().kind(), ErrorKind::Unavailable);
    queue.inner().failures.store(0, Ordering::SeqCst);
    assert_eq!(queue.forget(&forget).await.unwrap().remaining, 0);
    assert!(recall(&queue, ada("t"), "password").await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn who_cancels_a_flush_does_not_wait_and_the_work_goes_on() {
    let queue = Queued::new(FlakyProvider::failing(0, ErrorKind::Unavailable));
    let held = queue.inner().held.lock().await;
    queue.capture(&turn(&ada("s"), 0, &["x"]), &never()).await.unwrap();
    let source = CancelSource::new();
    source.cancel();
    assert_eq!(queue.flush(&source.signal()).await.unwrap_err().kind(), ErrorKind::Cancelled);
    drop(held);
    queue.flush(&never()).await.unwrap();
    assert_eq!(queue.waiting(), 0);
}

#[test]
fn a_queue_whose_runtime_ended_says_so_and_goes_on_in_the_next() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let queue = Queued::new(FlakyProvider::failing(0, ErrorKind::Unavailable));
    runtime().block_on(async {
        let _held = queue.inner().held.lock().await;
        queue.capture(&turn(&ada("s"), 0, &["The harbour is closed."]), &never()).await.unwrap();
        tokio::task::yield_now().await;
    });
    assert_eq!(queue.waiting(), 1);
    runtime().block_on(async {
        queue.flush(&never()).await.unwrap();
        assert_eq!(recall(&queue, ada("t"), "harbour").await.len(), 1);
    });
}
