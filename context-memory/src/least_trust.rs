//! A provider that recalls memories of at least a class of trust.

use async_trait::async_trait;
use context_core::memory::{
    CapturedTurn, MemoriesForgotten, MemoryForget, MemoryReview, RecallQuery, Recalled, Trust,
};
use context_core::{CancelSignal, MemoryProvider, Result};

/// A provider over another one that recalls only memories of at least a class, such as those that
/// the user said. Memories of an unknown class are left out too. Everything is captured as before.
///
/// ```
/// use std::sync::Arc;
///
/// use context_core::memory::{CapturedMessage, CapturedTurn, MemoryScope, RecallQuery, Trust};
/// use context_core::{CancelSignal, MemoryProvider, Message, Role, Timestamp};
/// use context_memory::{Episodic, LeastTrust};
/// use context_store_inmem::InMemoryStore;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let memory = LeastTrust::new(Episodic::new(Arc::new(InMemoryStore::default()))?, Trust::User);
/// let (scope, never) = (MemoryScope::new("ada").session("monday"), CancelSignal::never());
/// let messages = vec![
///     CapturedMessage::new("m1", Message::text(Role::User, "My cat is called Tom.")),
///     CapturedMessage::new("m2", Message::text(Role::Assistant, "A cat called Tom: noted.")),
/// ];
/// memory.capture(&CapturedTurn::new(scope, "t1", Timestamp::from_micros(0), messages), &never).await?;
///
/// let query = RecallQuery::new(MemoryScope::new("ada").session("friday"), "the cat Tom?");
/// let recalled = memory.recall(&query, &never).await?;
/// assert_eq!(recalled.memories.len(), 1);
/// assert_eq!(recalled.memories[0].trust, Some(Trust::User));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct LeastTrust<P> {
    inner: P,
    least: Trust,
}

impl<P: MemoryProvider> LeastTrust<P> {
    /// Recalls memories of at least this class.
    pub fn new(inner: P, least: Trust) -> Self {
        Self { inner, least }
    }
}

#[async_trait]
impl<P: MemoryProvider> MemoryProvider for LeastTrust<P> {
    async fn recall(&self, query: &RecallQuery, cancel: &CancelSignal) -> Result<Recalled> {
        let least = query.least_trust.map_or(self.least, |least| least.max(self.least));
        let mut recalled = self.inner.recall(&query.clone().least_trust(least), cancel).await?;
        // A provider of another program may not know the limit.
        let is_enough = |trust: Option<Trust>| trust.is_some_and(|trust| trust >= least);
        recalled.memories.retain(|memory| is_enough(memory.trust));
        Ok(recalled)
    }

    fn check(&self, turn: &CapturedTurn) -> Result<()> {
        self.inner.check(turn)
    }

    async fn capture(&self, turn: &CapturedTurn, cancel: &CancelSignal) -> Result<()> {
        self.inner.capture(turn, cancel).await
    }

    async fn flush(&self, cancel: &CancelSignal) -> Result<()> {
        self.inner.flush(cancel).await
    }

    async fn forget(&self, forget: &MemoryForget) -> Result<MemoriesForgotten> {
        self.inner.forget(forget).await
    }

    fn review(&self) -> Option<&dyn MemoryReview> {
        self.inner.review()
    }
}
