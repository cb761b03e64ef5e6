//! Two engines on one branch: graft, fork or fail, by the caller's choice.

use std::sync::Arc;

use context_runtime::{
    ConflictPolicy, ContextEngine, ErrorKind, SaveOutcome, Store, last_assistant_message,
};

use crate::kit::{builder, engine, say, shown, store, stored, with_messages};

/// Returns an engine that has read the branch and lost the race: another engine saved `e2` in the
/// meantime.
async fn late(policy: ConflictPolicy) -> (Arc<dyn Store>, ContextEngine) {
    let store = store().await;
    let mut first = with_messages(&store, &["u1", "a1"]).await;
    let mut late = builder(&store).on_conflict(policy).open().await.unwrap();
    let _read = late.resolve().await.unwrap();
    first.set([say("e2", "from e")]);
    let _saved = first.save().await.unwrap();
    late.set([say("f2", "from f"), say("a3", "answer")]);
    (store, late)
}

#[tokio::test]
async fn messages_of_both_are_kept_in_one_line_by_default() {
    let (store, mut late) = late(ConflictPolicy::Graft).await;
    let saved = late.save().await.unwrap();
    assert_eq!(saved.outcome, SaveOutcome::Grafted { onto: Some("e2".into()) });
    let expected = ["u1: text u1", "a1: text a1", "e2: from e", "f2: from f", "a3: answer"];
    assert_eq!(shown(&mut late).await, expected);
    assert_eq!(stored(&store, "main").await, expected);
}

#[tokio::test]
async fn a_fork_keeps_both_apart_and_the_winner_active() {
    let (store, mut late) = late(ConflictPolicy::Fork).await;
    let saved = late.save().await.unwrap();
    assert_eq!(saved.outcome, SaveOutcome::Forked { from: "main".into() });
    assert_eq!(late.branch(), &"main-v2");
    let own = ["u1: text u1", "a1: text a1", "f2: from f", "a3: answer"];
    assert_eq!(shown(&mut late).await, own);
    assert_eq!(stored(&store, "main-v2").await, own);
    assert_eq!(stored(&store, "main").await, ["u1: text u1", "a1: text a1", "e2: from e"]);
    assert_eq!(late.chat().await.unwrap().active, "main");
}

#[tokio::test]
async fn a_refusal_writes_nothing_keeps_what_is_pending_and_ends_with_the_next_look() {
    let (store, mut late) = late(ConflictPolicy::Fail).await;
    for _ in 0..2 {
        let error = late.save().await.unwrap_err();
        assert_eq!((error.kind(), error.get("head")), (ErrorKind::Conflict, Some("e2")));
    }
    assert_eq!(stored(&store, "main").await.len(), 3);
    assert_eq!(shown(&mut late).await.len(), 5);
    assert_eq!(late.save().await.unwrap().outcome, SaveOutcome::Saved);
    assert_eq!(stored(&store, "main").await.len(), 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_writers_lose_nothing() {
    let store = store().await;
    let _seed = with_messages(&store, &["u0"]).await;
    let writers: Vec<_> = (0..8)
        .map(|w| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                let mut chat = builder(&store).open().await.unwrap();
                for i in 0..20 {
                    chat.set([say(&format!("w{w}-{i}"), "x")]);
                    let _saved = chat.save().await.unwrap();
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    let messages = stored(&store, "main").await;
    assert_eq!(messages.len(), 161);
    for w in 0..8 {
        let own: Vec<_> = messages.iter().filter(|m| m.starts_with(&format!("w{w}-"))).collect();
        assert_eq!(
            own,
            (0..20).map(|i| format!("w{w}-{i}: x")).collect::<Vec<_>>().iter().collect::<Vec<_>>()
        );
    }
}

#[tokio::test]
async fn an_engine_sees_what_others_saved() {
    let store = store().await;
    let mut one = with_messages(&store, &["u1"]).await;
    let mut two = engine(&store).await;
    assert_eq!(shown(&mut two).await.len(), 1);
    one.set([say("a1", "x"), say("u2", "y")]);
    let _saved = one.save().await.unwrap();
    assert_eq!(shown(&mut two).await.len(), 3);
    one.set([last_assistant_message("amended")]);
    let _saved = one.save().await.unwrap();
    assert_eq!(shown(&mut two).await[1], "a1: amended");
}

#[tokio::test]
async fn an_engine_stays_on_its_branch_when_another_switches() {
    let store = store().await;
    let mut one = with_messages(&store, &["u1", "a1"]).await;
    let mut two = engine(&store).await;
    let _moved = one.rewind(&"u1".into()).await.unwrap();
    two.set([say("u2", "still main")]);
    let _saved = two.save().await.unwrap();
    assert_eq!(stored(&store, "main").await.len(), 3);
    assert_eq!(stored(&store, "main-v2").await, ["u1: text u1"]);
}
