//! A custom memory provider: it remembers messages verbatim in any store, and depends on
//! `context-core` alone.
//!
//! Copy this package and change what it remembers. [`MemoryProvider`] requires three calls: recall
//! before a turn, capture after it, and forget. The [`MemoryRecordStore`] of a store does the rest:
//! it isolates records by scope, finds them by words, writes each once, and keeps forgotten records
//! forgotten. `tests/conformance.rs` tests the provider.
//!
//! A provider makes four decisions, and each is a function here:
//!
//! * [`filed`]: the part of a turn's scope that a memory belongs to, which determines where it is
//!   recalled. Here: in all sessions of the same project with the same agent.
//! * [`words`]: the words by which a memory is found. Queries and memories must be split in the
//!   same way.
//! * [`id`]: the id of a memory. It depends on the message alone, so a message that is captured
//!   twice counts once.
//! * [`Verbatim::recall`]: the memories to return, best first, within the budget.
//!
//! To use the provider, pass it to the runtime:
//! `DefaultContextRuntime::builder().memory(Verbatim::new(store)?)`, as in `tests/runtime.rs`.
//! Captures are written before the call returns. Wrap the provider in `context_memory::Queued` if
//! turns must not wait for that.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use context_core::base::{MemoryId, limits};
use context_core::memory::{
    CapturedMessage, CapturedTurn, MemoriesForgotten, MemoryForget, MemoryRecord, MemoryScope,
    MemorySource, RecallQuery, Recalled, RecalledMemory, Trust,
};
use context_core::store::{MemoryFind, MemoryOutcome, MemoryRecordStore, MemoryWrite};
use context_core::{
    CancelSignal, Error, ErrorKind, MemoryProvider, Result, Role, SessionId, Store,
};
use context_store_kit::search;

/// The kind of these records, so that other providers may share the store.
const KIND: &str = "verbatim";
/// The maximum number of memories per recall.
const MOST: usize = 8;
/// The maximum number of bytes of a message to remember.
const LONGEST: usize = 16 << 10;
/// The number of bytes per token, for budgets. A safe value for most languages.
const BYTES_OF_TOKEN: u64 = 3;

/// A memory provider that remembers messages verbatim.
#[derive(Debug)]
pub struct Verbatim {
    store: Arc<dyn Store>,
}

impl Verbatim {
    /// Creates a provider on a store. Returns [`Unsupported`](ErrorKind::Unsupported) if the store
    /// has no memories.
    pub fn new(store: Arc<dyn Store>) -> Result<Self> {
        let verbatim = Self { store };
        verbatim.records("open")?;
        Ok(verbatim)
    }

    fn records(&self, operation: &'static str) -> Result<&dyn MemoryRecordStore> {
        let none = || Error::new(ErrorKind::Unsupported, operation, "this store keeps no memories");
        self.store.memories().ok_or_else(none)
    }
}

/// Returns the part of a scope that memories belong to: everything but the session.
fn filed(scope: &MemoryScope) -> MemoryScope {
    let mut filed = scope.clone();
    filed.session = None;
    filed
}

/// Returns the distinct words of a text, split and folded as in search.
fn words(text: &str, most: usize) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let words = search::words(text).map(|word| word.folded).filter(|word| word.len() <= 64);
    words.filter(|word| seen.insert(word.clone())).take(most).collect()
}

/// Returns the id of a message in a session. It is the same on each capture.
fn id(session: &SessionId, said: &CapturedMessage) -> MemoryId {
    MemoryId::derived(KIND, &[session.as_str(), said.id.as_str()])
}

/// Returns the record of a message. Returns `None` for messages that are not part of the
/// conversation, or that only show recalled memories.
fn record(turn: &CapturedTurn, session: &SessionId, said: &CapturedMessage) -> Option<MemoryWrite> {
    let message = &said.message;
    if message.is_synthetic() || !matches!(message.role, Role::User | Role::Assistant) {
        return None;
    }
    let text = message.plain_text();
    let mut end = text.len().min(LONGEST);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let (text, at) = (&text[..end], said.at.unwrap_or(turn.at));
    let mut record = MemoryRecord::new(filed(&turn.scope), id(session, said), KIND, at, text);
    record.source = Some(MemorySource::message(session.clone(), said.id.clone()));
    record.speaker = Some(said.speaker.clone().unwrap_or_else(|| message.role.to_string()));
    record.set_trust(Trust::of(message));
    (!text.trim().is_empty()).then(|| MemoryWrite::new(record, words(text, usize::MAX).join(" ")))
}

#[async_trait]
impl MemoryProvider for Verbatim {
    async fn recall(&self, query: &RecallQuery, cancel: &CancelSignal) -> Result<Recalled> {
        query.scope.check("recall")?;
        cancel.check("recall")?;
        let asked = words(&query.text, limits::MAX_MEMORY_TERMS);
        // All visible scopes are listed exactly, since a store does not widen a scope.
        let mut find = MemoryFind::new(query.scope.visible(), asked, MOST);
        find.kinds = vec![KIND.to_owned()];
        if find.words.is_empty() {
            return Ok(Recalled::default());
        }
        let mut left =
            query.max_tokens.map_or(u64::MAX, |tokens| tokens.saturating_mul(BYTES_OF_TOKEN));
        let mut memories = Vec::new();
        for hit in self.records("recall")?.find_memories(&find).await?.hits {
            let record = hit.stored.record;
            let trust = record.trust();
            // A memory of an unknown class is below every class.
            if query.least_trust.is_some_and(|least| trust < Some(least)) {
                continue;
            }
            let Some(rest) = left.checked_sub(record.text.len() as u64) else { continue };
            left = rest;
            let mut memory = RecalledMemory::new(KIND, record.text);
            (memory.id, memory.scope) = (Some(record.id), Some(record.scope));
            (memory.source, memory.speaker) = (record.source, record.speaker);
            (memory.at, memory.score, memory.trust) = (Some(record.at), hit.score, trust);
            memories.push(memory);
        }
        Ok(Recalled::new(memories))
    }

    fn check(&self, turn: &CapturedTurn) -> Result<()> {
        turn.scope.check("capture")?;
        turn.messages
            .iter()
            .try_for_each(|said| limits::check_id("capture", "message", said.id.as_str()))
    }

    async fn capture(&self, turn: &CapturedTurn, cancel: &CancelSignal) -> Result<()> {
        self.check(turn)?;
        cancel.check("capture")?;
        let session = turn.scope.session.as_ref().ok_or_else(|| {
            // The turn is refused instead of captured in a wider scope: a message id is unique only
            // within its session.
            Error::new(ErrorKind::Unsupported, "capture", "the scope of the turn names no session")
        })?;
        let mut seen = BTreeSet::new();
        let once = turn.messages.iter().filter(|said| seen.insert(&said.id));
        let writes: Vec<MemoryWrite> =
            once.filter_map(|said| record(turn, session, said)).collect();
        for batch in writes.chunks(100) {
            // Existing records stay unchanged, and forgotten ones stay forgotten: this is the
            // default of `MemoryWrite::new`.
            let MemoryOutcome::Applied(_) = self.records("capture")?.write_memories(batch).await?
            else {
                return Err(Error::new(
                    ErrorKind::Bug,
                    "capture",
                    "a write without a version was in conflict",
                ));
            };
        }
        Ok(())
    }

    async fn forget(&self, forget: &MemoryForget) -> Result<MemoriesForgotten> {
        forget.check()?;
        self.records("forget")?.forget_memories(forget).await
    }
}
