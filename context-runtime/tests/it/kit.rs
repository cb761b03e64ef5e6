//! Helpers for the tests: an engine with deterministic ids and times.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use context_runtime::{
    Clock, ContextEngine, ContextEngineBuilder, Fragment, IdGenerator, Store, Timestamp, assistant,
    store::Chain, user,
};

#[derive(Debug, Default)]
pub(crate) struct CountingIds(AtomicU64);

impl From<u64> for CountingIds {
    /// Counts on from here, for a program beside or after another one.
    fn from(last: u64) -> Self {
        Self(AtomicU64::new(last))
    }
}

impl IdGenerator for CountingIds {
    fn next_id(&self) -> String {
        format!("#{}", self.0.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

#[derive(Debug, Default)]
pub(crate) struct TickingClock(AtomicI64);

impl Clock for TickingClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

/// A clock that is set by hand.
#[derive(Clone, Debug, Default)]
pub(crate) struct HandClock(Arc<AtomicI64>);

impl HandClock {
    pub(crate) fn advance(&self, seconds: i64) {
        self.0.fetch_add(seconds * 1_000_000, Ordering::SeqCst);
    }
}

impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }
}

pub(crate) async fn store() -> Arc<dyn Store> {
    context_runtime::open("mem:").await.unwrap()
}

pub(crate) fn builder(store: &Arc<dyn Store>) -> ContextEngineBuilder {
    ContextEngine::builder(Arc::clone(store))
        .user("ada")
        .chat("c")
        .clock(TickingClock::default())
        .ids(CountingIds::default())
}

pub(crate) async fn engine(store: &Arc<dyn Store>) -> ContextEngine {
    builder(store).open().await.unwrap()
}

/// Returns a message of the user or, for ids that begin with `a`, of the assistant.
pub(crate) fn say(id: &str, text: &str) -> Fragment {
    let message = if id.starts_with('a') { assistant(text) } else { user(text) };
    message.with_id(id)
}

/// Returns an engine whose chat has these messages, saved one by one.
pub(crate) async fn with_messages(store: &Arc<dyn Store>, ids: &[&str]) -> ContextEngine {
    let mut engine = engine(store).await;
    for id in ids {
        engine.set([say(id, &format!("text {id}"))]);
    }
    let _saved = engine.save().await.unwrap();
    engine
}

/// Returns `id: text` of each message.
pub(crate) fn texts(chain: &Chain) -> Vec<String> {
    chain
        .iter()
        .map(|node| format!("{}: {}", node.id, node.message().unwrap().plain_text()))
        .collect()
}

/// Returns what the engine would send.
pub(crate) async fn shown(engine: &mut ContextEngine) -> Vec<String> {
    texts(&engine.resolve().await.unwrap().messages)
}

/// Returns what a new engine on a branch would send: the stored messages.
pub(crate) async fn stored(store: &Arc<dyn Store>, branch: &str) -> Vec<String> {
    let mut engine = builder(store).branch(branch).open().await.unwrap();
    shown(&mut engine).await
}
