//! Chats of two made-up agents: one that books flights, one that mends a program.
//!
//! Times and ids are counted, so that pictures of the chats stay the same.

mod booking;
mod coding;
mod names;
mod rounds;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use context_runtime::store::{ChatPatch, TitleChange};
use context_runtime::{
    Clock, ContextEngine, Fragment, IdGenerator, Message, MessageId, Part, Role, Store, Timestamp,
    ToolCall, ToolInput,
};
use serde_json::Value;

/// The chat of the agent that books flights.
pub(crate) const BOOKING: &str = "two-seats-to-lisbon";
/// The chat of the agent that mends a program.
pub(crate) const CODING: &str = "mend-the-date-parser";
/// A chat with many branches.
pub(crate) const BRANCHES: &str = "fare-search";
/// A chat in a language that is written from right to left.
pub(crate) const ARABIC: &str = "رحلة-لشبونة";
/// A chat without messages.
pub(crate) const EMPTY: &str = "not-begun";

/// 2 March 2026, 9:00 UTC, in microseconds.
const BEGIN: i64 = 1_772_442_000_000_000;
/// The time at which the chats are looked at, in milliseconds.
pub(crate) const LOOKED_AT: i64 = BEGIN / 1_000 + 3 * 3_600_000;

/// A clock that advances with each look.
#[derive(Debug)]
struct TickingClock(AtomicI64);

impl Clock for TickingClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.fetch_add(9_000_000, Ordering::Relaxed))
    }
}

#[derive(Debug, Default)]
struct CountedIds(AtomicU64);

impl IdGenerator for CountedIds {
    fn next_id(&self) -> String {
        format!("d{}", self.0.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

/// The chats, as they are written.
pub(crate) struct Demo {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdGenerator>,
}

impl Demo {
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        let clock = Arc::new(TickingClock(AtomicI64::new(BEGIN)));
        Self { store, clock, ids: Arc::new(CountedIds::default()) }
    }

    /// Writes all chats.
    pub(crate) async fn write(&self) {
        names::write(self).await;
        booking::write_branches(self).await;
        coding::write(self).await;
        booking::write(self).await;
        for chat in [BRANCHES, CODING, BOOKING] {
            rounds::record(self, chat).await;
        }
    }

    /// Opens a chat of the user `ada`, with a title.
    async fn chat(&self, name: &str, title: &str) -> ContextEngine {
        let builder = ContextEngine::builder(Arc::clone(&self.store)).user("ada").chat(name);
        let builder = builder.shared_environment(Arc::clone(&self.clock), Arc::clone(&self.ids));
        let mut engine = builder.open().await.unwrap();
        let title = TitleChange::Set(title.to_owned());
        engine.update_chat(&ChatPatch { title, ..ChatPatch::default() }).await.unwrap();
        engine
    }
}

/// Returns a store in memory with all chats.
pub(crate) async fn store() -> Arc<dyn Store> {
    let store = context_runtime::open("mem:").await.unwrap();
    Demo::new(Arc::clone(&store)).write().await;
    store
}

/// Returns a message of several parts.
pub(crate) fn message(role: Role, parts: impl IntoIterator<Item = Part>) -> Fragment {
    Fragment::from(Message::new(role, parts))
}

/// Returns an answer that calls a tool, and the message with its result.
fn step(text: &str, id: &str, tool: &str, input: Value, result: &str) -> [Fragment; 2] {
    let call = call(id, tool, input);
    let result = Part::ToolResult(call.result(result));
    [answer(text, call), message(Role::Tool, [result])]
}

/// Returns an answer that calls a tool, and the message that says why the call failed.
fn failed_step(text: &str, id: &str, tool: &str, input: Value, error: &str) -> [Fragment; 2] {
    let call = call(id, tool, input);
    let result = Part::ToolResult(call.error(error));
    [answer(text, call), message(Role::Tool, [result])]
}

fn answer(text: &str, call: ToolCall) -> Fragment {
    let text = (!text.is_empty()).then(|| Part::text(text));
    message(Role::Assistant, text.into_iter().chain([Part::ToolCall(call)]))
}

fn call(id: &str, tool: &str, input: Value) -> ToolCall {
    let (id, name) = (id.to_owned(), tool.to_owned());
    ToolCall { id, name, input: ToolInput::Json(input.into()), metadata: Default::default() }
}

/// Saves messages as one commit.
async fn say(engine: &mut ContextEngine, messages: impl IntoIterator<Item = Fragment>) {
    engine.set(messages).save().await.unwrap();
}

/// Opens a branch after a message, with a name.
async fn branch(engine: &mut ContextEngine, after: &str, name: &str) {
    let moved = engine.rewind(&MessageId::from(after)).await.unwrap();
    engine.rename_branch(&moved.branch, name).await.unwrap();
}
