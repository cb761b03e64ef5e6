//! Transient messages: shown by the next prompts, never stored.

use context_runtime::compaction::{BoundaryKind, Edit, HistoryView, Plan};
use context_runtime::tokens::ModelTable;
use context_runtime::{SaveOutcome, last_assistant_message};

use crate::kit::{engine, say, shown, store, stored, with_messages};

#[tokio::test]
async fn a_transient_message_is_shown_where_it_was_set_until_the_next_save() {
    let store = store().await;
    let mut chat = with_messages(&store, &["u1", "a1"]).await;
    chat.set([
        say("u2", "the question"),
        say("note", "It is night in Lisbon.").transient(),
        say("u3", "another question"),
    ]);
    let expected = [
        "u1: text u1",
        "a1: text a1",
        "u2: the question",
        "note: It is night in Lisbon.",
        "u3: another question",
    ];
    for _ in 0..2 {
        assert_eq!(shown(&mut chat).await, expected, "each resolve shows it");
    }
    assert_eq!(chat.turn_count().await.unwrap(), 3, "it starts no turn");
    let saved = chat.save().await.unwrap();
    assert_eq!(saved.head, Some("u3".into()));
    let without = [expected[0], expected[1], expected[2], expected[4]];
    assert_eq!(shown(&mut chat).await, without);
    assert_eq!(stored(&store, "main").await, without);
    assert_eq!(chat.pending().count(), 0);
}

#[tokio::test]
async fn a_save_of_transient_messages_alone_changes_nothing_and_drops_them() {
    let store = store().await;
    let mut chat = with_messages(&store, &["u1"]).await;
    chat.set([say("note", "for one prompt").transient()]);
    assert_eq!(chat.pending().collect::<Vec<_>>(), ["note"]);
    assert_eq!(chat.head_message().await.unwrap().unwrap().id, "u1");
    assert_eq!(chat.save().await.unwrap().outcome, SaveOutcome::Unchanged);
    assert_eq!(shown(&mut chat).await, ["u1: text u1"]);
    assert_eq!(chat.graph().await.unwrap().nodes.len(), 1);
}

#[tokio::test]
async fn a_transient_message_can_be_unset_and_set_again_to_be_stored() {
    let store = store().await;
    let mut chat = engine(&store).await;
    chat.set([say("u1", "q"), say("u2", "a draft").transient()]);
    assert!(chat.unset(&"u2".into()).await.unwrap());
    assert_eq!(shown(&mut chat).await, ["u1: q"]);
    chat.set([say("u2", "a draft").transient()]).set([say("u2", "meant")]);
    let _saved = chat.save().await.unwrap();
    assert_eq!(stored(&store, "main").await, ["u1: q", "u2: meant"]);
}

#[tokio::test]
async fn with_the_id_of_a_stored_message_it_stands_in_for_it_and_edits_nothing() {
    let store = store().await;
    let mut chat = with_messages(&store, &["u1", "a1"]).await;
    chat.set([say("u1", "for this prompt").transient()]);
    assert_eq!(shown(&mut chat).await, ["u1: for this prompt", "a1: text a1"]);
    assert_eq!(chat.save().await.unwrap().outcome, SaveOutcome::Unchanged);
    assert_eq!(shown(&mut chat).await, ["u1: text u1", "a1: text a1"]);
    assert_eq!(chat.branches().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_lazy_message_replaces_no_transient_one_and_may_be_transient_itself() {
    let store = store().await;
    let mut chat = with_messages(&store, &["u1", "a1"]).await;
    chat.set([say("a-note", "only shown").transient(), last_assistant_message("corrected")]);
    assert_eq!(shown(&mut chat).await, ["u1: text u1", "a1: corrected", "a-note: only shown"]);
    let _saved = chat.save().await.unwrap();
    chat.set([last_assistant_message("for one prompt").transient()]);
    assert_eq!(shown(&mut chat).await, ["u1: text u1", "a1: for one prompt"]);
    let _saved = chat.save().await.unwrap();
    assert_eq!(stored(&store, "main").await, ["u1: text u1", "a1: corrected"]);
}

#[tokio::test]
async fn a_compaction_may_cut_a_transient_message_and_is_stored_without_it() {
    let store = store().await;
    let mut chat = with_messages(&store, &["u1", "a1", "u2", "a2"]).await;
    chat.set([say("note", "for one prompt").transient(), say("u3", "q")]);
    let turn = chat.resolve().await.unwrap();
    let messages = turn.request().messages;
    let counter = ModelTable::builtin().model("gpt-4o").counter();
    let view = HistoryView::new(&messages, &counter);
    // Removes `a1`, `u2`, `a2` and the note.
    let edits = vec![Edit::remove(1..5)];
    let plan = Plan::new("by hand", BoundaryKind::Snip, &view, edits, "4 messages").unwrap();
    let rewrite = plan.apply(&messages).unwrap();
    assert!(chat.compact(&turn, &rewrite, &[]).await.unwrap().is_some());
    let expected = ["u1: text u1", "note: for one prompt", "u3: q"];
    assert_eq!(shown(&mut chat).await, expected, "it is shown until the save");
    let _saved = chat.save().await.unwrap();
    assert_eq!(stored(&store, "main").await, ["u1: text u1", "u3: q"]);
    let bodies = chat.graph().await.unwrap().nodes;
    assert!(bodies.iter().all(|placed| {
        !String::from_utf8_lossy(placed.node.body().bytes()).contains("for one prompt")
    }));
}

#[tokio::test]
async fn a_capture_leaves_transient_messages_out() {
    let store = store().await;
    let mut chat = engine(&store).await;
    chat.set([say("u1", "q"), say("u2", "for one prompt").transient(), say("a1", "answer")]);
    let input = chat.resolve().await.unwrap().capture();
    assert!(input.nodes.iter().map(|node| node.id.as_str()).eq(["u1", "a1"]));
    assert_eq!(input.messages.len(), 2);
    let _saved = chat.save().await.unwrap();
}
