//! Plans of several removals list each copy that stays, and none that goes too.

use std::sync::Arc;
use std::time::Duration;

use context_runtime::memory::MemoryScope;
use context_runtime::removal::{
    Redaction, RemovalReport, delete_chat, erase_user, redact_messages,
};
use context_runtime::store::{MemoryRecord, MemoryWrite, NewBlob};
use context_runtime::{
    CancelSignal, ChatRef, ContextEngine, Fragment, Message, Removal, Retention, Role, Store,
    Timestamp, UserId, assistant, user,
};

use crate::removal::{now, options};

const SECRET: &str = "the pass phrase of the harbour account is quinquereme of Nineveh";

async fn engine(store: &Arc<dyn Store>, who: &str, chat: &str) -> ContextEngine {
    ContextEngine::builder(Arc::clone(store)).user(who).chat(chat).open().await.unwrap()
}

fn left(reports: &[RemovalReport]) -> Vec<Vec<String>> {
    let of_report = |report: &RemovalReport| {
        assert!(report.searched);
        report.remaining.iter().map(ToString::to_string).collect()
    };
    reports.iter().map(of_report).collect()
}

/// Returns the plans of a retention, a month later.
async fn plans(store: &Arc<dyn Store>, set: impl FnOnce(&mut Retention)) -> Vec<RemovalReport> {
    let later = Timestamp::from_micros(now().as_micros() + 30 * 86_400_000_000);
    let mut policy = Retention::default();
    set(&mut policy);
    let user = UserId::from("ada");
    let removals = policy.plan(&**store, &user, later, &CancelSignal::never()).await.unwrap();
    Removal::plan_all(&removals, &**store, &options()).await.unwrap()
}

#[tokio::test]
async fn a_copy_is_listed_once_and_not_in_what_goes_too() {
    let store = context_runtime::open("mem:").await.unwrap();
    for chat in ["one", "two", "three", "last"] {
        let said = if chat == "two" { "Something else, and nothing to find." } else { SECRET };
        engine(&store, "ada", chat).await.set([user(said).with_id(chat)]).save().await.unwrap();
    }
    let plans = plans(&store, |policy| policy.max_chats = Some(1)).await;
    let mut copies: Vec<String> = left(&plans).concat();
    copies.retain(|copy| !copy.starts_with("title"));
    assert_eq!(copies, ["message last of chat last: says the same"]);
    let chats = plans.iter().map(|plan| plan.chats).sum::<u64>();
    assert_eq!((plans.len(), chats), (3, 3));
}

/// Two branches that share a message: it goes with both, and each alone would leave it.
#[tokio::test]
async fn a_message_of_two_branches_goes_with_the_second() {
    let store = context_runtime::open("mem:").await.unwrap();
    let mut chat = engine(&store, "ada", "trip").await;
    chat.set([user("Hello").with_id("m1"), user(SECRET).with_id("m2")]).save().await.unwrap();
    let _beside = chat.fork_here().await.unwrap();
    chat.rewind(&"m1".into()).await.unwrap();
    let plans = plans(&store, |policy| policy.idle_branches = Some(Duration::from_secs(1))).await;
    let sums = plans.iter().map(|plan| (plan.branches, plan.messages));
    let sums = sums.fold((0, 0), |(a, b), (c, d)| (a + c, b + d));
    assert_eq!(sums, (2, 1), "both, with m2");
    let named = plans.iter().flat_map(|plan| &plan.items).filter(|item| item.kind == "message");
    assert_eq!(named.count(), 1);
    assert!(left(&plans).concat().is_empty());
}

#[tokio::test]
async fn blobs_and_streams_of_a_plan_are_named() {
    let store = context_runtime::open("mem:").await.unwrap();
    engine(&store, "ada", "trip").await.set([user("Hello")]).save().await.unwrap();
    let chat = ChatRef::new("ada", "trip");
    let blob = store.blobs().unwrap().put_blob(&chat, NewBlob::new("a long report", now())).await;
    let plans = plans(&store, |policy| policy.idle_blobs = Some(Duration::from_secs(1))).await;
    let items: Vec<String> = plans[0].items.iter().map(ToString::to_string).collect();
    assert_eq!(items, [format!("blob {} of chat trip", blob.unwrap().id)]);
}

/// Two users have a chat of the same name and the same instructions. Only words are copies, and
/// they are listed with the user who has them.
#[tokio::test]
async fn the_plan_of_an_erasure_finds_words_with_other_users() {
    const INSTRUCTIONS: &str = "You answer questions about harbours briefly and in plain words.";
    let store = context_runtime::open("mem:").await.unwrap();
    for who in ["ada", "bob", "cleo"] {
        let mut chat = engine(&store, who, "trip").await;
        let said = if who == "cleo" { "Is it far from here to the harbour?" } else { SECRET };
        chat.set([
            Message::text(Role::System, INSTRUCTIONS).into(),
            user(said).with_id("asked"),
            assistant(who),
        ]);
        chat.save().await.unwrap();
    }
    let scope = MemoryScope::new("cleo");
    let note = MemoryRecord::new(scope, "n1", "note", now(), format!("Ada says: {SECRET}"));
    let memories = store.memories().unwrap();
    let _kept = memories.write_memories(&[MemoryWrite::new(note, "words")]).await.unwrap();
    let plan = erase_user(&*store, &"ada".into(), &options().dry_run(true)).await.unwrap();
    let mut copies = left(std::slice::from_ref(&plan)).concat();
    copies.retain(|copy| !copy.starts_with("title"));
    assert_eq!(
        copies,
        [
            "message asked of chat trip of user bob: says the same",
            "memory n1 of user cleo: says the same"
        ]
    );
    let erased = erase_user(&*store, &"ada".into(), &options()).await.unwrap();
    assert!(!erased.searched && erased.remaining.is_empty(), "an erasure does not search");
}

/// Hundreds of chats with the same instructions were once listed as copies of the one that went.
#[tokio::test]
async fn instructions_that_many_chats_have_are_no_copies() {
    const INSTRUCTIONS: &str = "You answer questions about harbours briefly and in plain words.";
    let store = context_runtime::open("mem:").await.unwrap();
    for name in ["one", "two"] {
        let instructions = Fragment::from(Message::text(Role::System, INSTRUCTIONS)).with_id("i");
        let mut chat = engine(&store, "ada", name).await;
        chat.set([instructions, user(name).with_id("asked")]).save().await.unwrap();
    }
    let one = ChatRef::new("ada", "one");
    let redacted =
        redact_messages(&*store, &one, &["i".into()], Redaction::Words, &options()).await.unwrap();
    assert_eq!(left(&[redacted]), [["message i of chat two: says the same"]]);
    let deleted = delete_chat(&*store, &ChatRef::new("ada", "two"), None, &options()).await;
    assert!(left(&[deleted.unwrap()]).concat().is_empty());
}
