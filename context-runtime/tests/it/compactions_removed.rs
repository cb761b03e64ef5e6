//! Content that is taken back, and boundaries that show it.

use context_runtime::store::{ChainEnd, StoredBoundary, Window};
use context_runtime::{Edits, SaveOutcome};

use crate::compactions::{KEEP_ENDS, compact, compacted};
use crate::kit::{builder, say, shown, store, stored, with_messages};

#[tokio::test]
async fn what_is_redacted_is_gone_from_boundaries_too() {
    let store = store().await;
    let mut engine = with_messages(&store, &["u1", "a1", "u2", "a2"]).await;
    let secret = |text: &str| format!("4242 {text}");
    engine.set([say("a1", &secret("card"))]);
    let _saved = engine.save_with(Edits::Amend).await.unwrap();
    let (short, so_far) = (secret("short"), secret("so far"));
    compact(
        &mut engine,
        &[(Some(0), None), (Some(1), Some(&short)), (Some(2), None), (Some(3), None)],
    )
    .await;
    compact(&mut engine, &[(None, Some(&so_far)), (Some(2), None), (Some(3), None)]).await;
    engine.undo_compaction().await.unwrap().unwrap();
    let _saved = engine.save().await.unwrap();
    engine.redo_compaction().await.unwrap().unwrap();
    let _saved = engine.save().await.unwrap();
    let mut other = builder(&store).open().await.unwrap();
    assert!(shown(&mut other).await[0].contains("4242"));

    engine.redact(&"a1".into()).await.unwrap();
    let now = shown(&mut engine).await;
    assert!(now[0].contains("was removed"), "{now:?}");
    assert_eq!(now[1..], ["u2: text u2", "a2: text a2"]);
    assert_eq!(shown(&mut other).await, now, "an engine that had read it");
    let first = engine.resolve().await.unwrap().messages[0].message().unwrap().clone();
    assert!(first.is_checkpoint() && first.is_synthetic(), "it is still what it was for");
    let graph = engine.graph().await.unwrap();
    for placed in &graph.nodes {
        let body = String::from_utf8_lossy(placed.node.body().bytes()).into_owned();
        assert!(!body.contains("4242"), "{body}");
        let id = &placed.node.id;
        let revisions = store.history().revisions(engine.chat_ref(), id).await.unwrap();
        assert!(!revisions.iter().any(|revision| format!("{revision:?}").contains("4242")));
    }
    // Messages shown unchanged do not depend on it.
    engine.undo_compaction().await.unwrap().unwrap();
    assert_eq!(
        shown(&mut engine).await,
        ["u1: text u1", "a1: [redacted]", "u2: text u2", "a2: text a2"]
    );
}

#[tokio::test]
async fn a_deleted_message_is_gone_behind_a_boundary_and_a_compaction_under_way_is_dropped() {
    let store = store().await;
    let mut engine = with_messages(&store, &["u1", "a1", "u2", "a2"]).await;
    compact(&mut engine, &[(Some(0), None), (Some(1), Some("short")), (Some(3), None)]).await;
    let turn = engine.resolve().await.unwrap();
    let history = &turn.messages;
    engine.compact(&turn, &compacted(history, &[(None, Some("all"))]), &[]).await.unwrap().unwrap();
    engine.delete_message(&"a1".into()).await.unwrap();
    let expected = ["u1: text u1", "a2: text a2"];
    assert_eq!(shown(&mut engine).await, expected);
    assert_eq!(engine.save().await.unwrap().outcome, SaveOutcome::Unchanged);
    assert_eq!(stored(&store, "main").await, expected);
}

#[tokio::test]
async fn a_redacted_boundary_cuts_nothing_any_more() {
    let store = store().await;
    let mut engine = with_messages(&store, &["u1", "a1", "u2", "a2"]).await;
    compact(&mut engine, KEEP_ENDS).await;
    let boundary = engine.compactions().await.unwrap()[0].id.clone();
    engine.redact(&boundary).await.unwrap();
    let resolved = engine.resolve().await.unwrap();
    assert_eq!((resolved.messages.len(), resolved.diagnostics), (4, vec![]));
}

#[tokio::test]
async fn a_read_of_what_follows_the_boundary_begins_with_it() {
    let store = store().await;
    let mut engine = with_messages(&store, &["u1", "a1", "u2", "a2"]).await;
    compact(&mut engine, KEEP_ENDS).await;
    engine.set([say("u3", "text u3")]);
    let _saved = engine.save().await.unwrap();
    let end = ChainEnd::Branch("main".into());
    let chain = store.history().chain(engine.chat_ref(), &end, &Window::Boundary).await.unwrap();
    assert_eq!((chain.len(), chain.skipped()), (2, 4));
    assert!(StoredBoundary::decode(chain[0].body()).is_ok());
}
