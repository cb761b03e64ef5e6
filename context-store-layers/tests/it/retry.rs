//! The calls that are retried, those that are not, and the final answers.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use context_core::store::{BranchDeletion, ChatPatch, Commit, CommitOutcome, Created, NewChat};
use context_core::{ErrorKind, Metadata, Retry, Store};
use context_simulator::faults::{Fault, FaultPlan, FaultStore, Operation};
use context_store_inmem::InMemoryStore;
use context_store_layers::{RetryPolicy, RetryStore, Sleeper};

use crate::fixture::{Numbers, applied, at, begin, chat, extend, is_applied, says, stay};

/// A sleeper that does not wait, but records the waits.
#[derive(Debug, Default)]
pub(crate) struct RecordingSleeper(Mutex<Vec<Duration>>);

impl RecordingSleeper {
    fn waits(&self) -> Vec<Duration> {
        self.0.lock().unwrap().clone()
    }
}

#[async_trait]
impl Sleeper for RecordingSleeper {
    fn elapsed(&self) -> Duration {
        self.waits().iter().sum()
    }

    async fn sleep(&self, time: Duration) {
        self.0.lock().unwrap().push(time);
    }
}

/// A store with planned faults, under the retry layer.
struct StoreFixture {
    bare: Arc<InMemoryStore>,
    broken: FaultStore,
    sleeper: Arc<RecordingSleeper>,
    store: RetryStore,
}

impl StoreFixture {
    async fn new(plan: FaultPlan) -> Self {
        let bare = Arc::new(InMemoryStore::default());
        begin(&*bare, &["a", "b"]).await;
        let broken = FaultStore::new(Arc::clone(&bare) as _, plan);
        let sleeper = Arc::new(RecordingSleeper::default());
        let store = RetryStore::new(Arc::new(broken.clone()), Arc::new(Numbers::default()));
        let store = store.sleeper(Arc::clone(&sleeper) as _);
        Self { bare, broken, sleeper, store }
    }

    /// Returns a store in which the first calls of an operation fail.
    async fn failing(operation: Operation, calls: u32, fault: Fault) -> Self {
        Self::new((0..calls).fold(FaultPlan::default(), |plan, n| plan.with(operation, n, fault)))
            .await
    }
}

fn adds() -> ChatPatch {
    ChatPatch { add: Metadata::default().with("used", 1), ..ChatPatch::default() }
}

#[tokio::test(flavor = "current_thread")]
async fn it_gives_up_after_so_many_tries() {
    let fixture = StoreFixture::failing(Operation::Commit, 9, Fault::BeforeApply).await;
    let error = fixture
        .store
        .history()
        .commit(extend("main", Some("b"), vec![says("c", "x")]))
        .await
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.retry(), error.get("tries")),
        (ErrorKind::Unavailable, Retry::Safe, Some("5"))
    );
    assert_eq!(fixture.broken.calls(Operation::Commit), 5);
    let waits = fixture.sleeper.waits();
    let within =
        |wait: &Duration, most: u64| (most / 2..=most).contains(&(wait.as_millis() as u64));
    assert!(
        waits.iter().zip([50, 100, 200, 400]).all(|(wait, most)| within(wait, most)),
        "{waits:?}"
    );
    assert_eq!(waits.len(), 4);
}

#[tokio::test(flavor = "current_thread")]
async fn it_gives_up_when_the_time_is_over() {
    let fixture = StoreFixture::failing(Operation::Chat, 90, Fault::BeforeApply).await;
    let policy = RetryPolicy::default().tries(u32::MAX).total(Duration::from_millis(600));
    let store = fixture.store.policy(policy);
    let error = store.history().chat(&chat()).await.unwrap_err();
    assert!(fixture.sleeper.elapsed() <= Duration::from_millis(600));
    let made = fixture.broken.calls(Operation::Chat);
    assert!((3..=6).contains(&made), "{made} tries");
    assert_eq!(error.get("tries"), Some(made.to_string().as_str()));
}

#[tokio::test(flavor = "current_thread")]
async fn what_is_not_safe_to_repeat_is_not() {
    let fixture = StoreFixture::new(FaultPlan::default()).await;
    let ghost = fixture
        .store
        .history()
        .commit(extend("ghost", None, vec![says("c", "x")]))
        .await
        .unwrap_err();
    assert_eq!((ghost.kind(), ghost.get("tries")), (ErrorKind::NotFound, None));
    assert_eq!((fixture.broken.calls(Operation::Commit), fixture.sleeper.waits().len()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn by_default_it_waits_by_the_timer_of_tokio() {
    let bare = Arc::new(InMemoryStore::default());
    let plan = FaultPlan::default().with(Operation::Chat, 0, Fault::BeforeApply);
    let store =
        RetryStore::new(Arc::new(FaultStore::new(bare, plan)), Arc::new(Numbers::default()));
    let began = tokio::time::Instant::now();
    assert_eq!(store.history().chat(&chat()).await.unwrap(), None);
    assert!(began.elapsed() >= Duration::from_millis(25), "{:?}", began.elapsed());
}

#[tokio::test(flavor = "current_thread")]
async fn a_lost_creation_is_still_one() {
    let fixture = StoreFixture::failing(Operation::CreateChat, 2, Fault::AfterApply).await;
    let new = NewChat {
        chat: context_core::ChatRef::new("ada", "second"),
        ..NewChat::new(chat(), at(9))
    };
    assert!(matches!(
        fixture.store.history().create_chat(new.clone()).await.unwrap(),
        Created::New(_)
    ));
    assert!(matches!(
        fixture.store.history().create_chat(new).await.unwrap(),
        Created::Existing(_)
    ));
}

#[tokio::test(flavor = "current_thread")]
async fn numbers_are_added_once() {
    let fixture = StoreFixture::failing(Operation::Commit, 3, Fault::AfterApply).await;
    let chat = fixture.store.history().update_chat(&chat(), &adds(), at(9)).await.unwrap();
    assert_eq!(chat.metadata, Metadata::default().with("used", 1));
    let outcome =
        fixture.store.history().commit(Commit { patch: Some(adds()), ..stay() }).await.unwrap();
    is_applied(&outcome);
}

/// A caller who is told that a retry is safe would apply the change again under another key.
#[tokio::test(flavor = "current_thread")]
async fn whoever_does_not_know_the_key_is_told_to_look_first() {
    let fixture = StoreFixture::failing(Operation::Commit, 5, Fault::AfterApply).await;
    let error = fixture.store.history().update_chat(&chat(), &adds(), at(9)).await.unwrap_err();
    assert_eq!(error.retry(), Retry::AfterRefresh);
    let fixture = StoreFixture::failing(Operation::Commit, 5, Fault::AfterApply).await;
    let keyed = Commit { patch: Some(adds()), key: Some("mine".into()), ..stay() };
    let error = fixture.store.history().commit(keyed.clone()).await.unwrap_err();
    assert_eq!(error.retry(), Retry::Safe);
    assert!(matches!(
        fixture.store.history().commit(keyed).await.unwrap(),
        CommitOutcome::Replayed(_)
    ));
    let chat = fixture.bare.history().chat(&chat()).await.unwrap().unwrap();
    assert_eq!(chat.metadata, Metadata::default().with("used", 1));
}

/// A reply is lost, and somebody creates the chat again: the new chat must not be deleted.
#[tokio::test(flavor = "current_thread")]
async fn a_chat_that_was_created_anew_is_not_deleted() {
    let fixture = StoreFixture::failing(Operation::DeleteChat, 1, Fault::AfterApply).await;
    let anew = NewChat::new(chat(), at(50));
    let bare = Arc::clone(&fixture.bare);
    // Another writer acts while the call waits for its second try.
    let store =
        fixture.store.sleeper(Arc::new(WorkingSleeper(Mutex::new(Some(Box::new(move || {
            Box::pin(async move {
                let _created = bare.history().create_chat(anew).await.unwrap();
            })
        }))))));
    assert!(store.history().delete_chat(&chat(), None).await.unwrap());
    let there = fixture.bare.history().chat(&chat()).await.unwrap();
    assert_eq!(there.map(|chat| chat.created_at), Some(at(50)));
    assert_eq!(fixture.broken.calls(Operation::DeleteChat), 1);
}

type Work = Box<dyn FnOnce() -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>> + Send>;

/// A sleeper that runs some work during the first wait.
struct WorkingSleeper(Mutex<Option<Work>>);

impl std::fmt::Debug for WorkingSleeper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WorkingSleeper")
    }
}

#[async_trait]
impl Sleeper for WorkingSleeper {
    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }

    async fn sleep(&self, _: Duration) {
        let work = self.0.lock().unwrap().take();
        if let Some(work) = work {
            work().await;
        }
    }
}

#[tokio::test(flavor = "current_thread")]
async fn lost_replies_about_branches_are_found_out() {
    let plan = FaultPlan::default().with(Operation::RenameBranch, 0, Fault::AfterApply).with(
        Operation::DeleteBranch,
        0,
        Fault::AfterApply,
    );
    let fixture = StoreFixture::new(plan).await;
    let target = context_core::store::Target::Fork {
        name: context_core::store::ForkName::Exact("side".into()),
        at: Some("a".into()),
        activate: false,
    };
    let nodes = vec![says("x", "1"), says("y", "2")];
    applied(&fixture.store, Commit { nodes, ..Commit::new(chat(), target, at(8)) }).await;
    let history = fixture.store.history();
    history.rename_branch(&chat(), &"side".into(), &"aside".into(), at(9)).await.unwrap();
    let again =
        history.rename_branch(&chat(), &"side".into(), &"aside".into(), at(9)).await.unwrap_err();
    assert_eq!(again.kind(), ErrorKind::NotFound);
    let gone =
        history.delete_branch(&chat(), &"aside".into(), Some(&"y".into()), at(9)).await.unwrap();
    assert_eq!(gone, BranchDeletion::Deleted { messages: 2 });
}

/// The file may exist after a lost reply, so the caller must look.
#[tokio::test(flavor = "current_thread")]
async fn a_backup_is_made_once() {
    let fixture = StoreFixture::failing(Operation::Backup, 1, Fault::BeforeApply).await;
    let to = std::path::Path::new("unused");
    let error = fixture.store.maintenance().unwrap().backup(to).await.unwrap_err();
    assert_eq!((error.kind(), error.get("tries")), (ErrorKind::Unavailable, None));
    assert_eq!(fixture.broken.calls(Operation::Backup), 1);
}
