//! `last_assistant_message`: a defined result for every case.

use context_runtime::{Edits, SaveOutcome, last_assistant_message};

use crate::kit::{engine, say, shown, store, stored, with_messages};

#[tokio::test]
async fn a_pending_assistant_message_is_replaced_once_and_in_place() {
    let store = store().await;
    let mut chat = engine(&store).await;
    chat.set([
        say("u1", "q"),
        say("a1", "draft"),
        say("u2", "hm"),
        last_assistant_message("final"),
    ]);
    assert_eq!(shown(&mut chat).await, ["u1: q", "a1: final", "u2: hm"]);
    let _saved = chat.save().await.unwrap();
    assert_eq!(stored(&store, "main").await, ["u1: q", "a1: final", "u2: hm"]);
    assert_eq!(chat.pending().count(), 0);
}

#[tokio::test]
async fn the_newest_stored_one_is_amended_in_place_also_behind_a_newer_user_message() {
    let store = store().await;
    let mut chat = with_messages(&store, &["u1", "a1", "u2"]).await;
    chat.set([last_assistant_message("late fix")]);
    let expected = ["u1: text u1", "a1: late fix", "u2: text u2"];
    assert_eq!(shown(&mut chat).await, expected);
    let saved = chat.save().await.unwrap();
    assert_eq!((saved.head, saved.outcome), (Some("u2".into()), SaveOutcome::Saved));
    assert_eq!(shown(&mut chat).await, expected);
    assert_eq!(stored(&store, "main").await, expected);
    assert_eq!(store.history().branches(chat.chat_ref()).await.unwrap().len(), 1);
}

#[tokio::test]
async fn without_any_it_is_a_new_message_and_keeps_the_id_it_was_shown_with() {
    let store = store().await;
    let mut chat = engine(&store).await;
    chat.set([say("u1", "q"), last_assistant_message("first answer")]);
    let before = shown(&mut chat).await;
    let saved = chat.save().await.unwrap();
    assert_eq!(saved.head, Some("#1".into()));
    assert_eq!(stored(&store, "main").await, before);
}

#[tokio::test]
async fn of_two_in_one_save_the_last_wins() {
    let store = store().await;
    let mut chat = engine(&store).await;
    chat.set([say("u1", "q"), last_assistant_message("one"), last_assistant_message("two")]);
    let _saved = chat.save().await.unwrap();
    assert_eq!(stored(&store, "main").await, ["u1: q", "#2: two"]);
}

#[tokio::test]
async fn with_branching_asked_for_it_is_an_edit() {
    let store = store().await;
    let mut chat = with_messages(&store, &["u1", "a1"]).await;
    chat.set([last_assistant_message("corrected")]);
    let saved = chat.save_with(Edits::Branch).await.unwrap();
    assert_eq!(saved.outcome, SaveOutcome::Edited { from: "main".into() });
    assert_eq!(stored(&store, "main-v2").await[1].split(": ").nth(1), Some("corrected"));
    assert_eq!(stored(&store, "main").await, ["u1: text u1", "a1: text a1"]);
}
