//! `inspect` returns what an engine holds and would send, and leaves no trace.

use std::convert::Infallible;

use context_runtime::instructions::{Predicate, reminder};
use context_runtime::{
    ChangeKind, ContextEngine, Fragment, Store, assistant, hint, lazy, role, user,
};
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::kit::{engine, say, store, texts};

/// Returns an engine with something of everything.
async fn busy(store: &std::sync::Arc<dyn Store>) -> ContextEngine {
    let mut engine = engine(store).await;
    engine.set([say("u1", "Two tickets."), say("a1", "Window or aisle?")]).save().await.unwrap();
    engine.checkpoint("asked").await.unwrap();
    engine.fork_here().await.unwrap();
    let weather = lazy(|| async { Ok::<_, Infallible>("18 °C") });
    engine.set([
        role("You book trips."),
        hint("Prices are in EUR.").persisted().with_id("prices"),
        Fragment::new("weather", weather).untrusted(),
        say("u1", "Three tickets.\u{202e}"),
        say("u2", "The aisle."),
        user("Today is Monday.").with_id("u3").transient(),
    ]);
    engine.remind([
        reminder("Cite sources.").build().unwrap(),
        reminder("Stop.").when(Predicate::after_turn(9)).build().unwrap(),
    ]);
    engine
}

#[tokio::test]
async fn an_inspection_shows_what_an_engine_holds_and_would_send() {
    let store = store().await;
    let inspection = busy(&store).await.inspect().await.unwrap();
    assert_snapshot!(inspection, @r#"
    chat c of ada
    on main: 2 stored messages, 2 turns
    fragments:
      role
      hint prices (persisted, unsaved)
      weather (lazy, untrusted)
    system prompt:
      <role>You book trips.</role>
      <hint>Prices are in EUR.</hint>
      <weather untrusted="true">18 °C</weather>
    messages:
      u1  user  Three tickets.\u202e (pending)
      a1  assistant  Window or aisle?
      u2  user  The aisle. (pending)
      u3  user  Today is Monday. (transient)
    pending:
      u1  user  Three tickets.\u202e (pending)
      u2  user  The aisle. (pending)
      u3  user  Today is Monday. (transient)
    reminders:
      user  Cite sources. (due)
      user  Stop.
    branches:
      main* a1
      main-v2 a1
    checkpoints:
      asked a1
    "#);
    let json = serde_json::to_value(&inspection).unwrap();
    assert_eq!(
        [&json["user"], &json["head"], &json["turns"]],
        [&Value::Null, &json!("a1"), &json!(2)]
    );
    assert_eq!(
        json["fragments"][1],
        json!({"name": "hint", "id": "prices", "kind": "hint", "persisted": true, "unsaved": true,
            "lazy": false, "untrusted": false})
    );
    assert_eq!(
        json["pending"][1],
        json!({"id": "u2", "role": "user", "preview": "The aisle.", "pending": true,
            "transient": false})
    );
    assert_eq!(
        json["reminders"][0],
        json!({"text": "Cite sources.", "target": "user", "due": true})
    );
}

#[tokio::test]
async fn an_inspection_leaves_no_trace() {
    let store = store().await;
    let mut engine = busy(&store).await;
    let before = engine.graph().await.unwrap();
    let inspection = engine.inspect().await.unwrap();
    assert_eq!(engine.graph().await.unwrap(), before);
    assert!(store.fragments().fragments(engine.chat_ref()).await.unwrap().is_empty());
    // The next resolve reports everything that is new since the last one, and shows the same.
    let turn = engine.resolve().await.unwrap();
    assert!(turn.changes.fragments.iter().all(|change| change.kind == ChangeKind::Added));
    assert_eq!(turn.changes.fragments.len(), 3);
    assert_eq!(turn.system_prompt, inspection.system_prompt);
    let ids: Vec<_> = inspection.messages.iter().map(|message| message.id.as_str()).collect();
    assert_eq!(texts(&turn.messages).iter().map(|text| &text[..2]).collect::<Vec<_>>(), ids);
    // Nothing was taken from the source of ids, and the reminder is still due.
    engine.set([assistant("Booked.")]);
    assert_eq!(engine.inspect().await.unwrap().pending[3].id, engine.pending().last().unwrap());
    engine.unset(&"u1".into()).await.unwrap();
    engine.save().await.unwrap();
    let saved = engine.inspect().await.unwrap();
    assert!(saved.pending.is_empty() && !saved.fragments[1].unsaved);
    assert_eq!((saved.stored_messages, saved.turns), (4, 2));
}
