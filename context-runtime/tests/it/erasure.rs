//! Retention, redaction and erasure on every store: exactly the intended data is removed.

use std::sync::Arc;
use std::time::Duration;

use context_runtime::{
    CancelSignal, ChatRef, ErrorKind, Message, MessageId, Retention, Role, Store, Timestamp,
    UserId,
    store::{BlobId, ChainEnd, Commit, NewBlob, NewChat, Node, SearchQuery, Target, Window},
};

const DAY: i64 = 86_400_000_000;

fn at(day: i64) -> Timestamp {
    Timestamp::from_micros(day * DAY)
}

fn says(id: &str, text: &str, day: i64) -> Arc<Node> {
    Arc::new(Node::new(id, Message::text(Role::User, text), at(day)))
}

/// A store under test, with users of its own.
struct ErasureFixture {
    name: &'static str,
    store: Arc<dyn Store>,
    ada: UserId,
    bob: UserId,
}

impl ErasureFixture {
    fn new(name: &'static str, store: Arc<dyn Store>) -> Self {
        let user = |who: &str| UserId::from(format!("{who}-{}", std::process::id()));
        Self { name, store, ada: user("ada"), bob: user("bob") }
    }

    fn chat(&self, chat: &str) -> ChatRef {
        ChatRef::new(self.ada.clone(), chat)
    }

    async fn write(&self, chat: &ChatRef, day: i64) {
        let history = self.store.history();
        let _created = history.create_chat(NewChat::new(chat.clone(), at(day))).await.unwrap();
        let nodes = vec![says("m1", "a word about kumquats", day), says("m2", "an answer", day)];
        let target = Target::Extend { branch: "main".into(), expected: None };
        let commit = Commit { nodes, ..Commit::new(chat.clone(), target, at(day)) };
        assert!(history.commit(commit).await.unwrap().committed().is_some(), "{}", self.name);
    }

    async fn put(&self, chat: &ChatRef, text: &'static str, day: i64) {
        let Some(blobs) = self.store.blobs() else { return };
        blobs.put_blob(chat, NewBlob::new(text, at(day))).await.unwrap();
    }

    async fn has_blob(&self, chat: &ChatRef, text: &str) -> bool {
        let Some(blobs) = self.store.blobs() else { return false };
        blobs.read_blob(chat, &BlobId::of(text.as_bytes()), 0..99, None).await.unwrap().is_some()
    }

    async fn stream(&self, chat: &ChatRef, id: &str, day: i64, ends: bool) {
        use context_runtime::store::{StreamAppend, StreamClaim, StreamEnd};
        let Some(streams) = self.store.streams() else { return };
        let id = id.into();
        let _created = streams.create_stream(chat, &id, at(day)).await.unwrap();
        let _claimed =
            streams.claim_stream(chat, &id, &StreamClaim::new("w", at(day))).await.unwrap();
        let append = StreamAppend::new("w", 0, ["a chunk"], at(day));
        let append = if ends { append.end(StreamEnd::Completed) } else { append };
        assert!(streams.append_stream(chat, &id, append).await.unwrap().is_done());
    }

    async fn streams(&self, chat: &ChatRef) -> Vec<String> {
        let Some(streams) = self.store.streams() else { return Vec::new() };
        let page = streams.streams(chat, 10, None).await.unwrap();
        page.items.into_iter().map(|stream| stream.id.to_string()).collect()
    }

    async fn found(&self, word: &str) -> usize {
        let Some(search) = self.store.search() else { return 0 };
        search.search(&SearchQuery::new(self.ada.clone(), word)).await.unwrap().items.len()
    }

    /// A redacted message leaves no content: not at its position, not in revisions, not in the
    /// index.
    async fn redacted_is_gone(&self) {
        let (history, chat) = (self.store.history(), self.chat("redacted"));
        self.write(&chat, 1).await;
        let commit = |at| Commit::new(chat.clone(), Target::Stay, at);
        let amendments = vec![says("m1", "a word about persimmons", 2)];
        let _amended = history.commit(Commit { amendments, ..commit(at(2)) }).await.unwrap();
        assert_eq!(history.revisions(&chat, &"m1".into()).await.unwrap().len(), 1, "{}", self.name);
        let old = history.messages(&chat, &["m1".into()]).await.unwrap()[0].clone().unwrap();
        let gone = Node::new("m1", old.node.message().unwrap().redacted(), at(1));
        let _redacted = history
            .commit(Commit { redactions: vec![gone.into()], ..commit(at(3)) })
            .await
            .unwrap();
        let end = ChainEnd::Branch("main".into());
        let chain = history.chain(&chat, &end, &Window::Whole).await.unwrap();
        let texts: Vec<_> =
            chain.iter().map(|node| node.message().unwrap().readable_text().to_string()).collect();
        assert_eq!(texts, ["[redacted]", "an answer"], "{}", self.name);
        assert_eq!(history.revisions(&chat, &"m1".into()).await.unwrap(), [], "{}", self.name);
        assert_eq!(
            self.found("persimmons").await + self.found("kumquats").await,
            0,
            "{}",
            self.name
        );
        assert!(history.delete_chat(&chat, None).await.unwrap());
    }

    /// An old chat is removed with everything that belongs to it. A chat used since the plan stays.
    async fn old_is_gone(&self) {
        let (old, new) = (self.chat("old"), self.chat("new"));
        self.write(&old, 1).await;
        self.write(&new, 9).await;
        self.put(&old, "with its chat", 9).await;
        for (text, day) in [("old", 1), ("read since", 2), ("young", 9)] {
            self.put(&new, text, day).await;
        }
        for (id, day, ends) in [("abandoned", 1, false), ("ended", 1, true), ("runs", 9, false)] {
            self.stream(&new, id, day, ends).await;
        }
        let limit = Some(Duration::from_secs(5 * 86_400));
        let mut policy = Retention::default();
        policy.idle_chats = limit;
        policy.idle_blobs = limit;
        policy.idle_streams = limit;
        let never = CancelSignal::never();
        let removals = policy.plan(&*self.store, &self.ada, at(10), &never).await.unwrap();
        let seen: Vec<_> = removals
            .iter()
            .map(|gone| (gone.chat.chat.as_str(), gone.blobs, gone.streams))
            .collect();
        let mut expected = Vec::new();
        if self.store.blobs().is_some() {
            expected.push(("new", 2, 0));
        }
        if self.store.streams().is_some() {
            expected.push(("new", 0, 2));
        }
        expected.push(("old", 0, 0));
        assert_eq!(seen, expected, "{}", self.name);
        if let Some(blobs) = self.store.blobs() {
            let id = BlobId::of(b"read since");
            let read = blobs.read_blob(&new, &id, 0..1, Some(at(10)));
            assert!(read.await.unwrap().is_some());
        }
        for removal in &removals {
            assert!(removal.run(&*self.store, at(10)).await.unwrap(), "{}: {removal:?}", self.name);
            assert!(!removal.run(&*self.store, at(10)).await.unwrap(), "{}: twice", self.name);
        }
        assert_eq!(self.store.history().chat(&old).await.unwrap(), None, "{}", self.name);
        if self.store.blobs().is_some() {
            assert!(!self.has_blob(&new, "old").await, "{}", self.name);
            assert!(self.has_blob(&new, "read since").await && self.has_blob(&new, "young").await);
        }
        if self.store.streams().is_some() {
            assert_eq!(self.streams(&new).await, ["runs"], "{}", self.name);
        }
        let again = policy.plan(&*self.store, &self.ada, at(10), &never).await.unwrap();
        assert_eq!(again, [], "{}", self.name);
    }

    /// All data of an erased user is removed, and no data of other users.
    async fn erased_is_gone(&self) {
        let Some(maintenance) = self.store.maintenance() else { return };
        let (mine, theirs) = (self.chat("new"), ChatRef::new(self.bob.clone(), "new"));
        self.write(&theirs, 1).await;
        self.put(&theirs, "young", 1).await;
        let never = CancelSignal::never();
        let erased = maintenance.erase_user(&self.ada, &never).await.unwrap();
        assert_eq!((erased.chats, erased.messages, erased.remaining), (1, 2, 0), "{}", self.name);
        assert_eq!(self.store.history().chat(&mine).await.unwrap(), None, "{}", self.name);
        assert_eq!(self.found("kumquats").await, 0, "{}", self.name);
        if let Some(blobs) = self.store.blobs() {
            let error = blobs.blobs(&mine, 10, None).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotFound, "{}", self.name);
            assert!(self.has_blob(&theirs, "young").await, "{}", self.name);
        }
        let found = self.store.history().messages(&theirs, &[MessageId::from("m1")]).await.unwrap();
        assert!(found[0].is_some(), "{}", self.name);
        let erased = maintenance.erase_user(&self.bob, &never).await.unwrap();
        assert_eq!((erased.chats, erased.remaining), (1, 0), "{}", self.name);
    }
}

/// The stores under test that need no server.
async fn stores(folder: &std::path::Path) -> Vec<ErasureFixture> {
    let urls = [
        ("inmem", "mem:".to_owned()),
        #[cfg(feature = "sqlite")]
        ("sqlite", file(folder, "plain")),
    ];
    let mut stores = Vec::new();
    for (name, url) in urls {
        stores.push(ErasureFixture::new(name, context_runtime::open(&url).await.unwrap()));
    }
    #[cfg(all(feature = "sqlite", feature = "layers"))]
    stores.extend(layered(folder).await);
    stores
}

#[cfg(feature = "sqlite")]
fn file(folder: &std::path::Path, name: &str) -> String {
    format!("sqlite:{}", folder.join(format!("{name}.db")).display())
}

/// Layers over a store in a file.
#[cfg(all(feature = "sqlite", feature = "layers"))]
async fn layered(folder: &std::path::Path) -> [ErasureFixture; 3] {
    use context_runtime::layers::{CachedStore, EncryptedStore, EncryptionKey, KeyRing};
    let open = async |name| context_runtime::open(&file(folder, name)).await.unwrap();
    let encrypted = |store| {
        let ring = KeyRing::new(EncryptionKey::from_bytes("2026-01", &[7; 32]).unwrap());
        Arc::new(EncryptedStore::new(store, ring))
    };
    let cached = |store| Arc::new(CachedStore::new(store, 1 << 20));
    [
        ErasureFixture::new("encrypted", encrypted(open("encrypted").await)),
        ErasureFixture::new("cached", cached(open("cached").await)),
        ErasureFixture::new("cached over encrypted", cached(encrypted(open("both").await))),
    ]
}

/// Returns the same stores, for other tests.
#[cfg(all(feature = "memory", feature = "tokens", feature = "trajectory"))]
pub(crate) async fn named_stores(folder: &std::path::Path) -> Vec<(&'static str, Arc<dyn Store>)> {
    stores(folder).await.into_iter().map(|asked| (asked.name, asked.store)).collect()
}

async fn all_goes(asked: &ErasureFixture) {
    asked.redacted_is_gone().await;
    asked.old_is_gone().await;
    asked.erased_is_gone().await;
}

#[tokio::test]
async fn what_is_to_go_is_gone_from_every_store() {
    let folder = tempfile::tempdir().unwrap();
    for asked in stores(folder.path()).await {
        all_goes(&asked).await;
    }
}

#[cfg(all(feature = "postgres", feature = "redis"))]
#[tokio::test]
#[ignore = "needs PostgreSQL and Redis; `cargo xtask test` runs it"]
async fn what_is_to_go_is_gone_from_every_server() {
    let servers = crate::servers::Servers::open("forgetting").await;
    for (name, store) in &servers.stores {
        all_goes(&ErasureFixture::new(name, Arc::clone(store))).await;
    }
    servers.clear().await;
}
