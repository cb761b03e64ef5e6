//! Context fragments: persisted ones are loaded once and come first.

use std::sync::Arc;

use context_runtime::{
    ChatRef, DiagnosticCode, ErrorKind, Fragment, FragmentContent, Metadata, Store, Timestamp,
    Uuid7Ids,
    fragments::{Encoded, FragmentKind},
    hint, role,
    store::StoredFragment,
};

use crate::kit::{builder, engine, say, store};

async fn prompt(store: &Arc<dyn Store>) -> String {
    engine(store).await.resolve().await.unwrap().system_prompt.to_string()
}

#[tokio::test]
async fn persisted_fragments_come_first_in_the_next_session() {
    let store = store().await;
    let mut chat = engine(&store).await;
    chat.set([hint("not kept"), role("kept").persisted(), say("u1", "x")]);
    let _saved = chat.save().await.unwrap();
    assert_eq!(prompt(&store).await, "<role>kept</role>");
    let mut next = engine(&store).await;
    next.set([hint("new")]);
    assert_eq!(next.resolve().await.unwrap().system_prompt, "<role>kept</role>\n<hint>new</hint>");
}

#[tokio::test]
async fn the_same_id_replaces_and_the_same_words_are_kept_once() {
    let store = store().await;
    for text in ["one", "two"] {
        let mut chat = builder(&store).ids(Uuid7Ids).open().await.unwrap();
        chat.set([hint(text).with_id("h").persisted(), role("R").persisted(), role("R")]);
        let _saved = chat.save().await.unwrap();
    }
    assert_eq!(prompt(&store).await, "<hint>two</hint>\n<role>R</role>");
    let stored = store.fragments().fragments(&ChatRef::new("ada", "c")).await.unwrap();
    assert_eq!(stored.len(), 2);
}

#[tokio::test]
async fn unset_forgets_pending_messages_and_fragments_also_persisted_ones() {
    let store = store().await;
    let mut chat = engine(&store).await;
    chat.set([hint("x").with_id("h").persisted(), say("u1", "q")]);
    let _saved = chat.save().await.unwrap();
    chat.set([say("u2", "never mind")]);
    assert!(chat.unset(&"u2".into()).await.unwrap());
    assert!(chat.unset(&"h".into()).await.unwrap());
    assert!(!chat.unset(&"h".into()).await.unwrap());
    assert_eq!(chat.pending().count(), 0);
    assert_eq!(prompt(&store).await, "");
}

#[tokio::test]
async fn an_unknown_kind_is_kept_and_reported_but_not_rendered() {
    let store = store().await;
    let mut chat = engine(&store).await;
    let body = Encoded::new("glossary", 9, &b"\x00\xff"[..]);
    let stored = StoredFragment { id: Some("g".into()), metadata: Metadata::default(), body };
    let at = Timestamp::default();
    store
        .fragments()
        .put_fragments(chat.chat_ref(), std::slice::from_ref(&stored), at)
        .await
        .unwrap();
    chat.set([hint("x").persisted(), say("u1", "q")]);
    let _saved = chat.save().await.unwrap();

    let mut next = engine(&store).await;
    let turn = next.resolve().await.unwrap();
    assert_eq!(turn.system_prompt, "<hint>x</hint>");
    assert_eq!(turn.diagnostics[0].code, DiagnosticCode::UnknownFragmentKind);
    assert_eq!(store.fragments().fragments(next.chat_ref()).await.unwrap()[0], stored);
}

#[tokio::test]
async fn a_message_fragment_without_a_message_is_refused_and_nothing_is_written() {
    let store = store().await;
    let mut chat = engine(&store).await;
    let data = FragmentContent::Data("raw".into());
    let raw = Fragment::from_content("user", FragmentKind::Message, data).with_id("r1");
    chat.set([say("u1", "fine"), raw]);
    assert_eq!(chat.resolve().await.unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(chat.save().await.unwrap_err().kind(), ErrorKind::Invalid);
    assert!(crate::kit::stored(&store, "main").await.is_empty());
    assert!(chat.unset(&"r1".into()).await.unwrap());
    let _saved = chat.save().await.unwrap();
    assert_eq!(crate::kit::stored(&store, "main").await, ["u1: fine"]);
}

#[tokio::test]
async fn a_tree_too_deep_for_its_stored_form_is_refused_before_anything_is_written() {
    let store = store().await;
    let mut chat = engine(&store).await;
    let deep = (0..200).fold(Fragment::new("leaf", 1), |inner, _| Fragment::new("level", inner));
    chat.set([deep.persisted(), say("u1", "x")]);
    let error = chat.save().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("120"), "{error}");
    assert!(crate::kit::stored(&store, "main").await.is_empty());
}
