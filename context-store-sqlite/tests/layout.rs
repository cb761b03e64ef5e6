//! Tests of this store alone: its layout, its file, its schema. The contract of all stores is
//! tested in `conformance`.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::sync::Arc;

use context_core::message::NodeKind;
use context_core::store::{ChainEnd, Commit, CommitOutcome, ForkName, NewChat, Target, Window};
use context_core::{
    BranchName, CancelSignal, Chain, ChatRef, Encoded, ErrorKind, Message, MessageId, Node, Role,
    Store, Timestamp,
};
use context_store_sqlite::{SqliteConfig, SqliteStore};
use proptest::prelude::*;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection, Row};
use tempfile::TempDir;

const T: Timestamp = Timestamp::from_micros(1_000_000);

struct LayoutFixture {
    folder: TempDir,
    store: SqliteStore,
    chat: ChatRef,
}

impl LayoutFixture {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(SqliteConfig::new(folder.path().join("s.db"))).await.unwrap();
        let chat = ChatRef::new("ada", "chat");
        let _ = store.history().create_chat(NewChat::new(chat.clone(), T)).await.unwrap();
        Self { folder, store, chat }
    }

    /// Opens the file directly, without the store.
    async fn file(&self) -> SqliteConnection {
        let options = SqliteConnectOptions::new().filename(self.folder.path().join("s.db"));
        options.connect().await.unwrap()
    }

    async fn extend(&self, branch: &str, expected: Option<&MessageId>, nodes: Vec<Arc<Node>>) {
        let target = Target::Extend { branch: branch.into(), expected: expected.cloned() };
        self.apply(Commit { nodes, ..Commit::new(self.chat.clone(), target, T) }).await;
    }

    async fn apply(&self, commit: Commit) {
        let outcome = self.store.history().commit(commit).await.unwrap();
        assert!(matches!(outcome, CommitOutcome::Applied(_)), "{outcome:?}");
    }

    async fn chain(&self, branch: &str, window: &Window) -> Chain {
        self.store
            .history()
            .chain(&self.chat, &ChainEnd::Branch(branch.into()), window)
            .await
            .unwrap()
    }

    async fn problems(&self) -> Vec<String> {
        let report = self.store.maintenance().unwrap().check(&CancelSignal::never()).await.unwrap();
        report.findings.iter().map(ToString::to_string).collect()
    }
}

fn node(i: usize) -> Arc<Node> {
    let message = Message::text(Role::User, format!("text {i}"));
    if i % 37 == 36 {
        return Arc::new(Node::from_encoded(
            id(i),
            NodeKind::Boundary,
            T,
            Encoded::new("cut", 1, "[]"),
        ));
    }
    Arc::new(Node::new(id(i), message, T))
}

/// Builds a node with an arbitrary body, without any check.
fn with_body(i: usize, body: Vec<u8>) -> Arc<Node> {
    Arc::new(Node::from_encoded(
        id(i),
        NodeKind::Message(Role::User),
        T,
        Encoded::new("test", 1, body),
    ))
}

fn id(i: usize) -> MessageId {
    format!("m{i}").into()
}

#[tokio::test]
async fn single_appends_end_up_in_few_rows_byte_for_byte() {
    let lab = LayoutFixture::new().await;
    let mut all = Vec::new();
    for i in 0..200 {
        let next = with_body(i, format!("\0\u{ff}body {i}\0").into_bytes());
        lab.extend("main", all.last().map(|node: &Arc<Node>| &node.id), vec![Arc::clone(&next)])
            .await;
        all.push(next);
    }
    assert_eq!(lab.chain("main", &Window::Whole).await, Chain::from_nodes(0, all));
    let rows =
        sqlx::query("SELECT count(*) FROM run").fetch_one(&mut lab.file().await).await.unwrap();
    // The newest are in the row of the branch, those before them in large runs.
    assert!((2..6).contains(&rows.get::<i64, _>(0)), "{rows:?}");
}

/// A handle that does not know that another one has written looks up where the branch ends. Then
/// its append is the same statement as any other, and stays in the tail.
#[tokio::test]
async fn two_handles_that_take_turns_both_append_to_the_tail() {
    let lab = LayoutFixture::new().await;
    let config = SqliteConfig::new(lab.folder.path().join("s.db"));
    let other = SqliteStore::open(config).await.unwrap();
    let mut last: Option<MessageId> = None;
    for i in 0..10 {
        let target = Target::Extend { branch: BranchName::main(), expected: last };
        let commit = Commit { nodes: vec![node(i)], ..Commit::new(lab.chat.clone(), target, T) };
        let store = if i % 2 == 0 { &lab.store } else { &other };
        let outcome = store.history().commit(commit).await.unwrap();
        assert!(matches!(outcome, CommitOutcome::Applied(_)), "{outcome:?}");
        last = Some(id(i));
    }
    let rows =
        sqlx::query("SELECT count(*) FROM run").fetch_one(&mut lab.file().await).await.unwrap();
    assert_eq!(rows.get::<i64, _>(0), 0);
    assert_eq!(lab.problems().await, [""; 0]);
}

#[tokio::test]
async fn large_bodies_are_not_merged_into_runs() {
    let lab = LayoutFixture::new().await;
    let mut all: Vec<Arc<Node>> = Vec::new();
    for i in 0..70 {
        let next = with_body(i, vec![0; if i == 5 { 300_000 } else { 10 }]);
        lab.extend("main", all.last().map(|node| &node.id), vec![Arc::clone(&next)]).await;
        all.push(next);
    }
    assert_eq!(lab.chain("main", &Window::Whole).await, Chain::from_nodes(0, all));
    let mut file = lab.file().await;
    let rows = sqlx::query("SELECT max(length(data)) FROM run WHERE length(data) < 300000");
    assert!(rows.fetch_one(&mut file).await.unwrap().get::<i64, _>(0) < 256 << 10);
    let rows = sqlx::query("SELECT count(*) FROM run WHERE length(data) >= 300000");
    assert_eq!(rows.fetch_one(&mut file).await.unwrap().get::<i64, _>(0), 1);
}

#[tokio::test]
async fn a_file_of_a_newer_program_is_refused_and_left_alone() {
    let lab = LayoutFixture::new().await;
    let mut file = lab.file().await;
    let newer =
        "INSERT INTO context_migrations (version, description, success, checksum, execution_time)
        VALUES (12, 'later', true, x'', 0)";
    sqlx::query(newer).execute(&mut file).await.unwrap();
    let error =
        SqliteStore::open(SqliteConfig::new(lab.folder.path().join("s.db"))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_eq!(
        error.message(),
        "the file has schema version 12, but this program knows versions up to 11"
    );
}

#[tokio::test]
async fn what_is_no_store_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    std::fs::write(&path, "these are notes and no database ".repeat(100)).unwrap();
    let error = SqliteStore::open(SqliteConfig::new(&path)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let error = SqliteStore::open(SqliteConfig::new(folder.path().join("no.db")).create(false))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_new_file_may_be_opened_by_many_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let config = SqliteConfig::new(folder.path().join("s.db"));
    let all: Vec<_> = (0..8).map(|_| tokio::spawn(SqliteStore::open(config.clone()))).collect();
    for (i, opened) in all.into_iter().enumerate() {
        let store = opened.await.unwrap().unwrap();
        let chat = NewChat::new(ChatRef::new("ada", format!("{i}")), T);
        let _ = store.history().create_chat(chat).await.unwrap();
        store.close().await.unwrap();
    }
}

#[tokio::test]
async fn a_held_lock_is_unavailable_and_may_be_tried_again() {
    let lab = LayoutFixture::new().await;
    let path = lab.folder.path().join("s.db");
    let hasty = SqliteConfig::new(path).busy_timeout(std::time::Duration::ZERO);
    let hasty = SqliteStore::open(hasty).await.unwrap();
    let mut file = lab.file().await;
    let lock = file.begin_with("BEGIN IMMEDIATE").await.unwrap();
    let target = Target::Extend { branch: BranchName::main(), expected: None };
    let commit = Commit { nodes: vec![node(1)], ..Commit::new(lab.chat.clone(), target, T) };
    let error = hasty.history().commit(commit.clone()).await.unwrap_err();
    assert_eq!((error.kind(), error.retry()), (ErrorKind::Unavailable, context_core::Retry::Safe));
    lock.rollback().await.unwrap();
    assert!(matches!(hasty.history().commit(commit).await.unwrap(), CommitOutcome::Applied(_)));
}

#[tokio::test]
async fn the_check_finds_what_was_tampered_with() {
    async fn after(tamper: &'static str) -> Vec<String> {
        let lab = LayoutFixture::new().await;
        lab.extend("main", None, (0..100).map(node).collect()).await;
        assert_eq!(lab.problems().await, [""; 0]);
        sqlx::query(tamper).execute(&mut lab.file().await).await.unwrap();
        lab.problems().await
    }
    let missing = after("DELETE FROM run WHERE pos & 0xffffffff = 1").await;
    assert!(
        missing.contains(&"ada/chat layout: runs of messages overlap or have a gap".to_owned()),
        "{missing:?}"
    );
    let short = after("UPDATE branch SET own = 101, own_sum = own_sum + 1000003").await;
    assert!(
        short.contains(&"ada/chat branch 1: has 100 messages, but its row states 101".to_owned()),
        "{short:?}"
    );
    let unfiled = after("DELETE FROM node WHERE id = 'm3'").await;
    assert_eq!(unfiled, ["ada/chat messages: 100 are stored, but 99 are in the index of ids"]);
    let unbounded = after("DELETE FROM boundary").await;
    assert_eq!(
        unbounded,
        ["ada/chat branch 1: the index of boundaries disagrees with the messages"]
    );
    let stray = after("INSERT INTO run VALUES ((9 << 32) + 1, x'')").await;
    assert_eq!(stray, ["table run, place 9/1: belongs to no chat"]);
}

/// One step of a random test on a chat.
#[derive(Clone, Debug)]
enum Step {
    Append { branch: prop::sample::Index, nodes: usize },
    Fork { from: prop::sample::Index, at: prop::sample::Index, nodes: usize },
    Amend { from: prop::sample::Index, at: prop::sample::Index },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let nodes = prop_oneof![4 => Just(1usize), 2 => 2usize..20, 1 => 60usize..200];
    let step = prop_oneof![
        6 => (any::<prop::sample::Index>(),
            nodes.clone()).prop_map(|(branch, nodes)| Step::Append { branch, nodes }),
        2 => (any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0usize..3)
            .prop_map(|(from, at, nodes)| Step::Fork { from, at, nodes }),
        1 => (any::<prop::sample::Index>(), any::<prop::sample::Index>())
            .prop_map(|(from, at)| Step::Amend { from, at }),
    ];
    prop::collection::vec(step, 1..60)
}

async fn live(steps: Vec<Step>) {
    let lab = LayoutFixture::new().await;
    let mut next = 0;
    let mut fresh = |n: usize| -> Vec<Arc<Node>> {
        next += n;
        (next - n..next).map(node).collect()
    };
    let mut model: Vec<(String, Vec<Arc<Node>>)> = vec![("main".to_owned(), Vec::new())];
    for step in steps {
        match step {
            Step::Append { branch, nodes } => {
                let i = branch.index(model.len());
                let nodes = fresh(nodes);
                let (name, chain) = &mut model[i];
                lab.extend(name, chain.last().map(|node| &node.id), nodes.clone()).await;
                chain.extend(nodes);
            }
            Step::Fork { from, at, nodes } => {
                let mut chain = model[from.index(model.len())].1.clone();
                chain.truncate(at.index(chain.len() + 1));
                let name = format!("b{}", model.len());
                let target = Target::Fork {
                    name: ForkName::Exact(name.as_str().into()),
                    at: chain.last().map(|node| node.id.clone()),
                    activate: false,
                };
                let nodes = fresh(nodes);
                lab.apply(Commit {
                    nodes: nodes.clone(),
                    ..Commit::new(lab.chat.clone(), target, T)
                })
                .await;
                chain.extend(nodes);
                model.push((name, chain));
            }
            Step::Amend { from, at } => {
                let chain = &model[from.index(model.len())].1;
                if chain.is_empty() {
                    continue;
                }
                let old = Arc::clone(&chain[at.index(chain.len())]);
                let by = Node::from_encoded(
                    old.id.clone(),
                    NodeKind::Boundary,
                    T,
                    Encoded::new("test", 2, "new"),
                );
                let amendments = vec![Arc::new(by.clone())];
                lab.apply(Commit { amendments, ..Commit::new(lab.chat.clone(), Target::Stay, T) })
                    .await;
                let new = Arc::new(old.amended(&by));
                for node in
                    model.iter_mut().flat_map(|(_, chain)| chain).filter(|node| node.id == old.id)
                {
                    *node = Arc::clone(&new);
                }
            }
        }
    }
    for (name, nodes) in &model {
        let generation = lab.chain(name, &Window::Last(1)).await.generation();
        let whole = Chain::from_nodes(0, nodes.iter().cloned()).with_generation(generation);
        let after = |message: &MessageId| Window::After { message: message.clone(), generation };
        let middle = nodes.get(nodes.len() / 2).map_or("nowhere".into(), |node| node.id.clone());
        let last = nodes.last().map_or("nowhere".into(), |node| node.id.clone());
        let elsewhere = model[0].1.last().map_or("nowhere".into(), |node| node.id.clone());
        let windows = [
            Window::Whole,
            Window::Boundary,
            Window::Last(0),
            Window::Last(1),
            Window::Last(17),
            Window::Last(70),
            Window::Tokens(1),
            Window::Tokens(150),
            Window::Tokens(1_000),
            after(&middle),
            after(&last),
            after(&elsewhere),
            Window::After { message: last.clone(), generation: generation + 1 },
        ];
        for window in windows {
            assert_eq!(lab.chain(name, &window).await, window.of(&whole), "{name} {window:?}");
            if nodes.is_empty() {
                continue;
            }
            let end = ChainEnd::Message(middle.clone());
            let part = lab.store.history().chain(&lab.chat, &end, &window).await.unwrap();
            assert_eq!(
                part,
                window.of(&whole.prefix(nodes.len() / 2 + 1)),
                "to {middle} {window:?}"
            );
        }
    }
    assert_eq!(lab.problems().await, [""; 0]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None,
        ..ProptestConfig::with_cases(24) })]

    #[test]
    fn any_life_reads_back_through_every_window(steps in steps()) {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(live(steps));
    }
}
