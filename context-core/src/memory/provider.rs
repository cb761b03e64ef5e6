//! The trait.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use super::{CapturedTurn, RecallQuery, Recalled};
use crate::memory::{MemoriesForgotten, MemoryForget};
use crate::{CancelSignal, Result};

/// Remembers.
///
/// # Contract with implementors
///
/// * **Scope.** Nothing is recalled that is not visible from the query's scope. A provider that
///   cannot keep a scope apart which it is given refuses, with
///   [`Unsupported`](crate::ErrorKind::Unsupported); it never takes a wider one instead.
/// * **Whoever calls gives up** waiting after a while and drops the future: leave nothing half done
///   then.
/// * **A turn may come again**, in part or whole; each message counts once, by its id. What the
///   model was shown because it was recalled is not among the messages.
/// * **What is recalled is data**: it is shown to the model as something that was said, never as an
///   instruction.
///
/// ```
/// use async_trait::async_trait;
/// use context_core::{CancelSignal, Error, ErrorKind, MemoryProvider, Result};
/// use context_core::memory::{CapturedTurn, MemoriesForgotten, MemoryForget, RecallQuery, Recalled};
///
/// /// Tells every turn what the team has written down, and keeps nothing.
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
/// Keep records in a [`MemoryRecordStore`](crate::store::MemoryRecordStore): every store but an encrypted
/// one has it, with scopes, finding by words and forgetting. `examples/custom-memory` is a provider
/// over it, whole; `context_conformance::memory` proves yours.
#[async_trait]
pub trait MemoryProvider: fmt::Debug + Send + Sync + 'static {
    /// What is worth telling the model about a query.
    async fn recall(&self, query: &RecallQuery, cancel: &CancelSignal) -> Result<Recalled>;

    /// Refuses a turn that could never be captured, before anybody waits for it. What it lets
    /// through may still be refused.
    fn check(&self, turn: &CapturedTurn) -> Result<()> {
        turn.scope.check("capture")
    }

    /// Takes a turn, to keep what is worth it. It may still be on its way to where it is kept when
    /// this returns: only what was taken before a [`flush`](Self::flush) returned is certain to be
    /// there. An error says that nothing of it was taken.
    async fn capture(&self, turn: &CapturedTurn, cancel: &CancelSignal) -> Result<()>;

    /// Waits until all that was taken is kept. An error says that some is not; it stays taken, and
    /// the next flush tries again.
    async fn flush(&self, cancel: &CancelSignal) -> Result<()> {
        let _ = cancel;
        Ok(())
    }

    /// Forgets, also what was taken and is not yet kept. What was forgotten by its id or by its
    /// source stays so, if the same message is captured again.
    async fn forget(&self, forget: &MemoryForget) -> Result<MemoriesForgotten>;
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
}
