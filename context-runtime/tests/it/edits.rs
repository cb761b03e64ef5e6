//! Edits of stored messages: branches by default, amendments on request. The old branch never
//! changes.

use std::sync::Arc;

use context_runtime::{ContextEngine, Edits, SaveOutcome, Store};

use crate::kit::{say, shown, store, stored, with_messages};

const MAIN: [&str; 4] = ["u1: text u1", "a1: text a1", "u2: text u2", "a2: text a2"];

async fn chat() -> (Arc<dyn Store>, ContextEngine) {
    let store = store().await;
    let chat = with_messages(&store, &["u1", "a1", "u2", "a2"]).await;
    (store, chat)
}

/// Saves edits and checks the new branch, and that `main` is unchanged.
async fn check(edits: &[(&str, &str)], expected: &[&str]) {
    let (store, mut chat) = chat().await;
    chat.set(edits.iter().map(|(id, text)| say(id, text)));
    let saved = chat.save().await.unwrap();
    assert_eq!(saved.outcome, SaveOutcome::Edited { from: "main".into() });
    assert_eq!(saved.branch, "main-v2");
    assert_eq!(shown(&mut chat).await, expected);
    assert_eq!(stored(&store, "main-v2").await, expected);
    assert_eq!(stored(&store, "main").await, MAIN);
    assert_eq!(chat.chat().await.unwrap().active, "main-v2");
}

#[tokio::test]
async fn an_edit_makes_a_branch_at_its_parent_with_a_fresh_id() {
    check(&[("u2", "edited")], &["u1: text u1", "a1: text a1", "#1: edited"]).await;
}

#[tokio::test]
async fn an_edit_of_the_root_makes_a_new_root() {
    check(&[("u1", "edited")], &["#1: edited"]).await;
}

#[tokio::test]
async fn several_edits_in_one_save_make_one_branch_where_the_earliest_was() {
    check(&[("u2", "second"), ("a1", "first")], &["u1: text u1", "#1: second", "#2: first"]).await;
}

#[tokio::test]
async fn new_messages_go_with_the_edit_in_the_order_they_were_set() {
    check(
        &[("u9", "new"), ("u2", "edited"), ("a9", "newer")],
        &["u1: text u1", "a1: text a1", "u9: new", "#1: edited", "a9: newer"],
    )
    .await;
}

#[tokio::test]
async fn a_message_set_again_in_the_same_words_is_no_edit() {
    let (store, mut chat) = chat().await;
    chat.set([say("u2", "text u2")]);
    assert_eq!(chat.save().await.unwrap().outcome, SaveOutcome::Unchanged);
    chat.set([say("a2", "text a2"), say("u3", "next")]);
    let saved = chat.save().await.unwrap();
    assert_eq!((saved.branch.as_str(), saved.outcome), ("main", SaveOutcome::Saved));
    assert_eq!(stored(&store, "main").await[4], "u3: next");
}

#[tokio::test]
async fn amending_keeps_id_place_and_head_also_of_an_old_message() {
    let (store, mut chat) = chat().await;
    chat.set([say("a1", "fixed"), say("u3", "follow")]);
    let saved = chat.save_with(Edits::Amend).await.unwrap();
    assert_eq!(saved.head, Some("u3".into()));
    let expected = ["u1: text u1", "a1: fixed", "u2: text u2", "a2: text a2", "u3: follow"];
    assert_eq!(shown(&mut chat).await, expected);
    assert_eq!(stored(&store, "main").await, expected);
    let revisions = store.history().revisions(chat.chat_ref(), &"a1".into()).await.unwrap();
    assert_eq!(revisions[0].node.message().unwrap().plain_text(), "text a1");
}

#[tokio::test]
async fn an_id_of_another_chat_is_just_a_new_message() {
    let (store, _chat) = chat().await;
    let mut other = crate::kit::builder(&store).user("eve").chat("other").open().await.unwrap();
    other.set([say("u1", "mine")]);
    let _saved = other.save_with(Edits::Amend).await.unwrap();
    assert_eq!(shown(&mut other).await, ["u1: mine"]);
    assert_eq!(stored(&store, "main").await, MAIN);
}

#[tokio::test]
async fn an_edit_of_a_message_on_another_branch_goes_where_that_message_was() {
    let (store, mut chat) = chat().await;
    let _moved = chat.rewind(&"u1".into()).await.unwrap();
    chat.set([say("a2", "other end")]);
    let saved = chat.save().await.unwrap();
    assert_eq!(saved.branch, "main-v3");
    let expected = ["u1: text u1", "a1: text a1", "u2: text u2", "#3: other end"];
    assert_eq!(shown(&mut chat).await.len(), expected.len());
    assert_eq!(stored(&store, "main-v3").await[3].split(": ").nth(1), Some("other end"));
    assert_eq!(stored(&store, "main").await, MAIN);
}
