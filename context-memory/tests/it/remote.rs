//! Memories over HTTP: the client against the example's server, and against hostile servers.

mod hostile;
#[path = "../../examples/memory_server/serve.rs"]
mod serve;
mod service;

use std::sync::Arc;

use async_trait::async_trait;
use context_conformance::FixedClock;
use context_conformance::memory::{MemoryClaims, assert_memory_conforms};
use context_core::memory::{
    CapturedMessage, CapturedTurn, MemoriesForgotten, MemoryForget, MemoryReview, MemoryScope,
    MemorySource, RecallQuery, Recalled,
};
use context_core::message::Reasoning;
use context_core::{
    CancelSignal, ErrorKind, MemoryProvider, Message, Part, Result, Role, Store, Timestamp,
};
use context_http::{ClientOptions, Retries, Secret};
use context_memory::remote::{KeyFor, MemoryService, RemoteMemory};
use context_memory::{Blocks, Cardinality, Episodic, Facts, Statement};
use context_store_inmem::InMemoryStore;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

const KEY: &str = "key-of-a-test";
const KEY_FOR_ALL: &str = "key-of-all-tests";

fn never() -> CancelSignal {
    CancelSignal::never()
}

fn ada() -> MemoryScope {
    MemoryScope::new("ada").project("p").session("s")
}

/// The example's server on a provider. Stops when dropped.
#[derive(Debug)]
struct TestServer {
    address: String,
    task: JoinHandle<()>,
}

impl TestServer {
    async fn start(provider: Arc<dyn MemoryProvider>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let service = MemoryService::new(provider, "test").key(KEY, KeyFor::User("ada".into()));
        let service = service.key(KEY_FOR_ALL, KeyFor::AllUsers);
        Self { address, task: tokio::spawn(serve::serve(listener, Arc::new(service))) }
    }

    fn client(&self, key: &str) -> RemoteMemory {
        client(&self.address, key)
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn client(address: &str, key: &str) -> RemoteMemory {
    let options = ClientOptions::default().bearer(Secret::new(key)).retries(Retries::none());
    RemoteMemory::at(address, options).unwrap()
}

fn turn(messages: Vec<CapturedMessage>) -> CapturedTurn {
    CapturedTurn::new(ada(), "t", Timestamp::from_micros(5), messages)
}

#[tokio::test]
async fn what_is_captured_on_one_side_is_recalled_on_the_other() {
    let store = Arc::new(InMemoryStore::default());
    let served = TestServer::start(Arc::new(Episodic::new(Arc::clone(&store) as _).unwrap())).await;
    let memory = served.client(KEY);
    assert_eq!(memory.info(&never()).await.unwrap().name, "test");
    let thought =
        Part::Reasoning(Reasoning { text: "a secret thought".into(), ..Default::default() });
    let said = Message::new(Role::User, [thought, Part::text("My cat is called Tom.")]);
    let said = CapturedMessage::new("m", said).at(Timestamp::from_micros(7)).speaker("Ada");
    memory.capture(&turn(vec![said.clone()]), &never()).await.unwrap();
    // As after a lost reply.
    memory.capture(&turn(vec![said]), &never()).await.unwrap();
    memory.flush(&never()).await.unwrap();

    let elsewhere = MemoryScope::new("ada").project("p").session("other");
    let mut query = RecallQuery::new(elsewhere, "What is the name of my cat?").max_tokens(1_000);
    query.recent = vec![Arc::new(Message::from("Hello."))].into();
    let recalled = memory.recall(&query, &never()).await.unwrap().memories;
    assert_eq!(recalled.len(), 1);
    let found = &recalled[0];
    assert_eq!((found.kind.as_str(), found.text.as_str()), ("episode", "My cat is called Tom."));
    assert_eq!(found.speaker.as_deref(), Some("Ada"));
    assert_eq!(found.source, Some(MemorySource::message("s", "m")));
    assert_eq!(
        (found.at, found.scope.clone()),
        (Some(Timestamp::from_micros(7)), Some(MemoryScope::new("ada").project("p")))
    );

    let apart = RecallQuery::new(MemoryScope::new("ada").project("q"), "cat");
    assert!(memory.recall(&apart, &never()).await.unwrap().memories.is_empty());

    let source = MemorySource::message("s", "m");
    let forget = MemoryForget::source(MemoryScope::new("ada"), source);
    let forgotten = memory.forget(&forget).await.unwrap();
    assert_eq!((forgotten.removed, forgotten.remaining), (1, 0));
    assert_eq!(memory.forget(&forget).await.unwrap().removed, 0);
    assert!(memory.recall(&query, &never()).await.unwrap().memories.is_empty());
    let stats = store.memories().unwrap().memory_stats(&"ada".into(), 9, None).await.unwrap();
    assert!(stats.items.is_empty());
}

#[tokio::test]
async fn any_provider_can_be_served() {
    let store = Arc::new(InMemoryStore::default());
    let clock = Arc::new(FixedClock::at(0));
    let blocks = Blocks::new(Arc::clone(&store) as _, Arc::clone(&clock) as _).unwrap();
    let block = blocks.create(&ada(), "user", "Ada").await.unwrap();
    let served = TestServer::start(Arc::new(blocks)).await;
    let recalled = served.client(KEY).recall(&RecallQuery::new(ada(), ""), &never()).await.unwrap();
    assert_eq!(recalled.memories[0].text, "user:\nAda");
    let forget = MemoryForget::ids(block.scope, ["block:user"]);
    assert_eq!(served.client(KEY).forget(&forget).await.unwrap().removed, 1);

    let facts = Facts::new(Arc::clone(&store) as _, clock).unwrap();
    let said =
        Statement::new("Ada", "owns", "a boat", Cardinality::Many, Timestamp::from_micros(0));
    facts.state(&ada(), &[said]).await.unwrap();
    let served = TestServer::start(Arc::new(facts)).await;
    let query = RecallQuery::new(ada(), "boat");
    let recalled = served.client(KEY).recall(&query, &never()).await.unwrap();
    assert_eq!(recalled.memories[0].text, "Ada owns a boat (as of 1970-01-01)");
    let forgotten =
        served.client(KEY).forget(&MemoryForget::Scope(MemoryScope::new("ada"))).await.unwrap();
    assert_eq!((forgotten.removed, forgotten.remaining), (1, 0));
}

#[tokio::test]
async fn a_key_opens_what_it_is_for() {
    let served =
        TestServer::start(Arc::new(Episodic::new(Arc::new(InMemoryStore::default())).unwrap()))
            .await;
    for (client, user) in [
        (served.client(KEY), "bob"),
        (served.client("another-key"), "ada"),
        (served.client("x"), "ada"),
    ] {
        let query = RecallQuery::new(MemoryScope::new(user), "cat");
        let refused = client.recall(&query, &never()).await.unwrap_err();
        assert_eq!(
            (refused.kind(), refused.retry()),
            (ErrorKind::Unavailable, context_core::Retry::Never)
        );
        assert!(client.forget(&MemoryForget::Scope(MemoryScope::new(user))).await.is_err());
        assert!(!format!("{client:?} {refused:?}").contains("key-of"));
    }
}

#[tokio::test]
async fn a_long_turn_is_sent_in_pieces() {
    let store = Arc::new(InMemoryStore::default());
    let served = TestServer::start(Arc::new(Episodic::new(Arc::clone(&store) as _).unwrap())).await;
    let text = |number: usize| format!("{number} {}", "word ".repeat(1_000));
    let message = |number| {
        CapturedMessage::new(format!("m{number}"), Message::text(Role::User, text(number)))
    };
    let long = turn((0..300).map(message).collect());
    served.client(KEY).capture(&long, &never()).await.unwrap();
    let stats = store.memories().unwrap().memory_stats(&"ada".into(), 9, None).await.unwrap();
    assert!(stats.items[0].records() >= 300);
}

#[tokio::test]
async fn what_is_cancelled_is_not_asked() {
    let source = context_core::base::CancelSource::new();
    source.cancel();
    let memory = client("http://127.0.0.1:1", KEY);
    let cancelled =
        memory.recall(&RecallQuery::new(ada(), "x"), &source.signal()).await.unwrap_err();
    assert_eq!(cancelled.kind(), ErrorKind::Cancelled);
    // No server is listening.
    let gone = memory.recall(&RecallQuery::new(ada(), "x"), &never()).await.unwrap_err();
    assert_eq!(gone.kind(), ErrorKind::Unavailable);
    let options = ClientOptions::default();
    let refused = RemoteMemory::at("http://memory.example.com", options).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Invalid);
}

/// A client together with its server.
#[derive(Debug)]
struct RemoteFixture {
    client: RemoteMemory,
    _served: TestServer,
}

#[async_trait]
impl MemoryProvider for RemoteFixture {
    async fn recall(&self, query: &RecallQuery, cancel: &CancelSignal) -> Result<Recalled> {
        self.client.recall(query, cancel).await
    }

    async fn capture(&self, turn: &CapturedTurn, cancel: &CancelSignal) -> Result<()> {
        self.client.capture(turn, cancel).await
    }

    async fn flush(&self, cancel: &CancelSignal) -> Result<()> {
        self.client.flush(cancel).await
    }

    async fn forget(&self, forget: &MemoryForget) -> Result<MemoriesForgotten> {
        self.client.forget(forget).await
    }

    fn review(&self) -> Option<&dyn MemoryReview> {
        self.client.review()
    }
}

#[tokio::test]
async fn what_conforms_does_so_over_http() {
    let open = async || {
        let served = TestServer::start(crate::conforms::parcels()).await;
        Arc::new(RemoteFixture { client: served.client(KEY_FOR_ALL), _served: served })
            as Arc<dyn MemoryProvider>
    };
    let asked = assert_memory_conforms(open, &MemoryClaims::default()).await;
    assert!(asked.skipped.is_empty(), "{asked:?}");
}
