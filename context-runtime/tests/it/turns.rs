//! Turns: set, resolve, save, count, continue.

use context_runtime::{
    Edits, ErrorKind, Json, Metadata, SaveOutcome, assistant, role,
    store::{ChatPatch, TitleChange},
    user,
};

use crate::kit::{builder, engine, say, shown, store, stored, with_messages};

#[tokio::test]
async fn resolve_shows_pending_messages_and_writes_nothing() {
    let store = store().await;
    let mut chat = with_messages(&store, &["u1", "a1"]).await;
    chat.set([role("Guide"), say("u2", "next")]);
    let turn = chat.resolve().await.unwrap();
    assert_eq!(turn.system_prompt, "<role>Guide</role>");
    assert_eq!(turn.messages.len(), 3);
    assert_eq!(stored(&store, "main").await, ["u1: text u1", "a1: text a1"]);
}

#[tokio::test]
async fn a_save_with_nothing_pending_changes_nothing() {
    let store = store().await;
    let mut chat = engine(&store).await;
    let saved = chat.save().await.unwrap();
    assert_eq!((saved.head, saved.outcome), (None, SaveOutcome::Unchanged));
    chat.set([say("u1", "x")]);
    assert_eq!(chat.save().await.unwrap().outcome, SaveOutcome::Saved);
    assert_eq!(chat.save().await.unwrap().outcome, SaveOutcome::Unchanged);
    assert_eq!(chat.pending().count(), 0);
}

#[tokio::test]
async fn messages_without_an_id_get_one_that_resolve_and_save_agree_on() {
    let store = store().await;
    let mut chat = engine(&store).await;
    chat.set([user("hello")]);
    let shown = chat.resolve().await.unwrap().messages[0].id.clone();
    assert_eq!(chat.save().await.unwrap().head, Some(shown));
}

#[tokio::test]
async fn the_same_id_twice_in_one_save_is_one_message_with_the_last_text() {
    let store = store().await;
    let mut chat = engine(&store).await;
    chat.set([say("d1", "first"), say("a1", "between"), say("d1", "second")]);
    let _saved = chat.save().await.unwrap();
    assert_eq!(stored(&store, "main").await, ["d1: second", "a1: between"]);
}

#[tokio::test]
async fn turns_count_user_messages_stored_and_pending() {
    let store = store().await;
    let mut chat = with_messages(&store, &["u1", "a1"]).await;
    chat.set([say("u2", "next"), say("u1", "an edit is no new turn")]);
    assert_eq!(chat.turn_count().await.unwrap(), 2);
    assert_eq!(chat.first_user_message().await.unwrap().unwrap().id, "u1");
    assert_eq!(chat.head_message().await.unwrap().unwrap().id, "u1");
    assert_eq!(engine(&store).await.turn_count().await.unwrap(), 1);
}

#[tokio::test]
async fn a_turn_continues_with_a_placeholder_that_is_hidden_until_it_is_filled() {
    let store = store().await;
    let mut chat = engine(&store).await;
    let answer = chat.continue_turn(say("u1", "hello")).await.unwrap();
    assert_eq!(chat.head_message().await.unwrap().unwrap().id, answer);
    assert_eq!(shown(&mut chat).await, ["u1: hello"]);

    let second = chat.continue_turn(say("u2", "again")).await.unwrap();
    assert_eq!(shown(&mut chat).await, ["u1: hello", "u2: again"]);
    chat.continue_turn(assistant("late").with_id(answer.clone())).await.unwrap();
    let expected = ["u1: hello".to_owned(), format!("{answer}: late"), "u2: again".to_owned()];
    assert_eq!(shown(&mut chat).await, expected);
    assert_eq!(stored(&store, "main").await, expected);
    assert_eq!(chat.head_message().await.unwrap().unwrap().id, second);

    let error = chat.continue_turn(assistant("whose?")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
}

#[tokio::test]
async fn an_answer_set_for_a_placeholder_is_shown_in_its_place_before_it_is_saved() {
    let store = store().await;
    let mut chat = engine(&store).await;
    let answer = chat.continue_turn(say("u1", "hello")).await.unwrap();
    let _second = chat.continue_turn(say("u2", "again")).await.unwrap();
    chat.set([assistant("late").with_id(answer)]);
    let turn = chat.resolve().await.unwrap();
    assert_eq!(turn.messages.iter().map(|n| n.id.as_str()).collect::<Vec<_>>(), ["u1", "#1", "u2"]);
    let _saved = chat.save_with(Edits::Amend).await.unwrap();
    assert_eq!(shown(&mut chat).await, ["u1: hello", "#1: late", "u2: again"]);
}

#[tokio::test]
async fn chats_are_updated_and_usage_adds_up_with_any_number_of_engines() {
    let store = store().await;
    let (mut one, mut two) = (engine(&store).await, engine(&store).await);
    let usage = |text: &str| Json::from_text(text).unwrap();
    let _first = one.track_usage(usage(r#"{"input":10,"output":2}"#)).await.unwrap();
    let sum = two.track_usage(usage(r#"{"input":5,"details":{"cached":4}}"#)).await.unwrap();
    assert_eq!(sum.as_str(), r#"{"input":15,"output":2,"details":{"cached":4}}"#);
    let patch = ChatPatch { title: TitleChange::Set("T".into()), ..ChatPatch::default() };
    assert_eq!(one.update_chat(&patch).await.unwrap().title.as_deref(), Some("T"));
    assert_eq!(two.chat().await.unwrap().metadata.get("usage"), Some(&sum));
}

#[tokio::test]
async fn metadata_of_the_builder_is_merged_and_new_values_win() {
    let store = store().await;
    let open = |metadata: Metadata| builder(&store).metadata(metadata).open();
    let _first = open(Metadata::default().with("a", 1).with("keep", 2)).await.unwrap();
    let second = open(Metadata::default().with("a", 3)).await.unwrap();
    let expected = Metadata::default().with("a", 3).with("keep", 2);
    assert_eq!(second.chat().await.unwrap().metadata, expected);
}

#[tokio::test]
async fn what_cannot_be_opened_is_refused_with_the_reason() {
    let store = store().await;
    let kind = |result: context_runtime::Result<_>| result.err().map(|error| error.kind());
    assert_eq!(kind(builder(&store).user("").open().await), Some(ErrorKind::Invalid));
    assert_eq!(kind(builder(&store).chat("").open().await), Some(ErrorKind::Invalid));
    assert_eq!(kind(builder(&store).existing().open().await), Some(ErrorKind::NotFound));
    let _mine = engine(&store).await;
    let other = builder(&store).user("eve").existing().open().await;
    assert_eq!(kind(other), Some(ErrorKind::NotFound));
    let mut missing = builder(&store).branch("nowhere").open().await.unwrap();
    assert_eq!(missing.resolve().await.unwrap_err().kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn a_chat_that_is_deleted_under_an_engine_is_not_found() {
    let store = store().await;
    let mut chat = with_messages(&store, &["u1"]).await;
    assert!(store.history().delete_chat(chat.chat_ref(), None).await.unwrap());
    chat.set([say("u2", "ghost")]);
    assert_eq!(chat.save().await.unwrap_err().kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn stores_are_opened_by_url_and_unknown_ones_name_the_known() {
    let error = context_runtime::open("tape:x").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.get("known").unwrap().contains("mem"));
    assert_eq!(context_runtime::open("no-url").await.unwrap_err().kind(), ErrorKind::Invalid);
}
