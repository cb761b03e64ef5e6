//! Captures that no turn waits for: a bounded queue before any provider.
//!
//! A capture is taken at once and kept behind it, by a task of this process. Only a
//! [flush](MemoryProvider::flush) that returned says that it is kept: a process that dies loses
//! what was taken since, and who captures the same messages again, as a runtime of a new process
//! does, loses nothing. Turns are kept in the order in which they were taken.

mod line;
mod worker;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use context_core::memory::{CapturedTurn, MemoriesForgotten, MemoryForget, RecallQuery, Recalled};
use context_core::{CancelSignal, Error, ErrorKind, MemoryProvider, Result, Retry};
use futures_util::future::{Either, select};

use self::line::{Limits, Line};

/// A provider whose captures are kept by a task behind the caller. Recalls go through as they are:
/// they do not see what is still on its way.
///
/// A capture that fails and may be tried again is tried again, up to five times, each time after a
/// longer pause; then it waits for the next flush, as it does at once while the memory refuses to
/// work, such as for a wrong key. A turn that can never be kept is dropped, and the next flush says
/// so. When the last handle is gone, the task still keeps what was taken, as long as its runtime
/// lives; and since nobody can flush any more, a warning is traced if something waits.
///
/// ```
/// use std::sync::Arc;
///
/// use context_core::{CancelSignal, MemoryProvider, Message, Timestamp};
/// use context_core::memory::{CapturedMessage, CapturedTurn, MemoryScope};
/// use context_memory::{Episodic, Queued};
/// use context_store_inmem::InMemoryStore;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let memory = Queued::new(Episodic::new(Arc::new(InMemoryStore::default()))?);
/// let said = vec![CapturedMessage::new("m1", Message::from("My cat is called Tom."))];
/// let turn = CapturedTurn::new(MemoryScope::new("ada").session("monday"), "t1", Timestamp::default(), said);
/// memory.capture(&turn, &CancelSignal::never()).await?; // taken: the turn goes on
/// memory.flush(&CancelSignal::never()).await?; // kept
/// assert_eq!(memory.waiting(), 0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Queued<P> {
    inner: Arc<P>,
    line: Arc<Line>,
}

impl<P: MemoryProvider> Queued<P> {
    /// Before a provider, for at most 1,024 turns and 16 MiB of what was said. Must be used within
    /// a runtime of tokio.
    pub fn new(inner: P) -> Self {
        Self::bounded(inner, 1_024, 16 << 20)
    }

    /// For at most so many turns, and so many bytes of what was said in them. What is more is
    /// refused, and can be captured again later; a single turn is taken however large it is, if
    /// there is none before it.
    pub fn bounded(inner: P, turns: usize, bytes: usize) -> Self {
        Self { inner: Arc::new(inner), line: Arc::new(Line::new(Limits { turns, bytes })) }
    }

    /// The provider behind.
    pub fn inner(&self) -> &P {
        &self.inner
    }

    /// How many turns were taken and are not yet kept.
    pub fn waiting(&self) -> usize {
        self.line.waiting()
    }
}

impl<P> Drop for Queued<P> {
    /// Says that turns may be lost, so that a program that ends without a flush does not find that
    /// out later.
    fn drop(&mut self) {
        let turns = self.line.waiting();
        if turns > 0 {
            tracing::warn!(
                turns,
                "a memory is dropped with turns that it has not kept yet: call `flush` before the program ends"
            );
        }
    }
}

#[async_trait]
impl<P: MemoryProvider> MemoryProvider for Queued<P> {
    async fn recall(&self, query: &RecallQuery, cancel: &CancelSignal) -> Result<Recalled> {
        self.inner.recall(query, cancel).await
    }

    fn check(&self, turn: &CapturedTurn) -> Result<()> {
        self.inner.check(turn)
    }

    async fn capture(&self, turn: &CapturedTurn, cancel: &CancelSignal) -> Result<()> {
        cancel.check("capture")?;
        self.inner.check(turn)?;
        if self.line.take(turn)? {
            worker::start(Arc::clone(&self.inner), Arc::clone(&self.line));
        }
        Ok(())
    }

    async fn flush(&self, cancel: &CancelSignal) -> Result<()> {
        let (starts, taken) = self.line.wake();
        if starts {
            worker::start(Arc::clone(&self.inner), Arc::clone(&self.line));
        }
        match select(std::pin::pin!(self.line.settled(taken)), std::pin::pin!(cancel.cancelled()))
            .await
        {
            Either::Left((settled, _)) => settled?,
            Either::Right(_) => return cancel.check("flush"),
        }
        self.inner.flush(cancel).await
    }

    /// Waits until what was taken is kept, so that nothing of it comes later: an error says that
    /// not all of it is, and so that it is not certain that all is forgotten.
    async fn forget(&self, forget: &MemoryForget) -> Result<MemoriesForgotten> {
        let flushed = self.flush(&CancelSignal::never()).await;
        let forgotten = self.inner.forget(forget).await?;
        match flushed {
            Ok(()) => Ok(forgotten),
            Err(error) => {
                let said =
                    "what was captured lately is not kept yet, and may have to be forgotten again";
                let retry =
                    if error.retry() == Retry::Never { Retry::AfterRefresh } else { error.retry() };
                let error = Error::new(ErrorKind::Unavailable, "forget", said).with_source(error);
                Err(error.with_retry(retry).with("removed", forgotten.removed))
            }
        }
    }
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line").field("waiting", &self.waiting()).finish_non_exhaustive()
    }
}
