//! The cache compared with the store itself, under any writer.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use context_core::store::{
    ChainEnd, Commit, CommitOutcome, Durability, ForkName, FragmentStore, HistoryStore, NewChat,
    StoreInfo, Target, Window,
};
use context_core::{CancelSignal, ChatRef, MessageId, Result, Store, UserId};
use context_simulator::faults::{Fault, FaultPlan, FaultStore, Operation};
use context_store_inmem::InMemoryStore;
use context_store_kit::{ChatState, StateBacked, StateStore};
use context_store_layers::CachedStore;
use proptest::prelude::*;
use tokio::sync::Notify;

use crate::fixture::{applied, at, begin, boundary, branch, chat, extend, says, stay};

/// An operation between two reads, and the store it goes through.
#[derive(Clone, Debug)]
enum Step {
    Extend {
        branch: usize,
        size: usize,
        cut: bool,
    },
    /// By one who saw nothing yet, so that it is applied at any head.
    Graft {
        branch: usize,
    },
    Fork {
        at: usize,
    },
    Amend {
        message: usize,
        redact: bool,
    },
    DeleteBranch {
        branch: usize,
    },
    Rename {
        branch: usize,
    },
    Anew,
    Read {
        branch: usize,
        window: usize,
        n: usize,
    },
}

fn step() -> impl Strategy<Value = (bool, Step)> {
    let step = prop_oneof![
        6 => (0..4usize, 1..4usize, any::<bool>())
            .prop_map(|(branch, size, cut)| Step::Extend { branch, size, cut }),
        2 => (0..4usize).prop_map(|branch| Step::Graft { branch }),
        2 => (0..40usize).prop_map(|at| Step::Fork { at }),
        1 => (0..40usize, any::<bool>()).prop_map(|(message, redact)| Step::Amend { message,
            redact }),
        1 => (0..4usize).prop_map(|branch| Step::DeleteBranch { branch }),
        1 => (0..4usize).prop_map(|branch| Step::Rename { branch }),
        1 => Just(Step::Anew),
        8 => (0..4usize, 0..6usize,
            0..9usize).prop_map(|(branch, window, n)| Step::Read { branch, window, n }),
    ];
    (any::<bool>(), step)
}

/// A chat that is written through the cache and past it.
struct CachedChat {
    bare: Arc<InMemoryStore>,
    cached: CachedStore,
    made: usize,
}

impl CachedChat {
    async fn play(&mut self, through: bool, step: &Step) {
        let bare = Arc::clone(&self.bare);
        let store: &dyn Store = if through { &self.cached } else { &*bare };
        let history = store.history();
        let branches = self.bare.history().branches(&chat()).await.unwrap();
        let pick = |n: usize| branches[n % branches.len()].clone();
        let all = self.bare.history().all_messages(&chat(), 1000, None).await.unwrap().items;
        let message = |n: usize| (!all.is_empty()).then(|| all[n % all.len()].node.id.clone());
        match *step {
            Step::Extend { branch, size, cut } => {
                let to = pick(branch);
                let nodes = (self.made..self.made + size).map(|n| {
                    if cut && n == self.made {
                        boundary(&format!("n{n}"))
                    } else {
                        says(&format!("n{n}"), "new")
                    }
                });
                let nodes = nodes.collect();
                self.made += size;
                applied(
                    store,
                    extend(to.name.as_str(), to.head.as_ref().map(MessageId::as_str), nodes),
                )
                .await;
            }
            Step::Graft { branch } => {
                self.made += 1;
                let target = Target::Graft { branch: pick(branch).name, seen: None };
                let nodes = vec![says(&format!("g{}", self.made), "grafted")];
                applied(store, Commit { nodes, ..Commit::new(chat(), target, at(8)) }).await;
            }
            Step::Fork { at: n } => {
                self.made += 1;
                let name = ForkName::Exact(format!("b{}", self.made).into());
                let target = Target::Fork { name, at: message(n), activate: false };
                let nodes = vec![says(&format!("f{}", self.made), "forked")];
                applied(store, Commit { nodes, ..Commit::new(chat(), target, at(8)) }).await;
            }
            Step::Amend { message: n, redact } => {
                let Some(id) = message(n) else { return };
                let node = vec![says(id.as_str(), &format!("amended {}", self.made))];
                self.made += 1;
                let commit = if redact {
                    Commit { redactions: node, ..stay() }
                } else {
                    Commit { amendments: node, ..stay() }
                };
                applied(store, commit).await;
            }
            Step::DeleteBranch { branch } => {
                let gone = pick(branch);
                let _deleted =
                    history.delete_branch(&chat(), &gone.name, gone.head.as_ref(), at(9)).await;
            }
            Step::Rename { branch } => {
                // Names of earlier branches are used again.
                let to = format!("b{}", self.made % 5).into();
                let _renamed = history.rename_branch(&chat(), &pick(branch).name, &to, at(9)).await;
            }
            Step::Anew => {
                assert!(history.delete_chat(&chat(), None).await.unwrap());
                let _created = history.create_chat(NewChat::new(chat(), at(1))).await.unwrap();
            }
            Step::Read { branch: n, window, n: size } => {
                let end = match (size, message(size)) {
                    (7.., Some(id)) => ChainEnd::Message(id),
                    _ => branch(pick(n).name.as_str()),
                };
                let generation = self
                    .bare
                    .history()
                    .chain(&chat(), &end, &Window::Last(1))
                    .await
                    .unwrap()
                    .generation();
                let window = match window {
                    0 => Window::Whole,
                    1 => Window::Last(size),
                    2 => Window::Boundary,
                    3 => Window::Tokens(size as u64 * 30),
                    n => Window::After {
                        message: message(size * 3).unwrap_or_else(|| "ghost".into()),
                        generation: generation - (n as u64 - 4),
                    },
                };
                self.same(&end, &window).await;
            }
        }
    }

    /// Checks that the cache and the store return the same.
    async fn same(&self, end: &ChainEnd, window: &Window) {
        let seen = self.cached.history().chain(&chat(), end, window).await.unwrap();
        let expected = self.bare.history().chain(&chat(), end, window).await.unwrap();
        assert_eq!(seen, expected, "{end:?} {window:?}");
        assert_eq!(seen.generation(), expected.generation(), "{end:?} {window:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None,
        ..ProptestConfig::with_cases(128) })]

    #[test]
    fn the_cache_says_what_the_store_says(steps in proptest::collection::vec(step(), 1..40),
        small in any::<bool>()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let bare = Arc::new(InMemoryStore::default());
            let inner: Arc<dyn Store> = Arc::clone(&bare) as _;
            begin(&*inner, &[]).await;
            let cached = CachedStore::new(inner, if small { 3000 } else { 1 << 20 });
            let mut life = CachedChat { bare, cached, made: 0 };
            for (through, step) in &steps {
                life.play(*through, step).await;
            }
            for one in life.bare.history().branches(&chat()).await.unwrap() {
                life.same(&branch(one.name.as_str()), &Window::Whole).await;
            }
        });
    }
}

#[tokio::test(flavor = "current_thread")]
async fn of_many_who_miss_one_loads() {
    let bare = Arc::new(InMemoryStore::default());
    begin(&*bare, &["a", "b"]).await;
    let plan = FaultPlan::default().with(Operation::Chain, 0, Fault::Delay(5));
    let cached = CachedStore::new(Arc::new(FaultStore::new(bare, plan)), 1 << 20);
    let mut readers = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let cached = cached.clone();
        readers.spawn(async move {
            cached.history().chain(&chat(), &branch("main"), &Window::Whole).await
        });
    }
    for chain in readers.join_all().await {
        assert_eq!(chain.unwrap().len(), 2);
    }
    let stats = cached.stats();
    assert_eq!((stats.misses, stats.hits), (1, 19));
}

/// A store that holds back the answer of its next read, once it is armed, until it is released.
#[derive(Clone, Debug, Default)]
struct GatedStore(StateBacked<Arc<GatedState>>);

#[derive(Debug, Default)]
struct GatedState {
    chat: Mutex<Option<ChatState>>,
    armed: AtomicBool,
    read: Notify,
    open: Notify,
}

#[async_trait]
impl StateStore for GatedState {
    async fn state(&self, _: &ChatRef) -> Result<Option<Arc<ChatState>>> {
        let state = self.chat.lock().unwrap().clone().map(Arc::new);
        if self.armed.swap(false, Ordering::SeqCst) {
            self.read.notify_one();
            self.open.notified().await;
        }
        Ok(state)
    }

    async fn states(&self, _: Option<&UserId>) -> Result<Vec<Arc<ChatState>>> {
        Ok(self.chat.lock().unwrap().clone().map(Arc::new).into_iter().collect())
    }

    async fn change<T, F>(&self, _: &ChatRef, change: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Option<ChatState>, &mut u64) -> Result<T> + Send + 'static,
    {
        change(&mut self.chat.lock().unwrap(), &mut 0)
    }
}

impl Store for GatedStore {
    fn info(&self) -> StoreInfo {
        StoreInfo::new("slow", Durability::Process, false)
    }

    fn history(&self) -> &dyn HistoryStore {
        &self.0
    }

    fn fragments(&self) -> &dyn FragmentStore {
        &self.0
    }
}

/// A caller who waits for another's load may have asked after that load began. Messages written in
/// between must be in the answer.
#[tokio::test(flavor = "current_thread")]
async fn who_waits_for_a_load_sees_what_was_written_before_they_asked() {
    let slow = GatedStore::default();
    begin(&slow, &["a"]).await;
    // The load has read, but not returned yet, when the message is written.
    slow.0.0.armed.store(true, Ordering::SeqCst);
    let cached = CachedStore::new(Arc::new(slow.clone()), 1 << 20);
    let first = tokio::spawn({
        let cached = cached.clone();
        async move { cached.history().chain(&chat(), &branch("main"), &Window::Whole).await }
    });
    slow.0.0.read.notified().await;
    applied(&slow, extend("main", Some("a"), vec![says("b", "later")])).await;
    let second = tokio::spawn({
        let cached = cached.clone();
        async move { cached.history().chain(&chat(), &branch("main"), &Window::Whole).await }
    });
    tokio::task::yield_now().await;
    slow.0.0.open.notify_one();
    assert_eq!(first.await.unwrap().unwrap().len(), 1);
    assert_eq!(second.await.unwrap().unwrap().head(), Some(&"b".into()));
    assert_eq!(cached.stats().misses, 1);
}

#[tokio::test(flavor = "current_thread")]
async fn a_failed_load_fails_only_for_who_loaded() {
    let bare = Arc::new(InMemoryStore::default());
    begin(&*bare, &["a"]).await;
    let plan = FaultPlan::default().with(Operation::Chain, 0, Fault::AfterApply);
    let cached = CachedStore::new(Arc::new(FaultStore::new(bare, plan)), 1 << 20);
    let read = async || cached.history().chain(&chat(), &branch("main"), &Window::Whole).await;
    let (first, second): (Result<_>, _) = tokio::join!(read(), read());
    assert!(first.is_err());
    assert_eq!(second.unwrap().len(), 1);
}

#[tokio::test(flavor = "current_thread")]
async fn it_holds_so_many_bytes_and_no_more() {
    const CAPACITY: u64 = 100_000;
    let bare = Arc::new(InMemoryStore::default());
    let cached = CachedStore::new(Arc::clone(&bare) as _, CAPACITY);
    let text = "words ".repeat(500);
    for n in 0..60 {
        let chat = ChatRef::new("ada", format!("chat-{n}"));
        let _created = bare.history().create_chat(NewChat::new(chat.clone(), at(1))).await.unwrap();
        let nodes =
            (0..if n == 59 { 60 } else { 3 }).map(|m| says(&format!("m{m}"), &text)).collect();
        let commit = Commit { chat: chat.clone(), ..extend("main", None, nodes) };
        assert!(matches!(bare.history().commit(commit).await.unwrap(), CommitOutcome::Applied(_)));
        for _ in 0..2 {
            let chain =
                cached.history().chain(&chat, &branch("main"), &Window::Whole).await.unwrap();
            assert_eq!(chain.len(), if n == 59 { 60 } else { 3 });
        }
        let stats = cached.stats();
        assert!(stats.bytes <= CAPACITY, "{stats:?}");
    }
    let stats = cached.stats();
    assert!(stats.chains > 5 && stats.bytes > CAPACITY / 2, "{stats:?}");
    // The last chat exceeds the capacity, so it is read each time.
    assert_eq!(stats.hits, 59);
    cached.clear();
    assert_eq!((cached.stats().chains, cached.stats().bytes), (0, 0));
}

#[tokio::test(flavor = "current_thread")]
async fn what_was_written_through_it_is_not_read_again() {
    let bare = Arc::new(InMemoryStore::default());
    begin(&*bare, &["a"]).await;
    let cached = CachedStore::new(bare, 1 << 20);
    let read = async || cached.history().chain(&chat(), &branch("main"), &Window::Whole).await;
    let first = read().await.unwrap();
    let new = says("b", "new");
    applied(&cached, extend("main", Some("a"), vec![Arc::clone(&new)])).await;
    let second = read().await.unwrap();
    assert!(Arc::ptr_eq(first.get(0).unwrap(), second.get(0).unwrap()));
    assert!(Arc::ptr_eq(second.get(1).unwrap(), &new));
}

#[tokio::test(flavor = "current_thread")]
async fn what_is_redacted_or_deleted_leaves_its_memory_at_once() {
    let bare = Arc::new(InMemoryStore::default());
    begin(&*bare, &["a", "b"]).await;
    let cached = CachedStore::new(bare, 1 << 20);
    let keep = async || {
        cached.history().chain(&chat(), &branch("main"), &Window::Whole).await.unwrap();
        assert_eq!(cached.stats().chains, 1);
    };
    keep().await;
    applied(&cached, Commit { redactions: vec![says("a", "[redacted]")], ..stay() }).await;
    assert_eq!(cached.stats().bytes, 0);
    keep().await;
    let _deleted = cached.history().delete_chat(&chat(), None).await.unwrap();
    assert_eq!(cached.stats().bytes, 0);
    begin(&cached, &["a"]).await;
    keep().await;
    let maintenance = cached.maintenance().unwrap();
    let erased = maintenance.erase_user(&"ada".into(), &CancelSignal::never()).await.unwrap();
    assert_eq!((erased.chats, cached.stats().bytes), (1, 0));
}
