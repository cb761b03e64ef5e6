//! Telling long work to stop, without a runtime.
//!
//! A [`CancelSource`] is kept by who may cancel, the [`CancelSignal`] is handed down. Work either
//! asks ([`CancelSignal::is_cancelled`], between two steps) or waits ([`CancelSignal::cancelled`],
//! beside something else). Cancelling is for good; there is no reset.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::{Error, ErrorKind, Result};

#[derive(Debug, Default)]
struct Shared {
    cancelled: AtomicBool,
    /// One slot per waiting future, reused when the future goes.
    waiting: Mutex<Vec<Option<Waker>>>,
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, Vec<Option<Waker>>> {
        // Nothing can panic while the lock is held, and a list of wakers is sound in any state.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The side that cancels. Dropping it cancels nothing.
///
/// ```
/// use context_core::base::CancelSource;
///
/// let source = CancelSource::new();
/// let signal = source.signal();
/// assert!(signal.check("import").is_ok());
/// source.cancel();
/// assert_eq!(signal.check("import").unwrap_err().kind(), context_core::ErrorKind::Cancelled);
/// ```
#[derive(Clone, Debug, Default)]
pub struct CancelSource(Arc<Shared>);

impl CancelSource {
    /// A source that has not cancelled yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A signal to hand down; there may be any number.
    pub fn signal(&self) -> CancelSignal {
        CancelSignal(Some(Arc::clone(&self.0)))
    }

    /// Cancels, for good. Wakes everyone who waits.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::SeqCst);
        let wakers: Vec<_> = self.0.waiting().iter_mut().filter_map(Option::take).collect();
        wakers.into_iter().for_each(Waker::wake);
    }
}

/// The side that is cancelled. The default one never is.
#[derive(Clone, Debug, Default)]
pub struct CancelSignal(Option<Arc<Shared>>);

impl CancelSignal {
    /// A signal nobody can raise.
    pub fn never() -> Self {
        Self::default()
    }

    /// Whether the work should stop.
    pub fn is_cancelled(&self) -> bool {
        self.0.as_ref().is_some_and(|shared| shared.cancelled.load(Ordering::SeqCst))
    }

    /// An [`ErrorKind::Cancelled`] once the work should stop.
    pub fn check(&self, operation: &'static str) -> Result<()> {
        if self.is_cancelled() {
            return Err(Error::new(ErrorKind::Cancelled, operation, "cancelled by the caller"));
        }
        Ok(())
    }

    /// Completes when cancelled; never, if that does not happen.
    pub fn cancelled(&self) -> Cancelled {
        Cancelled { shared: self.0.clone(), slot: None }
    }
}

/// The future of [`CancelSignal::cancelled`].
#[derive(Debug)]
pub struct Cancelled {
    shared: Option<Arc<Shared>>,
    slot: Option<usize>,
}

impl Future for Cancelled {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Some(shared) = self.shared.clone() else { return Poll::Pending };
        let mut waiting = shared.waiting();
        // Checked under the lock that `cancel` takes after it has set the flag: no wake-up is
        // missed.
        if shared.cancelled.load(Ordering::SeqCst) {
            return Poll::Ready(());
        }
        let slot = *self.slot.get_or_insert_with(|| {
            // Until the cancel, an empty slot is one whose future went away.
            waiting.iter().position(Option::is_none).unwrap_or_else(|| {
                waiting.push(None);
                waiting.len() - 1
            })
        });
        waiting[slot] = Some(context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Cancelled {
    fn drop(&mut self) {
        if let (Some(shared), Some(slot)) = (&self.shared, self.slot) {
            shared.waiting()[slot] = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn wakes_everyone_once_and_stays_cancelled() {
        let source = CancelSource::new();
        let count = Arc::new(Count::default());
        let waker = Waker::from(Arc::clone(&count));
        let mut context = Context::from_waker(&waker);
        let mut futures: Vec<_> = (0..3).map(|_| Box::pin(source.signal().cancelled())).collect();
        assert!(futures.iter_mut().all(|f| f.as_mut().poll(&mut context).is_pending()));
        assert!(source.signal().check("test").is_ok());

        source.cancel();

        assert_eq!(count.0.load(Ordering::SeqCst), 3);
        assert!(futures.iter_mut().all(|f| f.as_mut().poll(&mut context).is_ready()));
        assert_eq!(source.signal().check("test").unwrap_err().kind(), ErrorKind::Cancelled);
    }

    #[test]
    fn a_waiter_that_went_away_is_not_woken_and_its_slot_is_used_again() {
        let source = CancelSource::new();
        let count = Arc::new(Count::default());
        let waker = Waker::from(Arc::clone(&count));
        let mut future = Box::pin(source.signal().cancelled());
        assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        drop(future);
        let mut other = Box::pin(source.signal().cancelled());
        assert!(other.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        assert_eq!(source.0.waiting().len(), 1);
        source.cancel();
        assert_eq!(count.0.load(Ordering::SeqCst), 0);
    }
}
