//! Several providers as one, for example blocks before facts before episodes.

use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use context_core::base::{DiagnosticCode, MemoryId, Severity};
use context_core::memory::{
    CapturedTurn, MemoriesForgotten, MemoryForget, MemoryReview, MemoryScope, MemoryUse,
    Quarantine, RecallQuery, Recalled, RecalledMemory,
};
use context_core::{CancelSignal, Diagnostic, Error, ErrorKind, MemoryProvider, Result};
use futures_util::future::join_all;

use crate::cost;

/// A memory provider that combines several providers.
///
/// Each provider gets a share of a recall's token limit; unused tokens pass on to the providers
/// after it. Memories are returned in the order of the providers, and a memory whose text another
/// provider has already given is left out. If a provider fails, the others still answer and a
/// diagnostic names it; a recall fails only if all providers fail.
///
/// Captures and flushes go to all providers. An error names the providers that failed, and the call
/// may be repeated. Forgetting succeeds only if all providers succeed.
///
/// ```
/// use std::sync::Arc;
///
/// use context_core::{CancelSignal, MemoryProvider, Message, Timestamp};
/// use context_core::memory::{CapturedMessage, CapturedTurn, MemoryScope, RecallQuery};
/// use context_memory::{ProviderChain, Episodic, ScopeLevel};
/// use context_store_inmem::InMemoryStore;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (mine, ours) = (Arc::new(InMemoryStore::default()), Arc::new(InMemoryStore::default()));
/// let memory = ProviderChain::new()
///     .with("project", Episodic::new(ours)?.scope_level(ScopeLevel::Project), 3) // three quarters of the tokens
///     .with("everywhere", Episodic::new(mine)?.scope_level(ScopeLevel::User), 1);
/// let (trip, never) = (MemoryScope::new("ada").project("trip"), CancelSignal::never());
/// let seen = vec![CapturedMessage::new("m1", Message::from("I prefer the aisle."))];
/// memory
///     .capture(&CapturedTurn::new(trip.session("monday"), "t1", Timestamp::default(), seen), &never)
///     .await?;
///
/// let taxes = MemoryScope::new("ada").project("taxes");
/// let found = memory.recall(&RecallQuery::new(taxes, "aisle or window?"), &never).await?;
/// assert_eq!(found.memories.len(), 1); // from the second; the first keeps projects apart
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Default)]
pub struct ProviderChain {
    links: Vec<Link>,
}

#[derive(Debug)]
struct Link {
    name: String,
    provider: Arc<dyn MemoryProvider>,
    share: u64,
}

impl ProviderChain {
    /// Creates an empty chain.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a provider, with a name for diagnostics and a share of the tokens: with shares 1 and 3,
    /// the first gets a quarter. A share of 0 counts as 1.
    #[must_use]
    pub fn with(
        mut self,
        name: impl Into<String>,
        provider: impl MemoryProvider,
        share: u32,
    ) -> Self {
        let (name, provider) = (name.into(), Arc::new(provider));
        self.links.push(Link { name, provider, share: u64::from(share.max(1)) });
        self
    }

    /// Returns all failures as one error that names the providers. Its kind is that of the first
    /// failure.
    fn failed(&self, operation: &'static str, failures: Vec<(usize, Error)>) -> Result<()> {
        let names: Vec<_> = failures.iter().map(|(at, _)| self.links[*at].name.as_str()).collect();
        let names = names.join(", ");
        let Some((_, first)) = failures.into_iter().next() else { return Ok(()) };
        let error = Error::new(first.kind(), operation, "a memory of the chain failed")
            .with("memories", names);
        Err(error.with_retry(first.retry()).with_source(first))
    }
}

/// Separates successful answers from errors, which keep the position of their provider.
fn failures<T>(answers: Vec<Result<T>>) -> (Vec<T>, Vec<(usize, Error)>) {
    let (mut good, mut failed) = (Vec::new(), Vec::new());
    for (at, answer) in answers.into_iter().enumerate() {
        match answer {
            Ok(answer) => good.push(answer),
            Err(error) => failed.push((at, error)),
        }
    }
    (good, failed)
}

#[async_trait]
impl MemoryProvider for ProviderChain {
    async fn recall(&self, query: &RecallQuery, cancel: &CancelSignal) -> Result<Recalled> {
        let asked = self.links.iter().map(|link| link.provider.recall(query, cancel));
        let answers = join_all(asked).await;
        cancel.check("recall")?;
        let mut recalled = Recalled::default();
        let mut seen: HashSet<String> = HashSet::new();
        let (mut left, mut shares) =
            (query.max_tokens, self.links.iter().map(|link| link.share).sum::<u64>());
        let (mut good, mut first_error) = (0, None);
        for (link, answer) in self.links.iter().zip(answers) {
            let answer = match answer {
                Ok(answer) => answer,
                Err(error) => {
                    let message = format!("{} remembered nothing: {error}", link.name);
                    let code = DiagnosticCode::MemoryProviderError;
                    recalled.diagnostics.push(Diagnostic::new(
                        code,
                        Severity::Warning,
                        "memory",
                        message,
                    ));
                    first_error.get_or_insert(error);
                    shares -= link.share;
                    continue;
                }
            };
            good += 1;
            let mut memories: Vec<RecalledMemory> = answer.memories;
            memories.retain(|memory| seen.insert(memory.text.trim().to_lowercase()));
            let room = left.map(|left| share(left, link.share, shares));
            let all = memories.len();
            let spent = cost::fit(&mut memories, room);
            let left_out = all - memories.len();
            if left_out > 0 {
                let message = format!(
                    "{left_out} of {all} memories of {} do not fit into its share",
                    link.name
                );
                let code = DiagnosticCode::OverLimit;
                recalled.diagnostics.push(Diagnostic::new(code, Severity::Info, "memory", message));
            }
            left = left.map(|left| left.saturating_sub(spent));
            shares -= link.share;
            recalled.memories.extend(memories);
            recalled.diagnostics.extend(answer.diagnostics);
            for (key, value) in answer.metadata.iter() {
                recalled.metadata.insert(format!("{}.{key}", link.name), value.clone());
            }
        }
        match first_error {
            Some(error) if good == 0 => Err(error),
            _ => Ok(recalled),
        }
    }

    fn check(&self, turn: &CapturedTurn) -> Result<()> {
        self.links.iter().try_for_each(|link| link.provider.check(turn))
    }

    async fn capture(&self, turn: &CapturedTurn, cancel: &CancelSignal) -> Result<()> {
        let calls = self.links.iter().map(|link| link.provider.capture(turn, cancel));
        let (_, failed) = failures(join_all(calls).await);
        self.failed("capture", failed)
    }

    async fn flush(&self, cancel: &CancelSignal) -> Result<()> {
        let flushed = self.links.iter().map(|link| link.provider.flush(cancel));
        let (_, failed) = failures(join_all(flushed).await);
        self.failed("flush", failed)
    }

    async fn forget(&self, forget: &MemoryForget) -> Result<MemoriesForgotten> {
        let calls = self.links.iter().map(|link| link.provider.forget(forget));
        let (forgotten, failed) = failures(join_all(calls).await);
        // A provider without memories of the named kind has nothing to forget.
        let failed =
            failed.into_iter().filter(|(_, error)| error.kind() != ErrorKind::NotFound).collect();
        self.failed("forget", failed)?;
        Ok(forgotten.into_iter().fold(MemoriesForgotten::default(), MemoriesForgotten::and))
    }

    /// Only if every provider has one: a memory in quarantine must not be recalled by any of them.
    fn review(&self) -> Option<&dyn MemoryReview> {
        let all = self.links.iter().all(|link| link.provider.review().is_some());
        (all && !self.links.is_empty()).then_some(self as &dyn MemoryReview)
    }
}

impl ProviderChain {
    fn reviews(&self) -> impl Iterator<Item = &dyn MemoryReview> {
        self.links.iter().filter_map(|link| link.provider.review())
    }
}

/// Calls go to all providers. Those that share a store do the same work again, which changes
/// nothing.
#[async_trait]
impl MemoryReview for ProviderChain {
    async fn quarantine(&self, quarantine: &Quarantine) -> Result<()> {
        let done = join_all(self.reviews().map(|review| review.quarantine(quarantine))).await;
        self.failed("quarantine", failures(done).1)
    }

    async fn release(&self, scope: &MemoryScope, id: &MemoryId) -> Result<bool> {
        // One after another: of two at once, neither might see that there was one.
        let mut released = false;
        for review in self.reviews() {
            released |= review.release(scope, id).await?;
        }
        Ok(released)
    }

    async fn quarantined(&self, scope: &MemoryScope) -> Result<Vec<Quarantine>> {
        let lists = join_all(self.reviews().map(|review| review.quarantined(scope))).await;
        let mut all: Vec<Quarantine> = Vec::new();
        for list in lists {
            for quarantine in list? {
                if !all.contains(&quarantine) {
                    all.push(quarantine);
                }
            }
        }
        Ok(all)
    }

    async fn record_use(&self, memory_use: &MemoryUse) -> Result<()> {
        let done = join_all(self.reviews().map(|review| review.record_use(memory_use))).await;
        self.failed("record_use", failures(done).1)
    }

    async fn uses(&self, scope: &MemoryScope, id: &MemoryId) -> Result<Vec<MemoryUse>> {
        let lists = join_all(self.reviews().map(|review| review.uses(scope, id))).await;
        let mut all: Vec<MemoryUse> = Vec::new();
        for list in lists {
            for memory_use in list? {
                if !all.contains(&memory_use) {
                    all.push(memory_use);
                }
            }
        }
        all.sort_by_key(|memory_use| std::cmp::Reverse(memory_use.at));
        Ok(all)
    }
}

/// Returns the tokens for a share of what is left.
fn share(left: u64, share: u64, shares: u64) -> u64 {
    u64::try_from(u128::from(left) * u128::from(share) / u128::from(shares.max(1)))
        .unwrap_or(u64::MAX)
}
