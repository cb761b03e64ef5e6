//! Redacting and deleting messages, renaming, deleting and comparing branches, and cherry-picks.

use context_runtime::{BranchName, ErrorKind, Fragment, Message, MessageId, Part, Role, user};
use serde_json::json;

use crate::kit::{builder, say, shown, store, stored, with_messages};

#[tokio::test]
async fn what_is_redacted_is_gone_and_its_place_is_not() {
    let store = store().await;
    let mut engine = with_messages(&store, &["u1", "a1", "u2"]).await;
    let mut other = builder(&store).open().await.unwrap();
    assert_eq!(shown(&mut other).await, ["u1: text u1", "a1: text a1", "u2: text u2"]);
    engine.redact(&"u1".into()).await.unwrap();
    engine.delete_message(&"a1".into()).await.unwrap();
    let expected = ["u1: [redacted]", "u2: text u2"];
    assert_eq!(shown(&mut engine).await, expected);
    assert_eq!(shown(&mut other).await, expected, "an engine that had read it");
    assert_eq!(stored(&store, "main").await, expected);
    assert!(!format!("{:?}", engine.graph().await.unwrap()).contains("text u1"));
    let error = engine.redact(&"ghost".into()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn branches_are_renamed_compared_and_deleted() {
    let store = store().await;
    let mut engine = with_messages(&store, &["u1", "a1", "u2"]).await;
    let forked = engine.rewind(&"a1".into()).await.unwrap().branch;
    engine.set([say("u3", "other")]);
    let _saved = engine.save().await.unwrap();
    let (main, plan) = (BranchName::main(), BranchName::from("plan"));
    engine.rename_branch(&forked, plan.clone()).await.unwrap();
    assert_eq!(engine.branch(), &plan);
    let diff = engine.diff(&main, &plan).await.unwrap();
    assert_eq!((diff.common, diff.at), (2, Some("a1".into())));
    assert_eq!((diff.left.head(), diff.right.head()), (Some(&"u2".into()), Some(&"u3".into())));
    assert_eq!(engine.delete_branch(&plan).await.unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(engine.delete_branch(&main).await.unwrap(), 1);
    engine.set([say("u4", "on")]);
    let _saved = engine.save().await.unwrap();
    assert_eq!(stored(&store, "plan").await, ["u1: text u1", "a1: text a1", "u3: other", "u4: on"]);
}

#[tokio::test]
async fn picked_messages_are_copied_with_ids_of_their_own() {
    let store = store().await;
    let mut engine = with_messages(&store, &["u1", "a1"]).await;
    let side = engine.fork_here().await.unwrap().branch;
    let call = Message::new(Role::Assistant, [Part::tool_call("c1", "book", json!({}))]);
    engine.set([user("more").with_id("u2"), Fragment::from(call).with_id("a2")]);
    let _saved = engine.save().await.unwrap();
    let picked: Vec<MessageId> = vec!["u2".into(), "a2".into()];
    let done = engine.cherry_pick(&picked, side.clone()).await.unwrap();
    assert_eq!(
        done.copies.iter().map(|(from, _)| from).collect::<Vec<_>>(),
        picked.iter().collect::<Vec<_>>()
    );
    assert_eq!(done.diagnostics.len(), 1, "{:?}", done.diagnostics);
    let texts: Vec<_> = stored(&store, side.as_str()).await;
    assert_eq!(texts.len(), 4);
    assert!(texts[2].ends_with(": more"));
    assert_eq!(
        engine.cherry_pick(&picked, "nowhere").await.unwrap_err().kind(),
        ErrorKind::NotFound
    );
    assert_eq!(
        engine.cherry_pick(&["ghost".into()], side).await.unwrap_err().kind(),
        ErrorKind::NotFound
    );
}
