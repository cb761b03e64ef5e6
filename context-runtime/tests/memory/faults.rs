//! A memory may be down, slow, wrong or full: the turn continues without recall.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use context_runtime::memory::{Episodic, ProviderChain, Queued, episodic};
use context_runtime::{
    CancelSignal, CaptureTurnInput, ContextRuntime, DefaultContextRuntime, Error, ErrorKind,
    Message, ModelContext, PrepareInput, Result, Role, Store,
    memory::{CapturedTurn, MemoryProvider, MemoryScope, RecallQuery, Recalled, RecalledMemory},
    store::{MemoriesForgotten, MemoryForget},
};

/// The fault of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MemoryFault {
    Down,
    Hangs,
    OtherUser,
    OtherSession,
    Huge,
    Blank,
}

#[derive(Debug)]
struct FaultyMemory(MemoryFault);

#[async_trait]
impl MemoryProvider for FaultyMemory {
    async fn recall(&self, query: &RecallQuery, _cancel: &CancelSignal) -> Result<Recalled> {
        let mut memory = RecalledMemory::new("episode", "The secret of somebody else.");
        match self.0 {
            MemoryFault::Down => {
                return Err(Error::new(ErrorKind::Unavailable, "recall", "the memory is down"));
            }
            MemoryFault::Hangs => std::future::pending().await,
            MemoryFault::OtherUser => memory.scope = Some(MemoryScope::new("eve")),
            MemoryFault::OtherSession => {
                memory.scope = Some(query.scope.clone().session("another"))
            }
            MemoryFault::Huge => memory.text = "x ".repeat(1 << 20),
            MemoryFault::Blank => memory.text = " \n".to_owned(),
        }
        Ok(Recalled::new(vec![memory]))
    }

    async fn capture(&self, _turn: &CapturedTurn, _cancel: &CancelSignal) -> Result<()> {
        match self.0 {
            MemoryFault::Hangs => std::future::pending().await,
            _ => Err(Error::new(ErrorKind::Unavailable, "capture", "the memory is down")),
        }
    }

    async fn forget(&self, _forget: &MemoryForget) -> Result<MemoriesForgotten> {
        Ok(MemoriesForgotten::default())
    }
}

fn store() -> Arc<dyn Store> {
    Arc::new(context_store_inmem::InMemoryStore::default())
}

fn runtime(memory: impl MemoryProvider) -> DefaultContextRuntime {
    DefaultContextRuntime::builder().window(100_000).reserve(1_000).memory(memory).build().unwrap()
}

fn history(said: &[&str]) -> Vec<Arc<Message>> {
    let role = |at: usize| if at.is_multiple_of(2) { Role::User } else { Role::Assistant };
    said.iter().enumerate().map(|(at, text)| Arc::new(Message::text(role(at), *text))).collect()
}

async fn prepare(
    runtime: &DefaultContextRuntime,
    session: &str,
    said: &[Arc<Message>],
) -> ModelContext {
    let input = PrepareInput::new(("ada", session), "turn", "openai", "any")
        .messages(said.iter().map(Arc::clone));
    runtime.prepare_for_model(input).await.unwrap()
}

fn texts(context: &ModelContext) -> String {
    context
        .request
        .messages
        .iter()
        .map(|message| message.plain_text().into_owned())
        .collect::<Vec<_>>()
        .join("\n")
}

async fn capture(
    runtime: &DefaultContextRuntime,
    session: &str,
    said: &[Arc<Message>],
) -> Vec<String> {
    let told = runtime
        .capture_turn(CaptureTurnInput::new(("ada", session), "turn", said.to_vec()))
        .await
        .unwrap();
    told.iter().map(|diagnostic| diagnostic.code.as_str().to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_turn_goes_on_whatever_is_wrong_with_the_memory() {
    let asked = history(&["What do you know of me?"]);
    for wrong in [
        MemoryFault::Down,
        MemoryFault::Hangs,
        MemoryFault::OtherUser,
        MemoryFault::OtherSession,
        MemoryFault::Huge,
        MemoryFault::Blank,
    ] {
        let runtime = runtime(FaultyMemory(wrong));
        let context = prepare(&runtime, "s", &asked).await;
        assert!(texts(&context).starts_with("What do you know of me?"), "{wrong:?}");
        assert_eq!(context.fits(), Some(true), "{wrong:?}");
        let codes: Vec<_> =
            context.diagnostics.iter().map(|diagnostic| diagnostic.code.as_str()).collect();
        let expected = match wrong {
            MemoryFault::Huge => "over_limit",
            MemoryFault::Blank => "memory_context_empty",
            _ => "memory_provider_error",
        };
        assert!(codes.contains(&expected), "{wrong:?}: {codes:?}");
        assert!(!texts(&context).contains("secret of somebody"), "{wrong:?}");
        if wrong != MemoryFault::Huge && wrong != MemoryFault::Blank {
            assert_eq!(
                capture(&runtime, "s", &asked).await,
                ["memory_provider_error"],
                "{wrong:?}"
            );
        }
    }
}

/// Fails while it is switched to.
#[derive(Debug)]
struct SwitchableMemory(Episodic, Arc<AtomicBool>);

#[async_trait]
impl MemoryProvider for SwitchableMemory {
    async fn recall(&self, query: &RecallQuery, cancel: &CancelSignal) -> Result<Recalled> {
        self.0.recall(query, cancel).await
    }

    async fn capture(&self, turn: &CapturedTurn, cancel: &CancelSignal) -> Result<()> {
        if self.1.load(Ordering::SeqCst) {
            return Err(Error::new(ErrorKind::Unavailable, "capture", "down"));
        }
        self.0.capture(turn, cancel).await
    }

    async fn forget(&self, forget: &MemoryForget) -> Result<MemoriesForgotten> {
        self.0.forget(forget).await
    }
}

#[tokio::test(start_paused = true)]
async fn what_did_not_fit_into_the_queue_is_told_again_with_the_next_turn() {
    let down = Arc::new(AtomicBool::new(true));
    let episodes = Episodic::new(store()).unwrap().hot(Duration::ZERO);
    let queue =
        Arc::new(Queued::bounded(SwitchableMemory(episodes, Arc::clone(&down)), 1, 1 << 20));
    let runtime = runtime(Arc::clone(&queue));
    let said = [
        "My cat is called Tom.",
        "Nice.",
        "My dog is called Rex.",
        "Good.",
        "My bird is called Pip.",
        "Oh.",
    ];
    let said = history(&said);
    assert_eq!(capture(&runtime, "s", &said[..2]).await, Vec::<String>::new());
    // Full, because the previous turn still waits. The turn is not delayed.
    assert_eq!(capture(&runtime, "s", &said[..4]).await, ["memory_provider_error"]);
    assert!(queue.flush(&CancelSignal::never()).await.is_err());
    down.store(false, Ordering::SeqCst);
    queue.flush(&CancelSignal::never()).await.unwrap();
    assert_eq!(capture(&runtime, "s", &said).await, Vec::<String>::new());
    queue.flush(&CancelSignal::never()).await.unwrap();
    for (question, answer) in [("cat", "Tom"), ("dog", "Rex"), ("bird", "Pip")] {
        let context =
            prepare(&runtime, question, &history(&[&format!("What is my {question} called?")]))
                .await;
        assert!(texts(&context).contains(answer), "{question}");
    }
}

#[tokio::test]
async fn what_was_recalled_is_not_captured_again() {
    let store = store();
    let memory = Arc::new(ProviderChain::new().with("episodes", episodic(&store).unwrap(), 1));
    let runtime = runtime(Arc::clone(&memory));
    capture(&runtime, "monday", &history(&["My cat is called Tom."])).await;
    memory.flush(&CancelSignal::never()).await.unwrap();
    let context = prepare(&runtime, "friday", &history(&["What is my cat called?"])).await;
    assert!(texts(&context).contains("Tom"));
    // A loop that keeps what it sent.
    let mut kept = context.request.messages.clone();
    kept.push(Arc::new(Message::text(Role::Assistant, "It is called so.")));
    assert_eq!(capture(&runtime, "friday", &kept).await, Vec::<String>::new());
    memory.flush(&CancelSignal::never()).await.unwrap();
    let query = RecallQuery::new(MemoryScope::new("ada").session("later"), "cat called");
    let recalled = memory.recall(&query, &CancelSignal::never()).await.unwrap();
    let mut found: Vec<_> = recalled.memories.iter().map(|memory| memory.text.as_str()).collect();
    found.sort_unstable();
    assert_eq!(found, ["It is called so.", "My cat is called Tom.", "What is my cat called?"]);
}

#[tokio::test]
async fn folders_keep_their_memories_apart() {
    let store = store();
    let memory = Arc::new(episodic(&store).unwrap());
    let runtime = runtime(Arc::clone(&memory));
    let mut told = CaptureTurnInput::new(
        ("ada", "s"),
        "t",
        history(&["The key of the client is under the mat."]),
    );
    told.cwd = Some("/clients/a".into());
    assert!(runtime.capture_turn(told).await.unwrap().is_empty());
    memory.flush(&CancelSignal::never()).await.unwrap();
    for (folder, found) in [("/clients/a", true), ("/clients/b", false)] {
        let mut input = PrepareInput::new(("ada", folder), "t", "openai", "any")
            .messages(history(&["Where is the key?"]));
        input.environment.cwd = Some(folder.into());
        let context = runtime.prepare_for_model(input).await.unwrap();
        assert_eq!(texts(&context).contains("under the mat"), found, "{folder}");
    }
}
