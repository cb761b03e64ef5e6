//! Cancellation of long operations, independent of an async runtime.
//!
//! The canceller keeps a [`CancelSource`] and passes down a [`CancelSignal`]. Work either polls the
//! signal between two steps ([`CancelSignal::is_cancelled`]) or awaits it next to another future
//! ([`CancelSignal::cancelled`]). A cancellation is permanent.
//!
//! The signal also carries reports in the other direction: long work says how far it is
//! ([`CancelSignal::report`]) wherever it could be cancelled.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::{Error, ErrorKind, Result};

#[derive(Debug, Default)]
struct Shared {
    cancelled: AtomicBool,
    /// One slot per waiting future, reused when the future is dropped.
    waiting: Mutex<Vec<Option<Waker>>>,
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, Vec<Option<Waker>>> {
        // The lock is never held across a panic, and a list of wakers is valid in any state.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The cancelling side. Dropping it does not cancel.
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
    /// Creates a source that is not cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns a signal. Any number of signals may exist.
    pub fn signal(&self) -> CancelSignal {
        CancelSignal { shared: Some(Arc::clone(&self.0)), listener: None }
    }

    /// Cancels permanently and wakes all waiting tasks.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::SeqCst);
        let wakers: Vec<_> = self.0.waiting().iter_mut().filter_map(Option::take).collect();
        wakers.into_iter().for_each(Waker::wake);
    }
}

/// A function that is told how far the work is: a noun for the steps, and the completed ones.
type Listener = dyn Fn(&'static str, u64) + Send + Sync;

/// The cancelled side. The default signal is never cancelled.
#[derive(Clone, Default)]
pub struct CancelSignal {
    shared: Option<Arc<Shared>>,
    listener: Option<Arc<Listener>>,
}

impl fmt::Debug for CancelSignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelSignal")
            .field("cancelled", &self.is_cancelled())
            .finish_non_exhaustive()
    }
}

impl CancelSignal {
    /// Returns a signal that is never cancelled.
    pub fn never() -> Self {
        Self::default()
    }

    /// Returns the signal with a function that is told how far the work is, for a progress display:
    /// a noun for the steps, such as `message`, and the number of completed steps. Work in several
    /// phases reports one kind of steps after the other. The function is called often and must
    /// return at once.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU64, Ordering};
    ///
    /// use context_core::CancelSignal;
    ///
    /// let reached = Arc::new(AtomicU64::new(0));
    /// let shown = Arc::clone(&reached);
    /// let signal = CancelSignal::never().reporting(move |_, done| shown.store(done, Ordering::Relaxed));
    /// signal.report("message", 40);
    /// assert_eq!(reached.load(Ordering::Relaxed), 40);
    /// ```
    #[must_use]
    pub fn reporting(
        mut self,
        listener: impl Fn(&'static str, u64) + Send + Sync + 'static,
    ) -> Self {
        self.listener = Some(Arc::new(listener));
        self
    }

    /// Reports the number of completed steps to the [listener](Self::reporting), if there is one.
    /// `steps` is a noun in the singular.
    pub fn report(&self, steps: &'static str, done: u64) {
        if let Some(listener) = &self.listener {
            listener(steps, done);
        }
    }

    /// Returns whether the work should stop.
    pub fn is_cancelled(&self) -> bool {
        self.shared.as_ref().is_some_and(|shared| shared.cancelled.load(Ordering::SeqCst))
    }

    /// Returns an [`ErrorKind::Cancelled`] error if the work should stop.
    pub fn check(&self, operation: &'static str) -> Result<()> {
        if self.is_cancelled() {
            return Err(Error::new(ErrorKind::Cancelled, operation, "cancelled by the caller"));
        }
        Ok(())
    }

    /// Returns a future that completes when the signal is cancelled, or never.
    pub fn cancelled(&self) -> Cancelled {
        Cancelled { shared: self.shared.clone(), slot: None }
    }
}

/// The future that [`CancelSignal::cancelled`] returns.
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
        // Checked under the lock that `cancel` takes after it has set the flag, so that no wake-up
        // is missed.
        if shared.cancelled.load(Ordering::SeqCst) {
            return Poll::Ready(());
        }
        let slot = *self.slot.get_or_insert_with(|| {
            // Before the cancellation, an empty slot belongs to a dropped future.
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
