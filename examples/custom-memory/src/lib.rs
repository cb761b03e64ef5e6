//! A provider of memories of your own: what was said, word for word, kept in any store, on
//! `context-core` alone.
//!
//! Copy this package and change what is worth keeping. [`MemoryProvider`] asks for three calls:
//! recall before a turn, capture behind it, and forget. A store's [`MemoryRecordStore`] does the
//! rest: it keeps records apart by scope, finds them by words, writes each once, and keeps
//! forgotten what was forgotten. `tests/conformance.rs` proves the whole.
//!
//! Four decisions are a provider's own, and each is a function here:
//!
//! * [`filed`]: under which part of a turn's scope a memory stands, and so from where it comes
//!   back. Here: from all sessions in the same project with the same agent.
//! * [`words`]: by which words it is found. Both sides of a comparison have to be cut the same way.
//! * [`id`]: the name of a memory. It depends on the message alone, so a message that is told twice
//!   counts once.
//! * [`Verbatim::recall`]: what is worth telling, the best first, within the budget.
//!
//! To use it, hand it to the runtime:
//! `DefaultContextRuntime::builder().memory(Verbatim::new(store)?)`; `tests/runtime.rs` does. What
//! it captures is written when the call returns; `context_memory::Queued` around it lets no turn
//! wait for that.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use context_core::base::{MemoryId, limits};
use context_core::memory::MemoryRecord;
use context_core::memory::{
    CapturedMessage, CapturedTurn, MemoriesForgotten, MemoryForget, MemoryScope, MemorySource,
    RecallQuery, Recalled, RecalledMemory,
};
use context_core::store::{MemoryFind, MemoryOutcome, MemoryRecordStore, MemoryWrite};
use context_core::{
    CancelSignal, Error, ErrorKind, MemoryProvider, Result, Role, SessionId, Store,
};
use context_store_kit::search;

/// The kind of its records, so that others may keep theirs in the same store.
const KIND: &str = "verbatim";
/// The most memories of a recall.
const MOST: usize = 8;
/// The most bytes of a message that are kept.
const LONGEST: usize = 16 << 10;
/// How many bytes of text a token is, for budgets: on the safe side for most languages.
const BYTES_OF_TOKEN: u64 = 3;

/// Remembers what was said, word for word.
#[derive(Debug)]
pub struct Verbatim {
    store: Arc<dyn Store>,
}

impl Verbatim {
    /// Over a store. [`Unsupported`](ErrorKind::Unsupported) if that keeps no memories.
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

/// Under which part of a scope memories are filed: all but the session.
fn filed(scope: &MemoryScope) -> MemoryScope {
    let mut filed = scope.clone();
    filed.session = None;
    filed
}

/// The words of a text, as search cuts and folds them, each once.
fn words(text: &str, most: usize) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let words = search::words(text).map(|word| word.folded).filter(|word| word.len() <= 64);
    words.filter(|word| seen.insert(word.clone())).take(most).collect()
}

/// The name of what a message of a session says: the same each time it is told.
fn id(session: &SessionId, said: &CapturedMessage) -> MemoryId {
    MemoryId::derived(KIND, &[session.as_str(), said.id.as_str()])
}

/// What is kept of a message; nothing if it is no talk, or was only shown because it was
/// remembered.
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
    (!text.trim().is_empty()).then(|| MemoryWrite::new(record, words(text, usize::MAX).join(" ")))
}

#[async_trait]
impl MemoryProvider for Verbatim {
    async fn recall(&self, query: &RecallQuery, cancel: &CancelSignal) -> Result<Recalled> {
        query.scope.check("recall")?;
        cancel.check("recall")?;
        let asked = words(&query.text, limits::MAX_MEMORY_TERMS);
        // All scopes that are visible, each exactly: a store widens nothing.
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
            let Some(rest) = left.checked_sub(record.text.len() as u64) else { continue };
            left = rest;
            let mut memory = RecalledMemory::new(KIND, record.text);
            (memory.id, memory.scope) = (Some(record.id), Some(record.scope));
            (memory.source, memory.speaker) = (record.source, record.speaker);
            (memory.at, memory.score) = (Some(record.at), hit.score);
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
            // Refused, and not filed under something wider: a message has its name within its
            // session.
            Error::new(ErrorKind::Unsupported, "capture", "the scope of the turn names no session")
        })?;
        let mut seen = BTreeSet::new();
        let once = turn.messages.iter().filter(|said| seen.insert(&said.id));
        let writes: Vec<MemoryWrite> =
            once.filter_map(|said| record(turn, session, said)).collect();
        for batch in writes.chunks(100) {
            // What is there stays as it is, and what was forgotten stays so: `MemoryWrite::new`
            // says so.
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
