//! A memory provider that masks secrets before another provider sees them.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use context_core::memory::{
    CapturedTurn, MemoriesForgotten, MemoryForget, MemoryReview, RecallQuery, Recalled,
};
use context_core::{CancelSignal, MemoryProvider, Message, Result};
use context_secrets::{MaskReport, SecretFinder};

/// A memory provider over another one, such as a remote service, that must not see secrets: turns
/// are masked before they are captured, and queries before they are sent. Each secret is replaced
/// by a mark such as `[secret:github-token]`.
///
/// Signed reasoning and provider blocks cannot be masked. They are left and counted in the
/// [report](Self::report). A provider over a store is masked as well by
/// [`layers::MaskingStore`](crate::layers), which sees everything that is stored.
///
/// ```
/// use context_runtime::memory::{
///     CapturedMessage, CapturedTurn, Episodic, MaskingMemory, MemoryProvider, MemoryScope,
/// };
/// use context_runtime::{CancelSignal, Message, Timestamp};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = context_runtime::open("mem:").await?;
/// let memory = MaskingMemory::new(Episodic::new(store)?);
/// let message = Message::from("Use the password=\"kX9!vQ2#zL7p\" for the printer.");
/// let turn = CapturedTurn::new(
///     MemoryScope::new("ada").session("printer"),
///     "turn",
///     Timestamp::from_micros(0),
///     vec![CapturedMessage::new("m1", message)],
/// );
/// memory.capture(&turn, &CancelSignal::never()).await?;
/// assert_eq!(memory.report().masked.total(), 1);
/// # Ok(())
/// # }
/// ```
pub struct MaskingMemory<P> {
    inner: P,
    finder: SecretFinder,
    report: Mutex<MaskReport>,
}

impl<P: MemoryProvider> MaskingMemory<P> {
    /// Masks the built-in kinds of secrets.
    pub fn new(inner: P) -> Self {
        Self { inner, finder: SecretFinder::default(), report: Mutex::default() }
    }

    /// Sets the finder, such as one with rules of the program.
    #[must_use]
    pub fn finder(mut self, finder: SecretFinder) -> Self {
        self.finder = finder;
        self
    }

    /// Returns what was masked and what was left, by kind, since the provider was made.
    pub fn report(&self) -> MaskReport {
        self.report.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn count(&self, report: &MaskReport) {
        if !report.is_empty() {
            self.report.lock().unwrap_or_else(PoisonError::into_inner).merge(report);
        }
    }

    fn message(&self, message: &mut Arc<Message>, report: &mut MaskReport) {
        if let Some(masked) = self.finder.mask_message(message, report) {
            *message = Arc::new(masked);
        }
    }

    fn turn<'t>(&self, turn: &'t CapturedTurn, report: &mut MaskReport) -> Cow<'t, CapturedTurn> {
        let mut masked = Cow::Borrowed(turn);
        for (at, captured) in turn.messages.iter().enumerate() {
            if let Some(message) = self.finder.mask_message(&captured.message, report) {
                masked.to_mut().messages[at].message = Arc::new(message);
            }
        }
        masked
    }
}

#[async_trait]
impl<P: MemoryProvider> MemoryProvider for MaskingMemory<P> {
    async fn recall(&self, query: &RecallQuery, cancel: &CancelSignal) -> Result<Recalled> {
        let (mut masked, mut report) = (query.clone(), MaskReport::default());
        if let Some(text) = self.finder.mask_text(&query.text, &mut report) {
            masked.text = text;
        }
        let mut recent = Vec::from(masked.recent);
        recent.iter_mut().for_each(|message| self.message(message, &mut report));
        masked.recent = recent.into();
        self.inner.recall(&masked, cancel).await
    }

    fn check(&self, turn: &CapturedTurn) -> Result<()> {
        self.inner.check(&self.turn(turn, &mut MaskReport::default()))
    }

    async fn capture(&self, turn: &CapturedTurn, cancel: &CancelSignal) -> Result<()> {
        let mut report = MaskReport::default();
        let masked = self.turn(turn, &mut report);
        self.inner.capture(&masked, cancel).await?;
        self.count(&report);
        Ok(())
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

impl<P: fmt::Debug> fmt::Debug for MaskingMemory<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MaskingMemory").field("inner", &self.inner).finish_non_exhaustive()
    }
}
