//! Retention: what is removed, what stays, and that nothing in use is removed.

use std::time::Duration;

use context_runtime::{
    CancelSource, ChatRef, Message, RemovalReason, Retention, Store, Timestamp,
    store::{Commit, ForkName, NewChat, Node, Target},
};

use crate::kit::store;

const DAY: i64 = 86_400_000_000;

fn at(day: i64) -> Timestamp {
    Timestamp::from_micros(day * DAY)
}

fn days(n: u64) -> Option<Duration> {
    Some(Duration::from_secs(n * 86_400))
}

async fn write(store: &dyn Store, chat: &str, target: Target, id: &str, day: i64) {
    let chat = ChatRef::new("ada", chat);
    let _created = store.history().create_chat(NewChat::new(chat.clone(), at(day))).await.unwrap();
    let node = Node::new(id, Message::from("x".repeat(1000)), at(day)).into();
    let commit = Commit { nodes: vec![node], ..Commit::new(chat, target, at(day)) };
    assert!(store.history().commit(commit).await.unwrap().committed().is_some());
}

fn main_from(expected: Option<&str>) -> Target {
    Target::Extend { branch: "main".into(), expected: expected.map(Into::into) }
}

fn fork(name: &str) -> Target {
    Target::Fork { name: ForkName::Exact(name.into()), at: Some("m".into()), activate: false }
}

async fn plan(store: &dyn Store, policy: Retention, day: i64) -> Vec<(String, RemovalReason)> {
    let cancel = CancelSource::new().signal();
    let removals = policy.plan(store, &"ada".into(), at(day), &cancel).await.unwrap();
    let name =
        |branch: &Option<_>| branch.as_ref().map(|name| format!("/{name}")).unwrap_or_default();
    removals
        .iter()
        .map(|gone| (format!("{}{}", gone.chat.chat, name(&gone.branch)), gone.reason))
        .collect()
}

fn policy(set: impl FnOnce(&mut Retention)) -> Retention {
    let mut policy = Retention::default();
    set(&mut policy);
    policy
}

fn gone(names: &[&str], reason: RemovalReason) -> Vec<(String, RemovalReason)> {
    names.iter().map(|name| ((*name).to_owned(), reason)).collect()
}

#[tokio::test]
async fn each_limit_takes_the_oldest_and_never_the_last() {
    let store = store().await;
    for day in 1..=4 {
        write(&*store, &format!("c{day}"), main_from(None), "m", day).await;
    }
    let plan = async |policy| plan(&*store, policy, 10).await;
    assert_eq!(plan(Retention::default()).await, []);
    let idle = plan(policy(|policy| policy.idle_chats = days(7))).await;
    assert_eq!(idle, gone(&["c2", "c1"], RemovalReason::Idle));
    let count = plan(policy(|policy| policy.max_chats = Some(3))).await;
    assert_eq!(count, gone(&["c1"], RemovalReason::Count));
    let bytes = plan(policy(|policy| policy.max_bytes = Some(2500))).await;
    assert_eq!(bytes, gone(&["c2", "c1"], RemovalReason::Bytes));
    let all = plan(policy(|policy| policy.idle_chats = days(0))).await;
    assert_eq!(all, gone(&["c3", "c2", "c1"], RemovalReason::Idle), "the newest stays");
}

#[tokio::test]
async fn a_branch_in_use_stays() {
    let store = store().await;
    write(&*store, "c", main_from(None), "m", 1).await;
    for (name, day) in [("old", 2), ("marked", 2), ("new", 9)] {
        write(&*store, "c", fork(name), name, day).await;
    }
    let (history, chat) = (store.history(), ChatRef::new("ada", "c"));
    history.set_checkpoint(&chat, &"paid".into(), &"marked".into(), at(3)).await.unwrap();
    let policy = policy(|policy| policy.idle_branches = days(5));
    assert_eq!(plan(&*store, policy.clone(), 10).await, gone(&["c/old"], RemovalReason::Idle));
    let cancel = CancelSource::new().signal();
    let removals = policy.plan(&*store, &"ada".into(), at(10), &cancel).await.unwrap();
    assert!(removals[0].run(&*store, at(10)).await.unwrap());
    let names: Vec<_> =
        history.branches(&chat).await.unwrap().into_iter().map(|branch| branch.name).collect();
    assert_eq!(names, ["main", "marked", "new"]);
}

#[tokio::test]
async fn what_was_written_to_since_the_plan_stays() {
    let store = store().await;
    write(&*store, "idle", main_from(None), "m", 1).await;
    write(&*store, "idle", fork("side"), "s", 1).await;
    write(&*store, "busy", main_from(None), "m", 9).await;
    let cancel = CancelSource::new().signal();
    let all = policy(|policy| policy.idle_chats = days(5));
    let chats = all.plan(&*store, &"ada".into(), at(10), &cancel).await.unwrap();
    write(&*store, "idle", main_from(Some("m")), "m2", 10).await;
    assert!(!chats[0].run(&*store, at(10)).await.unwrap());
    let all = policy(|policy| policy.idle_branches = days(5));
    let branches = all.plan(&*store, &"ada".into(), at(10), &cancel).await.unwrap();
    let on_side = Target::Extend { branch: "side".into(), expected: Some("s".into()) };
    write(&*store, "idle", on_side, "s2", 10).await;
    assert!(!branches[0].run(&*store, at(10)).await.unwrap());
    assert_eq!(store.history().branches(&ChatRef::new("ada", "idle")).await.unwrap().len(), 2);
}
