//! The durability that commits ask for, as the writing connection sees it.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use super::*;
use crate::config::SqliteConfig;
use crate::store::SqliteStore;
use context_core::store::{NewChat, Target};
use context_core::{Message, Node, Role, Store, Timestamp};
use sqlx::Row;

const NORMAL: i64 = 1;
const FULL: i64 = 2;

/// The writing connection's `PRAGMA synchronous`, as the last commit has left it.
async fn synchronous(connections: &Arc<Connections>) -> i64 {
    let mut writer = connections.writer_as_left().await.unwrap();
    let query = sqlx::query("PRAGMA synchronous").persistent(false);
    query.fetch_one(&mut writer.connection).await.unwrap().get(0)
}

fn chat() -> ChatRef {
    ChatRef::new("ada", "trip")
}

fn append(branch: &str, after: &str, id: &str, durability: Option<Durability>) -> Commit {
    let expected = Some(after).filter(|after| !after.is_empty()).map(Into::into);
    let node = Node::new(id, Message::text(Role::User, id), Timestamp::default());
    let target = Target::Extend { branch: branch.into(), expected };
    let commit = Commit::new(chat(), target, Timestamp::default());
    Commit { nodes: vec![node.into()], durability, ..commit }
}

async fn open(folder: &tempfile::TempDir, durability: Durability) -> Arc<Connections> {
    let config = SqliteConfig::new(folder.path().join("chats.db")).durability(durability);
    let store = SqliteStore::open(config).await.unwrap();
    let _created =
        store.history().create_chat(NewChat::new(chat(), Timestamp::default())).await.unwrap();
    store.into_connections()
}

#[tokio::test]
async fn each_commit_is_flushed_as_it_asks_and_the_next_as_the_store_is_configured() {
    use Durability::{PowerLoss, Process, ProcessCrash, Server};
    let cases = [
        (None, None),
        (Some(PowerLoss), Some(FULL)),
        (None, None),
        (Some(Process), Some(NORMAL)),
        (Some(PowerLoss), Some(FULL)),
        (Some(Server), Some(NORMAL)),
        (None, None),
        (Some(ProcessCrash), Some(NORMAL)),
    ];
    for (own, level) in [(ProcessCrash, NORMAL), (PowerLoss, FULL)] {
        let folder = tempfile::tempdir().unwrap();
        let (connections, queue) = (open(&folder, own).await, Queue::default());
        let mut head = String::new();
        for (i, (asked, expected)) in cases.into_iter().enumerate() {
            let expected = expected.unwrap_or(level);
            let id = format!("m{i}");
            let appended = append("main", &head, &id, asked);
            let keyed = Commit {
                key: Some(format!("k{i}").into()),
                nodes: Vec::new(),
                target: Target::Stay,
                ..appended.clone()
            };
            for commit in [appended, keyed] {
                let _outcome = commit_alone(&connections, &queue, commit).await;
                assert_eq!(synchronous(&connections).await, expected, "{own:?} {asked:?}");
            }
            head = id;
        }
        // A call that is no commit.
        let _outcome =
            commit_alone(&connections, &queue, append("main", &head, "last", Some(Process))).await;
        drop(connections.writer().await.unwrap());
        assert_eq!(synchronous(&connections).await, level);
    }
}

async fn commit_alone(
    connections: &Arc<Connections>,
    queue: &Queue,
    commit: Commit,
) -> CommitOutcome {
    super::commit(connections, queue, commit).await.unwrap()
}

#[tokio::test]
async fn a_group_is_flushed_if_one_of_its_appends_asks_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let connections = open(&folder, Durability::ProcessCrash).await;
    let queue = Queue::default();
    let branches = ["a", "b", "c"];
    for branch in branches {
        let name = context_core::store::ForkName::Exact(branch.into());
        let target = Target::Fork { name, at: None, activate: false };
        let fork = Commit::new(chat(), target, Timestamp::default());
        let _outcome = commit_alone(&connections, &queue, fork).await;
    }
    for (asked, expected) in [(Durability::PowerLoss, FULL), (Durability::Process, NORMAL)] {
        let mut answers = Vec::new();
        for branch in branches {
            // Only one of the three asks for it.
            let durability = (branch == "b").then_some(asked);
            let head = if expected == FULL { "" } else { &format!("{branch}-2") };
            let id = format!("{branch}-{expected}");
            let commit = append(branch, head, &id, durability);
            let append = Append::of(&commit).unwrap();
            answers.push(queue.put(Waiting { append, durability: commit.durability }));
        }
        let mut writer = connections.writer_as_left().await.unwrap();
        write(&mut writer, queue.take(fits)).await;
        drop(writer);
        for mut answer in answers {
            assert!(answer.try_recv().unwrap().is_ok());
        }
        assert_eq!(synchronous(&connections).await, expected);
    }
}

#[tokio::test]
async fn a_change_that_was_cut_short_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let connections = open(&folder, Durability::PowerLoss).await;
    let mut writer = connections.writer_as_left().await.unwrap();
    // SQLite runs in a thread of its own, and might have answered before the first look. So it
    // waits within the statement until the change was dropped.
    let (go_on, waits) = std::sync::mpsc::channel::<()>();
    writer.connection.lock_handle().await.unwrap().set_progress_handler(1, move || {
        let _ended = waits.recv();
        true
    });
    {
        let mut change = pin!(writer.set_durability(Some(Durability::ProcessCrash)));
        let polled = poll_fn(|context| Poll::Ready(change.as_mut().poll(context))).await;
        assert!(polled.is_pending());
    }
    drop(go_on);
    drop(writer);
    drop(connections.writer().await.unwrap());
    assert_eq!(synchronous(&connections).await, FULL);
}

/// Whether a commit has written to the file, as another connection sees it.
#[tokio::test]
async fn a_replay_flushes_the_log_if_it_must_survive_a_loss_of_power() {
    let folder = tempfile::tempdir().unwrap();
    let (connections, queue) = (open(&folder, Durability::ProcessCrash).await, Queue::default());
    let first = append("main", "", "a", None);
    let _outcome = commit_alone(&connections, &queue, first.clone()).await;
    let mut reader = connections.reader().await.unwrap();
    for (durability, writes) in [
        (None, false),
        (Some(Durability::ProcessCrash), false),
        (Some(Durability::PowerLoss), true),
        (Some(Durability::Process), false),
        (Some(Durability::PowerLoss), true),
    ] {
        let before = data_version(&mut reader).await;
        let again = Commit { durability, ..first.clone() };
        let outcome = commit_alone(&connections, &queue, again).await;
        assert!(matches!(outcome, CommitOutcome::Replayed(_)), "{outcome:?}");
        assert_eq!(data_version(&mut reader).await != before, writes, "{durability:?}");
    }
}

async fn data_version(reader: &mut sqlx::SqliteConnection) -> i64 {
    let query = sqlx::query("PRAGMA data_version").persistent(false);
    query.fetch_one(reader).await.unwrap().get(0)
}
