//! Group commit: every caller gets its own result, and a dropped caller does not affect the others.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use context_core::store::{ChainEnd, Commit, CommitOutcome, NewChat, SearchQuery, Target, Window};
use context_core::{CancelSignal, ChatRef, Message, MessageId, Node, Role, Store, Timestamp};
use context_store_sqlite::{SqliteConfig, SqliteStore};
use proptest::prelude::*;
use tempfile::TempDir;
use tokio::task::JoinSet;

const T: Timestamp = Timestamp::from_micros(1_000_000);

struct GroupFixture {
    _folder: TempDir,
    store: SqliteStore,
}

type Committing<'a> = Pin<Box<dyn Future<Output = CommitOutcome> + Send + 'a>>;

impl GroupFixture {
    async fn new(full_text: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = SqliteConfig::new(folder.path().join("s.db")).full_text(full_text);
        let store = SqliteStore::open(config).await.unwrap();
        Self { _folder: folder, store }
    }

    /// Creates a chat with one message, so that this handle knows the end of its branch.
    async fn chat(&self, id: usize) -> ChatRef {
        let chat = ChatRef::new("ada", format!("c{id}"));
        let _ = self.store.history().create_chat(NewChat::new(chat.clone(), T)).await.unwrap();
        applied(self.append(&chat, "", &["root"]).await);
        chat
    }

    fn append<'a>(&'a self, chat: &ChatRef, expected: &str, ids: &[&str]) -> Committing<'a> {
        let commit = append(chat, expected, ids);
        Box::pin(async move { self.store.history().commit(commit).await.unwrap() })
    }

    async fn ids(&self, chat: &ChatRef) -> Vec<String> {
        let end = ChainEnd::Branch("main".into());
        let chain = self.store.history().chain(chat, &end, &Window::Whole).await.unwrap();
        chain.iter().map(|node| node.id.to_string()).collect()
    }

    async fn check(&self) {
        let report = self.store.maintenance().unwrap().check(&CancelSignal::never()).await.unwrap();
        assert_eq!(report.findings, []);
        if let Some(search) = self.store.search() {
            let query = SearchQuery { limit: 1000, ..SearchQuery::new("ada", "words") };
            assert_eq!(
                search.search(&query).await.unwrap().items.len() as u64,
                report.messages.min(1000)
            );
        }
    }
}

fn append(chat: &ChatRef, expected: &str, ids: &[&str]) -> Commit {
    let expected = Some(expected).filter(|id| !id.is_empty()).map(MessageId::from);
    let node = |id: &&str| {
        Arc::new(Node::new(*id, Message::text(Role::User, format!("words of {id}")), T))
    };
    let target = Target::Extend { branch: "main".into(), expected };
    Commit { nodes: ids.iter().map(node).collect(), ..Commit::new(chat.clone(), target, T) }
}

#[track_caller]
fn applied(outcome: CommitOutcome) {
    assert!(matches!(outcome, CommitOutcome::Applied(_)), "{outcome:?}");
}

/// Polls all futures in turn until each has ended.
async fn together(mut commits: Vec<Committing<'_>>) -> Vec<CommitOutcome> {
    let mut outcomes: Vec<Option<CommitOutcome>> = commits.iter().map(|_| None).collect();
    poll_fn(|context| {
        for (commit, outcome) in commits.iter_mut().zip(&mut outcomes) {
            if outcome.is_none()
                && let Poll::Ready(ended) = commit.as_mut().poll(context)
            {
                *outcome = Some(ended);
            }
        }
        if outcomes.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    outcomes.into_iter().flatten().collect()
}

async fn of_many_chats(full_text: bool) {
    let lab = GroupFixture::new(full_text).await;
    let mut chats = Vec::new();
    for id in 0..70 {
        chats.push(lab.chat(id).await);
    }
    let mut heads = vec!["root".to_owned(); chats.len()];
    // Enough rounds for blocks of runs to fill up within a group, with commits that fit one row and
    // commits that do not.
    for round in 0..40 {
        let mut commits = Vec::new();
        for (i, (chat, head)) in chats.iter().zip(&mut heads).enumerate().take(1 + round * 7 % 70) {
            let ids: Vec<String> =
                (0..1 + (i + round) % 3).map(|k| format!("m{round}-{k}")).collect();
            let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
            commits.push(lab.append(chat, head, &ids));
            *head = (*ids.last().unwrap()).to_owned();
        }
        together(commits).await.into_iter().for_each(applied);
    }
    for (chat, head) in chats.iter().zip(&heads) {
        assert_eq!(lab.ids(chat).await.last(), Some(head));
    }
    lab.check().await;
}

#[tokio::test]
async fn appends_to_many_chats_with_full_text() {
    of_many_chats(true).await;
}

#[tokio::test]
async fn appends_to_many_chats_without_full_text() {
    of_many_chats(false).await;
}

#[tokio::test]
async fn appends_behind_each_other_in_one_group() {
    let lab = GroupFixture::new(true).await;
    let chat = lab.chat(0).await;
    let names: Vec<String> = (0..100).map(|i| format!("m{i}")).collect();
    let mut before = "root";
    let mut commits = Vec::new();
    for name in &names {
        commits.push(lab.append(&chat, before, &[name]));
        before = name;
    }
    together(commits).await.into_iter().for_each(applied);
    assert_eq!(lab.ids(&chat).await[1..], names);
    lab.check().await;
}

#[tokio::test]
async fn each_is_answered_for_itself() {
    let lab = GroupFixture::new(true).await;
    let (one, two, three) = (lab.chat(1).await, lab.chat(2).await, lab.chat(3).await);
    applied(lab.append(&two, "root", &["x"]).await);
    applied(lab.append(&three, "root", &["taken"]).await);
    let missing = ChatRef::new("ada", "missing");
    let outcomes = together(vec![
        lab.append(&one, "root", &["a"]),
        lab.append(&one, "a", &["b"]),
        lab.append(&two, "root", &["late"]),
        lab.append(&three, "taken", &["root"]),
        lab.append(&three, "taken", &["c", "d"]),
        lab.append(&three, "taken", &["e"]),
        lab.append(&two, "x", &["y"]),
        lab.append(&two, "root", &["x"]),
    ])
    .await;
    let [a, b, late, exists, c, e, y, x] = &outcomes[..] else { panic!("{outcomes:?}") };
    for outcome in [a, b, c, y] {
        applied(outcome.clone());
    }
    assert!(matches!(late, CommitOutcome::Conflict { .. }), "{late:?}");
    assert_eq!(*exists, CommitOutcome::Exists { ids: vec!["root".into()] });
    assert_eq!(*e, CommitOutcome::Conflict { actual: Some("d".into()) });
    assert!(matches!(x, CommitOutcome::Replayed(_)), "{x:?}");
    assert!(lab.store.history().commit(append(&missing, "", &["a"])).await.is_err());
    lab.check().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixty_four_tasks_lose_nothing() {
    let lab = Arc::new(GroupFixture::new(true).await);
    let mut chats = Vec::new();
    for id in 0..16 {
        chats.push(lab.chat(id).await);
    }
    let mut tasks = JoinSet::new();
    for task in 0..64 {
        let (lab, chat) = (Arc::clone(&lab), chats[task % chats.len()].clone());
        tasks.spawn(async move {
            let mut head = "root".to_owned();
            for i in 0..10 {
                let id = format!("t{task}-{i}");
                loop {
                    match lab.append(&chat, &head, &[&id]).await {
                        CommitOutcome::Applied(_) => break head = id,
                        CommitOutcome::Conflict { actual } => head = actual.unwrap().to_string(),
                        other => panic!("{other:?}"),
                    }
                }
            }
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
    for (i, chat) in chats.iter().enumerate() {
        let ids = lab.ids(chat).await;
        assert_eq!(ids.len(), 41);
        for task in (i..64).step_by(16) {
            let own: Vec<_> =
                ids.iter().filter(|id| id.starts_with(&format!("t{task}-"))).cloned().collect();
            assert_eq!(own, (0..10).map(|i| format!("t{task}-{i}")).collect::<Vec<_>>());
        }
    }
    lab.check().await;
}

/// Polls a future at most this often, then drops it.
async fn polled<T>(future: impl Future<Output = T>, mut polls: usize) -> Option<T> {
    let mut future = pin!(future);
    poll_fn(move |context| {
        if polls == 0 {
            return Poll::Ready(None);
        }
        polls -= 1;
        match future.as_mut().poll(context) {
            Poll::Ready(value) => Poll::Ready(Some(value)),
            Poll::Pending if polls == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// Runs rounds of commits to as many chats. Each commit is dropped after the given number of polls,
/// or never.
async fn dropped(rounds: Vec<Vec<Option<usize>>>) {
    let lab = GroupFixture::new(true).await;
    let mut chats = Vec::new();
    for id in 0..rounds.iter().map(Vec::len).max().unwrap_or(0) {
        chats.push((lab.chat(id).await, vec!["root".to_owned()]));
    }
    for (round, drops) in rounds.into_iter().enumerate() {
        let (first, second) = (format!("a{round}"), format!("b{round}"));
        let ids = [first.as_str(), second.as_str()];
        let mut all: Vec<Pin<Box<dyn Future<Output = Option<CommitOutcome>> + '_>>> = Vec::new();
        for ((chat, chain), polls) in chats.iter().zip(&drops) {
            let commit = lab.append(chat, chain.last().unwrap(), &ids);
            all.push(Box::pin(polled(commit, polls.unwrap_or(usize::MAX))));
        }
        let mut ended: Vec<Option<Option<CommitOutcome>>> = all.iter().map(|_| None).collect();
        poll_fn(|context| {
            for (commit, ended) in all.iter_mut().zip(&mut ended) {
                if ended.is_none()
                    && let Poll::Ready(outcome) = commit.as_mut().poll(context)
                {
                    *ended = Some(outcome);
                }
            }
            if ended.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        drop(all);
        for ((chat, chain), ended) in chats.iter_mut().zip(ended) {
            let told = ended.flatten();
            if let Some(outcome) = &told {
                let done =
                    matches!(outcome, CommitOutcome::Applied(_) | CommitOutcome::Replayed(_));
                assert!(done, "{outcome:?}");
            }
            // The commit is sent again, as after a lost reply: its messages must be stored exactly
            // once.
            let again = lab.append(chat, chain.last().unwrap(), &ids).await;
            match again {
                CommitOutcome::Replayed(_) => {}
                CommitOutcome::Applied(_) => {
                    assert!(told.is_none(), "was acknowledged and not there")
                }
                other => panic!("{other:?}"),
            }
            chain.extend([first.clone(), second.clone()]);
            assert_eq!(lab.ids(chat).await, *chain);
        }
    }
    lab.check().await;
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None,
        ..ProptestConfig::with_cases(32) })]

    #[test]
    fn who_goes_away_takes_nothing_along(
        rounds in prop::collection::vec(prop::collection::vec(prop::option::of(0usize..6), 1..12),
            1..10),
    ) {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(dropped(rounds));
    }
}
