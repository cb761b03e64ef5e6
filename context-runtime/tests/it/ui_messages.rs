//! UIMessages of a page in a chat: their ids are those of the messages.

use context_runtime::uimessage::ui;
use context_runtime::{DiagnosticCode, Json, SaveOutcome, message_codec};
use serde_json::{Value, json};

use crate::kit::{builder, engine, shown, store, stored};

fn text(id: &str, role: &str, text: &str) -> Value {
    json!({"id": id, "role": role, "parts": [{"type": "text", "text": text}]})
}

/// An answer of two steps.
fn steps(id: &str) -> Value {
    json!({"id": id, "role": "assistant", "parts": [
        {"type": "step-start"},
        {"type": "tool-weather", "toolCallId": "c1", "state": "output-available", "input": {}, "output": "21"},
        {"type": "step-start"},
        {"type": "text", "text": "21 degrees.", "state": "done"},
    ]})
}

fn fragments(page: &Value) -> ui::UiFragments {
    ui::fragments(&Json::from(page.clone())).unwrap()
}

#[tokio::test]
async fn the_ids_of_a_page_are_the_ids_of_the_messages_and_come_back() {
    let store = store().await;
    let mut chat = engine(&store).await;
    let page =
        json!([text("m1", "user", "The weather?"), steps("m2"), text("m3", "user", "Thanks.")]);
    let lifted = fragments(&page);
    assert!(lifted.diagnostics.is_empty());
    chat.set(lifted.fragments).save().await.unwrap();
    let messages = chat.resolve().await.unwrap().messages;
    let ids: Vec<_> = messages.iter().map(|node| node.id.as_str()).collect();
    assert_eq!(ids, ["m1", "m2", "m2/2", "m2/3", "m3"]);
    let codec = message_codec("uimessage").unwrap();
    let lowered = codec.lower_source(&chat.resolve().await.unwrap().request()).body;
    assert_eq!(lowered.parse::<Value>().unwrap(), page);

    // The whole page again changes nothing. A new message is added alone.
    let saved = chat.set(fragments(&page).fragments).save().await.unwrap();
    assert_eq!(saved.outcome, SaveOutcome::Unchanged);
    let mut longer = page.as_array().unwrap().clone();
    longer.push(text("m4", "user", "And tomorrow?"));
    let saved = chat.set(fragments(&longer.into()).fragments).save().await.unwrap();
    assert_eq!((saved.outcome, saved.branch.as_str()), (SaveOutcome::Saved, "main"));
    assert_eq!(shown(&mut chat).await.len(), 6);
    // The page goes back to its first message by id.
    assert_eq!(chat.rewind(&"m1".into()).await.unwrap().head, Some("m1".into()));
}

#[tokio::test]
async fn an_id_that_the_chat_has_with_another_content_is_an_edit() {
    let store = store().await;
    let mut chat = engine(&store).await;
    chat.set(fragments(&text("m1", "user", "Lisbon?")).fragments).save().await.unwrap();
    let edited = text("m1", "user", "Porto?");
    let saved = chat.set(fragments(&edited).fragments).save().await.unwrap();
    assert_eq!(saved.outcome, SaveOutcome::Edited { from: "main".into() });
    assert_eq!(stored(&store, "main").await, ["m1: Lisbon?"]);
    assert_eq!(shown(&mut chat).await, ["#1: Porto?"]);
    // The page still finds its message.
    let codec = message_codec("uimessage").unwrap();
    let lowered = codec.lower(&chat.resolve().await.unwrap().request()).unwrap().body;
    assert_eq!(lowered.parse::<Value>().unwrap(), json!([edited]));
}

#[tokio::test]
async fn an_id_that_cannot_be_kept_is_replaced_and_reported() {
    let store = store().await;
    let mut chat = builder(&store).open().await.unwrap();
    let page = json!({"messages": [
        text("m1", "user", "one"),
        text("m1", "user", "two"),
        text("", "user", "three"),
        text(&"x".repeat(2000), "user", "four"),
        {"role": "user", "parts": [{"type": "text", "text": "five"}]},
        {"id": 6, "role": "user", "parts": [{"type": "text", "text": "six"}]},
        text("m1/2", "user", "seven"),
    ]});
    let lifted = fragments(&page);
    let codes: Vec<_> = lifted.diagnostics.iter().map(|diagnostic| diagnostic.code).collect();
    let broken = DiagnosticCode::BrokenInput;
    assert_eq!(codes, [DiagnosticCode::DuplicateName, broken, broken, broken]);
    assert_eq!(lifted.diagnostics[0].path, "fragments[1]");
    chat.set(lifted.fragments).save().await.unwrap();
    let expected =
        ["m1: one", "#1: two", "#2: three", "#3: four", "#4: five", "#5: six", "m1/2: seven"];
    assert_eq!(shown(&mut chat).await, expected);
    // A step does not take the id of another message.
    let page = json!([text("m2/2", "user", "x"), steps("m2")]);
    let lifted = fragments(&page);
    assert_eq!(lifted.diagnostics.len(), 1);
    let ids: Vec<_> = lifted.fragments.iter().map(|fragment| fragment.id().is_some()).collect();
    assert_eq!(ids, [true, true, false, false]);
}

#[test]
fn what_is_no_ui_message_is_refused() {
    for page in [json!("text"), json!([1]), json!({"role": "robot", "parts": []}), json!({})] {
        assert!(ui::fragments(&Json::from(page.clone())).is_err(), "{page}");
    }
}
