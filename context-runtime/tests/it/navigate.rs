//! Rewind, fork, switch, checkpoint, restore.

use context_runtime::{ErrorKind, user};

use crate::kit::{builder, engine, say, shown, store, stored, with_messages};

#[tokio::test]
async fn rewind_makes_a_branch_that_ends_with_the_message_and_drops_what_is_pending() {
    let store = store().await;
    let mut chat = with_messages(&store, &["u1", "a1", "u2"]).await;
    chat.set([say("p1", "pending")]);
    let moved = chat.rewind(&"u1".into()).await.unwrap();
    assert_eq!((moved.branch.as_str(), moved.head.as_ref().unwrap().as_str()), ("main-v2", "u1"));
    assert_eq!(moved.dropped, ["p1"]);
    assert!(moved.diagnostic().unwrap().message.contains("p1"));
    chat.set([say("b1", "other")]);
    let _saved = chat.save().await.unwrap();
    assert_eq!(shown(&mut chat).await, ["u1: text u1", "b1: other"]);
    assert_eq!(stored(&store, "main").await.len(), 3);
    assert_eq!(chat.rewind(&"nowhere".into()).await.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(chat.branch(), &"main-v2");
}

#[tokio::test]
async fn names_are_the_lowest_free_version() {
    let store = store().await;
    let mut chat = with_messages(&store, &["u1", "a1"]).await;
    let mut names = Vec::new();
    for from in ["main", "main-v2", "main", "main"] {
        let _there = chat.switch_branch(from).await.unwrap();
        names.push(chat.rewind(&"u1".into()).await.unwrap().branch.to_string());
    }
    assert_eq!(names, ["main-v2", "main-v3", "main-v4", "main-v5"]);
}

#[tokio::test]
async fn fork_here_keeps_the_engine_and_what_is_pending_where_they_are() {
    let store = store().await;
    let mut chat = engine(&store).await;
    assert_eq!(chat.fork_here().await.unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(chat.checkpoint("cp").await.unwrap_err().kind(), ErrorKind::Invalid);
    chat.set([say("u1", "x")]);
    let _saved = chat.save().await.unwrap();
    chat.set([say("p1", "pending")]);
    let fork = chat.fork_here().await.unwrap();
    assert_eq!((chat.branch().as_str(), chat.pending().count()), ("main", 1));

    let mut aside = builder(&store).branch(fork.branch).open().await.unwrap();
    aside.set([user("by the way").with_id("w1")]);
    let _saved = aside.save().await.unwrap();
    let _saved = chat.save().await.unwrap();
    assert_eq!(stored(&store, "main").await, ["u1: x", "p1: pending"]);
    assert_eq!(stored(&store, "main-v2").await, ["u1: x", "w1: by the way"]);
    assert_eq!(engine(&store).await.branch(), &"main");
}

#[tokio::test]
async fn checkpoints_move_and_restore_to_a_new_branch() {
    let store = store().await;
    let mut chat = with_messages(&store, &["u1", "a1"]).await;
    assert_eq!(chat.checkpoint("cp").await.unwrap().message, "a1");
    chat.set([say("u2", "left")]);
    let _saved = chat.save().await.unwrap();
    let back = chat.restore("cp").await.unwrap();
    assert_eq!((back.branch.as_str(), back.head.unwrap().as_str()), ("main-v2", "a1"));
    chat.set([say("u3", "right")]);
    let _saved = chat.save().await.unwrap();
    assert_eq!(chat.checkpoint("cp").await.unwrap().message, "u3");
    assert_eq!(chat.restore("other").await.unwrap_err().kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn switching_reads_the_other_branch_and_reports_what_it_dropped() {
    let store = store().await;
    let mut chat = with_messages(&store, &["u1", "a1"]).await;
    let _moved = chat.rewind(&"u1".into()).await.unwrap();
    assert_eq!(chat.switch_branch("ghost").await.unwrap_err().kind(), ErrorKind::NotFound);
    chat.set([say("p1", "x")]);
    let moved = chat.switch_branch("main").await.unwrap();
    assert_eq!((moved.head.unwrap().as_str(), moved.dropped.len()), ("a1", 1));
    assert_eq!(engine(&store).await.branch(), &"main");
}

#[tokio::test]
async fn the_graph_holds_every_message_of_every_branch() {
    let store = store().await;
    let mut chat = with_messages(&store, &["u1", "a1"]).await;
    let _moved = chat.rewind(&"u1".into()).await.unwrap();
    chat.set([say("a9", "other")]);
    let _saved = chat.save().await.unwrap();
    let graph = chat.graph().await.unwrap();
    let parents: Vec<_> = graph
        .nodes
        .iter()
        .map(|p| (p.node.id.as_str(), p.parent.as_ref().map(|id| id.as_str()), p.depth))
        .collect();
    assert_eq!(parents, [("u1", None, 0), ("a1", Some("u1"), 1), ("a9", Some("u1"), 1)]);
    assert_eq!(
        graph.branches.iter().map(|b| (b.name.as_str(), b.length)).collect::<Vec<_>>(),
        [("main", 2), ("main-v2", 2)]
    );
}
