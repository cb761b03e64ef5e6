//! Two stores as one: the effect of changes in the first on the second.

use std::sync::Arc;

use context_core::base::BlobId;
use context_core::store::{
    ChatQuery, Durability, Erasure, NewBlob, NewChat, RecordOutcome, RoundCommit, RoundQuery,
    StreamAppend, StreamClaim, StreamEnd,
};
use context_core::trajectory::{AgentRef, Round};
use context_core::{CancelSignal, ChatId, ChatRef, ErrorKind, Store};
use context_simulator::faults::{Fault, FaultPlan, FaultStore, Operation};
use context_store_inmem::InMemoryStore;
use context_store_layers::SplitStore;
use context_store_sqlite::{SqliteConfig, SqliteStore};

use crate::fixture::{at, begin, chat};

struct StoreFixture {
    main: Arc<InMemoryStore>,
    files: Arc<InMemoryStore>,
    split: SplitStore,
}

impl StoreFixture {
    /// A split store with planned faults in the second store, and with a chat.
    async fn new(plan: FaultPlan) -> Self {
        let (main, files) =
            (Arc::new(InMemoryStore::default()), Arc::new(InMemoryStore::default()));
        let broken = Arc::new(FaultStore::new(Arc::clone(&files) as _, plan));
        let split = SplitStore::builder(Arc::clone(&main) as _).blobs(broken).build().unwrap();
        begin(&split, &["a"]).await;
        Self { main, files, split }
    }

    async fn put(
        &self,
        chat: &ChatRef,
        bytes: &'static str,
    ) -> context_core::Result<context_core::store::Blob> {
        self.split.blobs().unwrap().put_blob(chat, NewBlob::new(bytes, at(10))).await
    }

    async fn read(
        &self,
        chat: &ChatRef,
        bytes: &'static str,
    ) -> context_core::Result<Option<bytes::Bytes>> {
        self.split
            .blobs()
            .unwrap()
            .read_blob(chat, &BlobId::of(bytes.as_bytes()), 0..99, None)
            .await
    }

    /// Returns the number of the user's chats in the second store.
    async fn shadows(&self) -> usize {
        self.files.history().list_chats(&ChatQuery::new("ada")).await.unwrap().items.len()
    }

    async fn findings(&self) -> Vec<String> {
        let report = self.split.maintenance().unwrap().check(&CancelSignal::never()).await.unwrap();
        report.findings.iter().map(ToString::to_string).collect()
    }
}

#[tokio::test(flavor = "current_thread")]
async fn bytes_are_in_the_second_store_and_go_with_the_chat() {
    let fixture = StoreFixture::new(FaultPlan::default()).await;
    assert_eq!(fixture.put(&chat(), "a report").await.unwrap().references, 1);
    assert_eq!(fixture.read(&chat(), "a report").await.unwrap().as_deref(), Some(&b"a report"[..]));
    let blobs = fixture.main.blobs().unwrap().blobs(&chat(), 10, None).await.unwrap();
    assert!(blobs.items.is_empty());
    assert_eq!((fixture.shadows().await, fixture.findings().await), (1, Vec::<String>::new()));
    let report = fixture.split.maintenance().unwrap().check(&CancelSignal::never()).await.unwrap();
    // Shadows do not count as chats.
    assert_eq!((report.chats, report.messages, report.blobs), (1, 1, 1));
    assert!(fixture.split.history().delete_chat(&chat(), None).await.unwrap());
    assert_eq!(fixture.shadows().await, 0);
    assert_eq!(fixture.read(&chat(), "a report").await.unwrap_err().kind(), ErrorKind::NotFound);
}

/// The history is deleted first. If deleting the bytes fails, they cannot be reached, the check
/// finds them, and the next deletion removes them.
#[tokio::test(flavor = "current_thread")]
async fn what_a_broken_deletion_leaves_is_out_of_reach_and_found() {
    let fixture =
        StoreFixture::new(FaultPlan::default().with(Operation::DeleteChat, 0, Fault::BeforeApply))
            .await;
    fixture.put(&chat(), "a report").await.unwrap();
    let error = fixture.split.history().delete_chat(&chat(), None).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(fixture.main.history().chat(&chat()).await.unwrap().is_none());
    assert_eq!(fixture.read(&chat(), "a report").await.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(
        fixture.findings().await,
        ["ada/trip shadow trip@1: its chat does not exist any more: delete it again"]
    );
    // A chat that is created again in between does not have them.
    let _created = fixture.split.history().create_chat(NewChat::new(chat(), at(2))).await.unwrap();
    assert_eq!(fixture.read(&chat(), "a report").await.unwrap(), None);
    fixture.put(&chat(), "another").await.unwrap();
    assert_eq!((fixture.shadows().await, fixture.findings().await.len()), (2, 1));
    assert!(fixture.split.history().delete_chat(&chat(), None).await.unwrap());
    assert_eq!((fixture.shadows().await, fixture.findings().await), (0, Vec::<String>::new()));
}

#[tokio::test(flavor = "current_thread")]
async fn a_put_whose_reply_is_lost_may_be_made_again() {
    for operation in [Operation::CreateChat, Operation::PutBlob] {
        for nth in 0..2 {
            let fixture =
                StoreFixture::new(FaultPlan::default().with(operation, nth, Fault::AfterApply))
                    .await;
            let first = fixture.put(&chat(), "a report").await;
            assert_eq!(first.unwrap_err().kind(), ErrorKind::Unavailable, "{operation:?} {nth}");
            assert_eq!(fixture.put(&chat(), "a report").await.unwrap().references, 1);
            assert_eq!(
                (fixture.shadows().await, fixture.findings().await),
                (1, Vec::<String>::new())
            );
        }
    }
}

#[tokio::test(flavor = "current_thread")]
async fn any_id_has_a_shadow_of_its_own() {
    let fixture = StoreFixture::new(FaultPlan::default()).await;
    let long = "x".repeat(512);
    let hash = BlobId::of(long.as_bytes());
    let ids = [long, format!("#{hash}"), hash.to_string(), "a@1".into(), "a".into(), "#".into()];
    for id in &ids {
        let chat = ChatRef::new("ada", ChatId::from(id.as_str()));
        let _created =
            fixture.split.history().create_chat(NewChat::new(chat.clone(), at(1))).await.unwrap();
        fixture.put(&chat, "the same bytes").await.unwrap();
    }
    let last = ChatRef::new("ada", ChatId::from("a"));
    let seen = fixture
        .split
        .blobs()
        .unwrap()
        .blob(&last, &BlobId::of(b"the same bytes"))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(seen.references, ids.len() as u64);
    assert_eq!(
        (fixture.shadows().await, fixture.findings().await),
        (ids.len(), Vec::<String>::new())
    );
}

#[tokio::test(flavor = "current_thread")]
async fn erasing_reaches_both() {
    let fixture = StoreFixture::new(FaultPlan::default()).await;
    fixture.put(&chat(), "a report").await.unwrap();
    let erased = fixture
        .split
        .maintenance()
        .unwrap()
        .erase_user(&"ada".into(), &CancelSignal::never())
        .await
        .unwrap();
    let mut expected = Erasure::new(1, 1, 0);
    expected.blobs = 1;
    assert_eq!(erased, expected);
    // Not even the name of the user is left.
    let noted = fixture.files.history().list_chats(&ChatQuery::new("context.split")).await.unwrap();
    assert!(noted.items.is_empty());
}

#[tokio::test(flavor = "current_thread")]
async fn it_promises_what_the_weakest_promises() {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = || async {
        Arc::new(SqliteStore::open(SqliteConfig::new(folder.path().join("a.db"))).await.unwrap())
    };
    let (main, files) = (sqlite().await, Arc::new(InMemoryStore::default()));
    let info = SplitStore::builder(main).blobs(files).build().unwrap().info();
    assert_eq!((info.name, info.durability, info.shared), ("sqlite", Durability::Process, false));
    // A commit is written to the store of the history alone.
    assert_eq!(info.strongest, Durability::PowerLoss);
    let split = SplitStore::builder(sqlite().await).build().unwrap();
    assert_eq!(split.info(), sqlite().await.info());
    assert!(split.blobs().is_some() && split.search().is_some() && split.maintenance().is_some());
}

#[tokio::test(flavor = "current_thread")]
async fn streams_may_be_in_a_third_store() {
    let stores: [Arc<InMemoryStore>; 3] = Default::default();
    let [main, files, channels] = &stores;
    let split = SplitStore::builder(Arc::clone(main) as _).blobs(Arc::clone(files) as _);
    let split = split.streams(Arc::clone(channels) as _).build().unwrap();
    begin(&split, &["a"]).await;
    let (streams, id) = (split.streams().unwrap(), "s".into());
    let ghost =
        streams.claim_stream(&chat(), &id, &StreamClaim::new("w", at(3))).await.unwrap_err();
    // The chat exists, but its shadow does not.
    assert_eq!(
        (ghost.kind(), ghost.get("stream"), ghost.get("chat")),
        (ErrorKind::NotFound, Some("s"), None)
    );
    assert!(streams.create_stream(&chat(), &id, at(3)).await.unwrap().is_done());
    assert!(
        streams.claim_stream(&chat(), &id, &StreamClaim::new("w", at(3))).await.unwrap().is_done()
    );
    let append = StreamAppend::new("w", 0, ["chunk"], at(4)).end(StreamEnd::Completed);
    assert!(streams.append_stream(&chat(), &id, append).await.unwrap().is_done());
    let part = streams.read_stream(&chat(), &id, 0, 10).await.unwrap().unwrap();
    assert_eq!((part.chunks.len(), part.is_last()), (1, true));
    assert!(main.streams().unwrap().streams(&chat(), 10, None).await.unwrap().items.is_empty());
    let maintenance = split.maintenance().unwrap();
    let report = maintenance.check(&CancelSignal::never()).await.unwrap();
    assert_eq!((report.chats, report.streams, report.findings), (1, 1, Vec::new()));
    let erased = maintenance.erase_user(&"ada".into(), &CancelSignal::never()).await.unwrap();
    assert_eq!((erased.chats, erased.streams, erased.remaining), (1, 1, 0));
    assert!(channels.history().list_chats(&ChatQuery::new("ada")).await.unwrap().items.is_empty());
}

/// Trajectories belong to users and need no chats, so nothing in the store of the history
/// represents them.
#[tokio::test(flavor = "current_thread")]
async fn trajectories_may_be_in_a_store_of_their_own() {
    let stores: [Arc<InMemoryStore>; 2] = Default::default();
    let [main, ledger] = &stores;
    let split = SplitStore::builder(Arc::clone(main) as _).blobs(Arc::clone(ledger) as _);
    let split = split.trajectories(Arc::clone(ledger) as _).build().unwrap();
    begin(&split, &["a"]).await;
    split.blobs().unwrap().put_blob(&chat(), NewBlob::new("bytes", at(3))).await.unwrap();
    for user in ["zoe", "ada", "bob"] {
        let mut round = Round::new(AgentRef::main(user, "s").round(0), at(4));
        round.committed();
        let commit = RoundCommit::new(user, Vec::new(), round.head());
        let outcome = split.trajectories().unwrap().record_round(&commit).await.unwrap();
        assert_eq!(outcome, RecordOutcome::Applied);
    }
    let query = RoundQuery::of_user("zoe");
    assert_eq!(ledger.trajectories().unwrap().rounds(&query).await.unwrap().items.len(), 1);
    assert!(main.trajectories().unwrap().rounds(&query).await.unwrap().items.is_empty());
    let maintenance = split.maintenance().unwrap();
    for limit in 1..5 {
        let (mut users, mut after) = (Vec::new(), None);
        loop {
            let page = maintenance.users(limit, after.as_ref()).await.unwrap();
            assert!(page.items.len() <= limit);
            users.extend(page.items);
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        // The user of the register is not listed.
        assert_eq!(users, ["ada", "bob", "zoe"], "pages of {limit}");
    }
    let erased = maintenance.erase_user(&"ada".into(), &CancelSignal::never()).await.unwrap();
    assert_eq!((erased.chats, erased.rounds, erased.remaining), (1, 1, 0));
    let report = maintenance.check(&CancelSignal::never()).await.unwrap();
    assert_eq!((report.chats, report.rounds, report.findings), (0, 2, Vec::new()));
}

#[test]
fn a_store_without_trajectories_is_not_taken_for_them() {
    let bare = Arc::new(PlainStore(InMemoryStore::default()));
    let refused =
        SplitStore::builder(Arc::new(InMemoryStore::default())).trajectories(bare).build();
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Unsupported);
}

/// A store without any optional ability.
#[derive(Debug)]
struct PlainStore(InMemoryStore);

impl Store for PlainStore {
    fn info(&self) -> context_core::store::StoreInfo {
        self.0.info()
    }

    fn history(&self) -> &dyn context_core::store::HistoryStore {
        self.0.history()
    }

    fn fragments(&self) -> &dyn context_core::store::FragmentStore {
        self.0.fragments()
    }
}
