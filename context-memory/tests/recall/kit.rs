//! Shared fixtures: turns, questions, and memories that fail on demand.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use context_core::memory::{
    CapturedMessage, CapturedTurn, MemoriesForgotten, MemoryForget, MemoryScope, RecallQuery,
    Recalled,
};
use context_core::model::{EmbedAs, Embedder, ModelErrorCode};
use context_core::{
    CancelSignal, Error, ErrorKind, MemoryProvider, Message, ModelError, Result, Retry, Role,
    Timestamp,
};
use context_memory::Episodic;
use context_store_inmem::InMemoryStore;

pub(crate) fn never() -> CancelSignal {
    CancelSignal::never()
}

/// The scope of Ada in a session.
pub(crate) fn ada(session: &str) -> MemoryScope {
    MemoryScope::new("ada").session(session)
}

/// A turn with these messages, alternately by user and assistant. Ids are the session's name and a
/// number.
pub(crate) fn turn(scope: &MemoryScope, first: usize, said: &[&str]) -> CapturedTurn {
    let session = scope.session.as_ref().unwrap().as_str();
    let message = |(at, text): (usize, &&str)| {
        let role = if (first + at).is_multiple_of(2) { Role::User } else { Role::Assistant };
        let id = format!("{session}-{}", first + at);
        CapturedMessage::new(id, Message::text(role, *text)).at(minute((first + at) as i64))
    };
    let messages = said.iter().enumerate().map(message).collect();
    CapturedTurn::new(scope.clone(), format!("t{first}"), minute(first as i64), messages)
}

pub(crate) fn minute(at: i64) -> Timestamp {
    Timestamp::from_micros(1_700_000_000_000_000 + at * 60_000_000)
}

pub(crate) fn episodic() -> Episodic {
    over(&Arc::default())
}

pub(crate) fn over(store: &Arc<InMemoryStore>) -> Episodic {
    Episodic::new(Arc::clone(store) as _).unwrap()
}

/// Returns the texts of a recall.
pub(crate) async fn recall(
    memory: &dyn MemoryProvider,
    scope: MemoryScope,
    text: &str,
) -> Vec<String> {
    let recalled = memory.recall(&RecallQuery::new(scope, text), &never()).await.unwrap();
    recalled.memories.into_iter().map(|memory| memory.text).collect()
}

/// A provider that fails a number of captures and then passes them on. Can be held.
#[derive(Debug)]
pub(crate) struct FlakyProvider {
    pub(crate) inner: Episodic,
    pub(crate) failures: AtomicU32,
    pub(crate) kind: ErrorKind,
    /// Whether a retry may help. By default that of the error kind.
    pub(crate) retry: Option<Retry>,
    pub(crate) held: tokio::sync::Mutex<()>,
    pub(crate) told: Mutex<Vec<String>>,
}

impl FlakyProvider {
    pub(crate) fn failing(times: u32, kind: ErrorKind) -> Self {
        let (failures, held) = (AtomicU32::new(times), tokio::sync::Mutex::new(()));
        Self { inner: episodic(), failures, kind, retry: None, held, told: Mutex::default() }
    }
}

#[async_trait]
impl MemoryProvider for FlakyProvider {
    async fn recall(&self, query: &RecallQuery, cancel: &CancelSignal) -> Result<Recalled> {
        self.inner.recall(query, cancel).await
    }

    async fn capture(&self, turn: &CapturedTurn, cancel: &CancelSignal) -> Result<()> {
        let _held = self.held.lock().await;
        self.told.lock().unwrap().push(turn.turn.clone());
        let left = self.failures.load(Ordering::SeqCst);
        if left > 0 {
            self.failures.store(left - 1, Ordering::SeqCst);
            let error = Error::new(self.kind, "capture", "told to fail");
            let retry = self.retry.unwrap_or_else(|| error.retry());
            return Err(error.with_retry(retry));
        }
        self.inner.capture(turn, cancel).await
    }

    async fn forget(&self, forget: &MemoryForget) -> Result<MemoriesForgotten> {
        self.inner.forget(forget).await
    }
}

/// An embedder with one dimension per topic.
#[derive(Debug, Default)]
pub(crate) struct TopicEmbedder {
    pub(crate) fails: bool,
    pub(crate) asked: AtomicU32,
}

#[async_trait]
impl Embedder for TopicEmbedder {
    fn name(&self) -> &str {
        "topics"
    }

    async fn embed(
        &self,
        texts: &[String],
        _embed_as: EmbedAs,
        _cancel: &CancelSignal,
    ) -> Result<Vec<Vec<f32>>, ModelError> {
        const TOPICS: [&[&str]; 3] =
            [&["doctor", "physician", "surgery"], &["train", "railway"], &["cat", "kitten"]];
        self.asked.fetch_add(1, Ordering::SeqCst);
        if self.fails {
            return Err(ModelError::new("topics", ModelErrorCode::Server, "down"));
        }
        let place = |text: &String| {
            let has = |words: &&[&str]| words.iter().any(|word| text.to_lowercase().contains(word));
            TOPICS.iter().map(|words| if has(words) { 1.0 } else { 0.01 }).collect()
        };
        Ok(texts.iter().map(place).collect())
    }
}
