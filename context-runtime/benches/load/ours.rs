//! The library's side.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use context_runtime::memory::{EPISODE, Episodic, MemoryProvider, MemoryScope, RecallQuery, words};
use context_runtime::store::{
    Commit, CommitOutcome, MemoryRecord, MemoryWrite, NewChat, SearchQuery, SearchScope, Target,
};
use context_runtime::{CancelSignal, ChatRef, ContextEngine, Store, Timestamp, assistant, user};
use futures_util::{StreamExt, TryStreamExt, stream};
use tokio::sync::{Mutex, OnceCell};

use crate::data;
use crate::place::Place;
use crate::run::{Side, Texts};

/// The chats of a user.
const CHATS: usize = 10;
/// The chats that are written at the same time when a store is filled.
const AT_ONCE: usize = 16;

pub(crate) struct Ours {
    store: Arc<dyn Store>,
    chats: usize,
    memory: Option<Episodic>,
    engines: OnceCell<Vec<Mutex<ContextEngine>>>,
}

fn owner(chat: usize) -> String {
    format!("user-{}", chat / CHATS)
}

impl Ours {
    /// Creates a store with this many chats of this many messages.
    pub(crate) async fn create(
        place: &Place,
        full_text: bool,
        chats: usize,
        messages: usize,
    ) -> Self {
        let store = context_runtime::open(&place.library_url(full_text)).await.unwrap();
        stream::iter(0..chats)
            .map(|chat| fill(&*store, chat, messages))
            .buffer_unordered(AT_ONCE)
            .collect::<()>()
            .await;
        let memory = Episodic::new(Arc::clone(&store)).ok().map(|all| all.hot(Duration::ZERO));
        Self { store, chats, memory, engines: OnceCell::new() }
    }

    /// Opens an engine for each chat and keeps it.
    pub(crate) async fn keep_engines(&self) {
        let engines = stream::iter(0..self.chats)
            .map(|chat| async move {
                let mut engine = self.open(chat).await;
                engine.resolve().await.map(|_| Mutex::new(engine))
            })
            .buffered(AT_ONCE)
            .try_collect()
            .await
            .unwrap();
        self.engines.set(engines).ok().unwrap();
    }

    async fn open(&self, chat: usize) -> ContextEngine {
        ContextEngine::builder(Arc::clone(&self.store))
            .user(owner(chat))
            .chat(chat.to_string())
            .read_ahead()
            .open()
            .await
            .unwrap()
    }
}

async fn fill(store: &dyn Store, chat: usize, messages: usize) {
    let (at, chat) = (Timestamp::from_micros(1), ChatRef::new(owner(chat), chat.to_string()));
    let _created = store.history().create_chat(NewChat::new(chat.clone(), at)).await.unwrap();
    let nodes = data::nodes(0..messages).into_iter().map(Arc::new).collect();
    let target = Target::Extend { branch: "main".into(), expected: None };
    let commit = Commit { nodes, ..Commit::new(chat.clone(), target, at) };
    let outcome = store.history().commit(commit).await.unwrap();
    assert!(matches!(outcome, CommitOutcome::Applied(_)));
    if let Some(records) = store.memories() {
        let (scope, text) = (MemoryScope::new(chat.user.clone()), data::text(messages));
        let record = MemoryRecord::new(scope, chat.chat.as_str(), EPISODE, at, text.as_str());
        let write = MemoryWrite::new(record, words::index_words(&text));
        let _written = records.write_memories(&[write]).await.unwrap();
    }
}

async fn turn(engine: &mut ContextEngine, texts: &Texts) {
    engine.set([user(texts[0].clone())]);
    std::hint::black_box(engine.resolve().await.unwrap());
    engine.set([assistant(texts[1].clone())]);
    engine.save().await.unwrap();
}

#[async_trait]
impl Side for Ours {
    async fn turn(&self, chat: usize, texts: &Texts) {
        match self.engines.get() {
            Some(engines) => turn(&mut *engines[chat].lock().await, texts).await,
            None => turn(&mut self.open(chat).await, texts).await,
        }
    }

    async fn search(&self, chat: usize, words: &str) {
        let Some(search) = self.store.search() else { return };
        let query =
            SearchQuery { scope: SearchScope::User, ..SearchQuery::new(owner(chat), words) };
        std::hint::black_box(search.search(&query).await.unwrap());
    }

    async fn recall(&self, chat: usize, words: &str) {
        let Some(memory) = &self.memory else { return };
        let query = RecallQuery::new(MemoryScope::new(owner(chat)), words);
        std::hint::black_box(memory.recall(&query, &CancelSignal::never()).await.unwrap());
    }
}
