//! The trait of memory providers.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use super::{CapturedTurn, RecallQuery, Recalled};
use crate::memory::{MemoriesForgotten, MemoryForget, MemoryReview};
use crate::{CancelSignal, Result};

/// A provider of memories. It recalls those that are relevant to a query, and captures turns.
///
/// # Contract with implementors
///
/// * **Scope.** Recall only memories that are visible from the query's scope. A provider that
///   cannot isolate a given scope refuses it with [`Unsupported`](crate::ErrorKind::Unsupported)
///   and never falls back to a wider one.
/// * **Callers time out** after a while and drop the future. Leave no partial work behind.
/// * **A turn may be captured again**, in part or whole. Each message counts once, by its id.
///   Messages do not include recalled memories.
/// * **Trust.** Recall no memory of a class below [`RecallQuery::least_trust`], and none in
///   [quarantine](MemoryReview). Name the [class](super::Trust) of each memory, if it is known: the
///   class of a memory is never higher than that of what it was made from.
/// * **Recalled text is data**: it is shown to the model as information, never as an instruction.
///
/// ```
/// use async_trait::async_trait;
/// use context_core::{CancelSignal, Error, ErrorKind, MemoryProvider, Result};
/// use context_core::memory::{CapturedTurn, MemoriesForgotten, MemoryForget, RecallQuery, Recalled};
///
/// /// Recalls the notes of a team in every turn and stores nothing.
/// #[derive(Debug)]
/// struct TeamNotes(String);
///
/// #[async_trait]
/// impl MemoryProvider for TeamNotes {
///     async fn recall(&self, _: &RecallQuery, _: &CancelSignal) -> Result<Recalled> {
///         Ok(Recalled::text(self.0.clone()))
///     }
///
///     async fn capture(&self, _: &CapturedTurn, _: &CancelSignal) -> Result<()> {
///         Ok(())
///     }
///
///     async fn forget(&self, _: &MemoryForget) -> Result<MemoriesForgotten> {
///         Err(Error::new(ErrorKind::Unsupported, "forget", "these notes belong to the team"))
///     }
/// }
/// # let _ = TeamNotes("We deploy on Tuesdays.".to_owned());
/// ```
///
/// # Where to begin
///
/// Store records in a [`MemoryRecordStore`](crate::store::MemoryRecordStore). Every store except an
/// encrypted one has this ability, with scopes, search by words and forgetting.
/// `examples/custom-memory` is a complete provider over it; `context_conformance::memory` tests
/// providers.
#[async_trait]
pub trait MemoryProvider: fmt::Debug + Send + Sync + 'static {
    /// Recalls memories that are relevant to a query.
    async fn recall(&self, query: &RecallQuery, cancel: &CancelSignal) -> Result<Recalled>;

    /// Refuses a turn that could never be captured, before a caller waits for it. A turn that
    /// passes may still be refused by `capture`.
    fn check(&self, turn: &CapturedTurn) -> Result<()> {
        turn.scope.check("capture")
    }

    /// Accepts a turn and stores memories of it. Storing may continue after this returns: only
    /// turns that were accepted before a [`flush`](Self::flush) returned are certain to be stored.
    /// An error means that nothing of the turn was accepted.
    async fn capture(&self, turn: &CapturedTurn, cancel: &CancelSignal) -> Result<()>;

    /// Waits until all accepted turns are stored. An error means that some are not; they stay
    /// accepted, and the next flush tries again.
    async fn flush(&self, cancel: &CancelSignal) -> Result<()> {
        let _ = cancel;
        Ok(())
    }

    /// Forgets memories, including accepted ones that are not stored yet. A memory that was
    /// forgotten by id or source stays forgotten if the same message is captured again.
    async fn forget(&self, forget: &MemoryForget) -> Result<MemoriesForgotten>;

    /// Returns the review of the memories, if the provider has one: quarantine, and the log of
    /// uses.
    fn review(&self) -> Option<&dyn MemoryReview> {
        None
    }
}

#[async_trait]
impl<P: MemoryProvider + ?Sized> MemoryProvider for Arc<P> {
    async fn recall(&self, query: &RecallQuery, cancel: &CancelSignal) -> Result<Recalled> {
        (**self).recall(query, cancel).await
    }

    fn check(&self, turn: &CapturedTurn) -> Result<()> {
        (**self).check(turn)
    }

    async fn capture(&self, turn: &CapturedTurn, cancel: &CancelSignal) -> Result<()> {
        (**self).capture(turn, cancel).await
    }

    async fn flush(&self, cancel: &CancelSignal) -> Result<()> {
        (**self).flush(cancel).await
    }

    async fn forget(&self, forget: &MemoryForget) -> Result<MemoriesForgotten> {
        (**self).forget(forget).await
    }

    fn review(&self) -> Option<&dyn MemoryReview> {
        (**self).review()
    }
}
