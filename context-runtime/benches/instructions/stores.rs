//! Cases over a store: an engine, a runtime, SQLite, memories.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use context_runtime::compaction::{microcompact, snip, summarize, truncate_head};
use context_runtime::memory::{EPISODE, Episodic, episodic, words as memory_words};
use context_runtime::tokens::{ModelCounter, TokenCounter};
use context_runtime::{
    CancelSignal, CaptureTurnInput, ChatRef, ContextEngine, ContextRuntime, DefaultContextRuntime,
    Message, MessageId, Messages, PrepareInput, Role, Store, Timestamp,
    memory::{MemoryProvider, MemoryScope, RecallQuery},
    model::Answer,
    store::{
        Chain, ChainEnd, Commit, CommitOutcome, HistoryStore, MemoryOutcome, MemoryRecord,
        MemoryWrite, NewChat, Node, Target, Window,
    },
};
use tokio::runtime::Runtime;

use crate::{Work, data, words};

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

fn chat() -> ChatRef {
    ChatRef::new("user", "chat")
}

async fn append_to(
    history: &dyn HistoryStore,
    head: Option<MessageId>,
    nodes: Vec<Arc<Node>>,
) -> MessageId {
    let target = Target::Extend { branch: "main".into(), expected: head };
    let commit = Commit { nodes, ..Commit::new(chat(), target, Timestamp::from_micros(1)) };
    match history.commit(commit).await.unwrap() {
        CommitOutcome::Applied(committed) => committed.head.unwrap(),
        other => panic!("{other:?}"),
    }
}

/// Returns a store with a chat of `n` messages, and its head.
async fn filled(url: &str, n: usize) -> (Arc<dyn Store>, MessageId) {
    let store = context_runtime::open(url).await.unwrap();
    let new = NewChat::new(chat(), Timestamp::from_micros(0));
    let _created = store.history().create_chat(new).await.unwrap();
    let nodes = words::nodes(0..n).into_iter().map(Arc::new).collect();
    let head = append_to(store.history(), None, nodes).await;
    (store, head)
}

/// Returns a store in a file that is deleted with the returned folder.
async fn in_a_file(n: usize) -> (tempfile::TempDir, Arc<dyn Store>, MessageId) {
    let folder = tempfile::tempdir().unwrap();
    let (store, head) =
        filled(&format!("sqlite:{}", folder.path().join("chats.db").display()), n).await;
    (folder, store, head)
}

pub(crate) fn resolve_warm() -> Work {
    let runtime = runtime();
    let mut engine = runtime.block_on(async {
        let (store, _) = filled("mem:", 10_000).await;
        let mut engine =
            ContextEngine::builder(store).user("user").chat("chat").open().await.unwrap();
        engine.set(crate::fragments::mixed(40));
        engine.resolve().await.unwrap();
        engine
    });
    Box::new(move || drop(black_box(runtime.block_on(engine.resolve()).unwrap())))
}

pub(crate) fn prepare() -> Work {
    let (runtime, context) = (runtime(), DefaultContextRuntime::builder().build().unwrap());
    let (mut messages, tools) = (Messages::from(data::work(10_000, 400)), data::tools());
    let mut news = data::talk(20_001).split_off(10_000).into_iter();
    Box::new(move || {
        messages.extend(news.next());
        let input = PrepareInput::new(("ada", "s"), "t", "openai", "gpt-4o")
            .system(words::text(0))
            .tools(tools.iter().cloned());
        let input = input.conversation(messages.clone()).window(1_000_000_000);
        drop(black_box(runtime.block_on(context.prepare_for_model(input)).unwrap()));
    })
}

/// Prepares in a runtime that has seen none of the messages.
pub(crate) fn prepare_cold() -> Work {
    let (runtime, messages) = (runtime(), data::work(1_000, 400));
    Box::new(move || {
        let context = DefaultContextRuntime::builder().build().unwrap();
        let input = PrepareInput::new(("ada", "s"), "t", "openai", "gpt-4o")
            .messages(messages.iter().map(Arc::clone));
        drop(black_box(
            runtime.block_on(context.prepare_for_model(input.window(1_000_000_000))).unwrap(),
        ));
    })
}

/// Runs all stages on a history that is a third larger than what fits, with a model that answers
/// immediately.
pub(crate) fn summarise() -> Work {
    let (runtime, messages) = (runtime(), data::talk(1_000));
    let counter = ModelCounter::for_model("gpt-4o");
    let total = counter.count_messages(&messages).tokens();
    let answer = "## Objective\nA trip.\n## Current state\nHalf of it.\n## Done\nThat half.\n## Remaining\nThe rest.\n\
         ## Files and artifacts\nNone";
    let answer = Answer::new(Message::text(Role::Assistant, answer));
    Box::new(move || {
        let context = DefaultContextRuntime::builder()
            .window(total * 10 / 13 + total / 20)
            .reserve(total / 20)
            .compaction([microcompact(), summarize(), snip(), truncate_head()])
            .build()
            .unwrap();
        let input = || {
            PrepareInput::new(("ada", "s"), "t", "openai", "gpt-4o")
                .messages(messages.iter().map(Arc::clone))
        };
        let task = runtime.block_on(context.prepare_for_model(input())).unwrap().summary.unwrap();
        context.accept_summary(&("ada", "s").into(), &messages, &task, &answer).unwrap();
        drop(black_box(runtime.block_on(context.prepare_for_model(input())).unwrap()));
    })
}

/// Captures one more turn.
pub(crate) fn capture() -> Work {
    let (runtime, node) = (runtime(), |(n, message): (usize, Arc<Message>)| {
        Arc::new(Node::new(n.to_string(), message, Timestamp::from_micros(0)))
    });
    let mut nodes = Chain::from_nodes(0, data::work(10_000, 400).into_iter().enumerate().map(node));
    let store = runtime.block_on(context_runtime::open("mem:")).unwrap();
    let context =
        DefaultContextRuntime::builder().memory(episodic(&store).unwrap()).build().unwrap();
    let mut news = data::talk(20_001).split_off(10_000).into_iter();
    Box::new(move || {
        news.next().into_iter().for_each(|new| nodes.push(node((nodes.len(), new))));
        let input = CaptureTurnInput::of_chain(("ada", "s"), "t", nodes.clone());
        drop(black_box(runtime.block_on(context.capture_turn(input)).unwrap()));
    })
}

pub(crate) fn append() -> Work {
    let runtime = runtime();
    let (folder, store, mut head) = runtime.block_on(in_a_file(1_000));
    let mut next = 1_000;
    Box::new(move || {
        let _open = &folder;
        let node = Arc::new(words::node(next));
        next += 1;
        head = runtime.block_on(append_to(store.history(), Some(head.clone()), vec![node]));
    })
}

pub(crate) fn load() -> Work {
    let runtime = runtime();
    let (folder, store, _) = runtime.block_on(in_a_file(1_000));
    Box::new(move || {
        let (_open, chat, end) = (&folder, chat(), ChainEnd::Branch("main".into()));
        let chain = runtime.block_on(store.history().chain(&chat, &end, &Window::Whole)).unwrap();
        assert_eq!(black_box(chain).len(), 1_000);
    })
}

/// Every record has two of the question's words, so all of them are scored.
pub(crate) fn recall() -> Work {
    let runtime = runtime();
    let memory = runtime.block_on(async {
        let store = context_runtime::open("mem:").await.unwrap();
        let write = |i: usize| {
            let text = format!(
                "We took the {} train to Lisbon. {}",
                words::word(i as u64),
                words::text(i)
            );
            let said = Timestamp::from_micros(i as i64 * 60_000_000);
            let record = MemoryRecord::new(
                MemoryScope::new("user"),
                format!("m{i:03}"),
                EPISODE,
                said,
                text.as_str(),
            );
            MemoryWrite::new(record, memory_words::index_words(&text))
        };
        let writes: Vec<_> = (0..500).map(write).collect();
        let written = store.memories().unwrap().write_memories(&writes).await.unwrap();
        assert!(matches!(written, MemoryOutcome::Applied(_)));
        Episodic::new(store).unwrap().hot(Duration::ZERO)
    });
    Box::new(move || {
        let question = format!("When did we take the {} train to Lisbon?", words::word(250));
        let query = RecallQuery::new(MemoryScope::new("user"), question).max_tokens(2_000);
        let recalled = runtime.block_on(memory.recall(&query, &CancelSignal::never())).unwrap();
        assert!(!black_box(recalled).memories.is_empty());
    })
}
