//! Background captures: a bounded queue in front of any provider.
//!
//! A capture is queued at once and stored by a background task of this process. Only a successful
//! [flush](MemoryProvider::flush) guarantees that turns are stored: a process that dies loses the
//! turns queued since. Nothing is lost if the same messages are captured again, as a runtime does
//! in a new process. Turns are stored in the order in which they were queued.

mod turn_queue;
mod worker;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use context_core::memory::{
    CapturedTurn, MemoriesForgotten, MemoryForget, MemoryReview, RecallQuery, Recalled,
};
use context_core::{CancelSignal, Error, ErrorKind, MemoryProvider, Result, Retry};
use futures_util::future::{Either, select};

use self::turn_queue::{Limits, TurnQueue};

/// A provider whose captures are stored by a background task. Recalls are passed on directly and do
/// not see turns that are still queued.
///
/// A capture that fails with a retryable error is attempted up to five times in all, with
/// exponential backoff. After that it waits for the next flush. It also waits for a flush, without
/// retries, if the memory refuses to work, for example because of a wrong key. A turn that can
/// never be stored is dropped and reported by the next flush. After the last handle is dropped, the
/// task still stores the queued turns while its runtime lives. A warning is traced if turns are
/// queued then, since no caller can flush any more.
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
    queue: Arc<TurnQueue>,
}

impl<P: MemoryProvider> Queued<P> {
    /// Creates a queue for at most 1,024 turns and 16 MiB of messages. Must be used within a Tokio
    /// runtime.
    pub fn new(inner: P) -> Self {
        Self::bounded(inner, 1_024, 16 << 20)
    }

    /// Creates a queue for at most `turns` turns and `bytes` bytes of messages. Further turns are
    /// refused and can be captured again later. A single turn of any size is accepted if the queue
    /// is empty.
    pub fn bounded(inner: P, turns: usize, bytes: usize) -> Self {
        Self { inner: Arc::new(inner), queue: Arc::new(TurnQueue::new(Limits { turns, bytes })) }
    }

    /// Returns the inner provider.
    pub fn inner(&self) -> &P {
        &self.inner
    }

    /// Returns the number of turns that are queued and not yet stored.
    pub fn waiting(&self) -> usize {
        self.queue.waiting()
    }
}

impl<P> Drop for Queued<P> {
    /// Warns about turns that may be lost, in case the program ends without a flush.
    fn drop(&mut self) {
        let turns = self.queue.waiting();
        if turns > 0 {
            tracing::warn!(
                turns,
                "a memory is dropped with turns that it has not stored yet: call `flush` before the program ends"
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
        if self.queue.take(turn)? {
            worker::start(Arc::clone(&self.inner), Arc::clone(&self.queue));
        }
        Ok(())
    }

    async fn flush(&self, cancel: &CancelSignal) -> Result<()> {
        let (starts, taken) = self.queue.wake();
        if starts {
            worker::start(Arc::clone(&self.inner), Arc::clone(&self.queue));
        }
        match select(std::pin::pin!(self.queue.settled(taken)), std::pin::pin!(cancel.cancelled()))
            .await
        {
            Either::Left((settled, _)) => settled?,
            Either::Right(_) => return cancel.check("flush"),
        }
        self.inner.flush(cancel).await
    }

    /// Waits until the queued turns are stored, so that none of them is stored after the forget. An
    /// error says that some turns are not stored yet and may have to be forgotten again.
    async fn forget(&self, forget: &MemoryForget) -> Result<MemoriesForgotten> {
        let flushed = self.flush(&CancelSignal::never()).await;
        let forgotten = self.inner.forget(forget).await?;
        match flushed {
            Ok(()) => Ok(forgotten),
            Err(error) => {
                let reason =
                    "recent captures are not stored yet and may have to be forgotten again";
                let retry =
                    if error.retry() == Retry::Never { Retry::AfterRefresh } else { error.retry() };
                let error = Error::new(ErrorKind::Unavailable, "forget", reason).with_source(error);
                Err(error.with_retry(retry).with("removed", forgotten.removed))
            }
        }
    }

    /// A quarantine holds for queued turns too, since it is applied when memories are recalled.
    fn review(&self) -> Option<&dyn MemoryReview> {
        self.inner.review()
    }
}

impl fmt::Debug for TurnQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line").field("waiting", &self.waiting()).finish_non_exhaustive()
    }
}
