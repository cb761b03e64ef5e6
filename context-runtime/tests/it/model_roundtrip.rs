//! From an engine to a provider's body, and from its answer back into the chat.

use context_runtime::fragments::Encoded;
use context_runtime::{
    Fragment, Json, Message, PROVIDERS, Part, Role, assistant, message_codec,
    model::{CacheMarks, ModelRequest},
    provider, role, user,
};
use serde_json::{Value, json};

use crate::kit::{engine, say, store, stored};

/// Returns the conversation in a body.
fn conversation(body: &Json) -> Vec<Value> {
    let body: Value = body.parse().unwrap();
    let list = ["messages", "input", "contents"].iter().find_map(|key| body.get(*key));
    list.unwrap_or(&body).as_array().unwrap().clone()
}

fn call(id: &str) -> Message {
    Message::new(
        Role::Assistant,
        [Part::tool_call(id, "look", Json::from_text(r#"{"at":"x"}"#).unwrap())],
    )
}

fn result(id: &str) -> Message {
    Message::new(Role::Tool, [Part::tool_result(id, "seen")])
}

#[tokio::test]
async fn a_resolve_becomes_a_body_in_any_form() {
    let store = store().await;
    let mut chat = engine(&store).await;
    chat.set([
        role("You book trips."),
        user("Two tickets to Lisbon."),
        assistant("Window or aisle?"),
        user("Aisle."),
    ]);
    let turn = chat.resolve().await.unwrap();
    for name in PROVIDERS.iter().copied().chain(["uimessage"]) {
        let codec = message_codec(name).unwrap();
        let lowered = turn.lower(&*codec).unwrap();
        let text = lowered.body.as_str();
        for said in ["<role>You book trips.</role>", "Two tickets", "Window or aisle?", "Aisle."] {
            assert!(text.contains(said), "{name}: {text}");
        }
        assert!(lowered.diagnostics.is_empty(), "{name}: {:?}", lowered.diagnostics);
        assert!(conversation(&lowered.body).len() >= 3, "{name}: {text}");
    }
    assert!(provider("uimessage").is_err());
}

/// A text is copied from the stored body into the one that is sent. What another program spelled in
/// another way must not make another request, which the prompt cache would miss.
#[test]
fn a_text_is_sent_alike_however_its_stored_body_spells_it() {
    let text = "caf\u{e9} / \"q\"\n\t\u{1b}[0m \\ \u{1f600}";
    let written = serde_json::to_string(text).unwrap();
    let spellings = [
        written.as_str(),
        r#""caf\u00e9 \/ \u0022q\u0022\u000a\u0009\u001b[0m \u005c \ud83d\ude00""#,
        r#""caf\u00E9 / \"q\"\n\t\u001B[0m \\ \uD83D\uDE00""#,
    ];
    for name in PROVIDERS.iter().copied().chain(["uimessage"]) {
        let codec = message_codec(name).unwrap();
        let made = codec.lower(&ModelRequest::new([Message::from(text)])).unwrap().body;
        assert!(made.as_str().contains(&written), "{name}: {made}");
        for spelling in spellings {
            let body =
                format!(r#"{{"role":"user","parts":[{{"type":"text","text":{spelling}}}]}}"#);
            let stored = Encoded::new(Message::KIND, Message::VERSION, body.into_bytes());
            let read = Message::decode(&stored).unwrap();
            assert_eq!(read, Message::from(text), "{spelling}");
            let sent = codec.lower(&ModelRequest::new([read])).unwrap().body;
            assert_eq!(sent, made, "{name}: {spelling}");
        }
    }
}

#[tokio::test]
async fn an_interrupted_call_is_repaired_on_the_way_out_and_not_in_the_store() {
    let store = store().await;
    let mut chat = engine(&store).await;
    chat.set([say("u1", "look"), Fragment::from(call("c1")).with_id("a1"), say("u2", "stop")]);
    let _saved = chat.save().await.unwrap();
    let turn = chat.resolve().await.unwrap();
    for name in PROVIDERS {
        let lowered = turn.lower(&*provider(name).unwrap()).unwrap();
        let codes: Vec<_> = lowered.diagnostics.iter().map(|said| said.code.as_str()).collect();
        assert!(codes.contains(&"tool_result_injected"), "{name}: {codes:?}");
        assert!(lowered.body.as_str().contains("no result"), "{name}: {}", lowered.body);
    }
    assert_eq!(stored(&store, "main").await.len(), 3);
}

#[tokio::test]
async fn an_answer_goes_back_into_the_chat() {
    let answers = [
        (
            "openai",
            json!({"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hello!"}}]}),
        ),
        (
            "openai-responses",
            json!({"status": "completed", "output": [{"type": "message", "id": "msg_1", "role": "assistant",
            "status": "completed", "content": [{"type": "output_text", "text": "Hello!", "annotations": []}]}]}),
        ),
        (
            "anthropic",
            json!({"type": "message", "role": "assistant", "content": [{"type": "text", "text": "Hello!"}], "stop_reason": "end_turn"}),
        ),
        (
            "gemini",
            json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "Hello!"}]}, "finishReason": "STOP"}]}),
        ),
    ];
    for (name, body) in answers {
        let (store, codec) = (store().await, provider(name).unwrap());
        let mut chat = engine(&store).await;
        chat.set([user("Hi.")]);
        let answer = codec.lift_answer(&body.into()).unwrap();
        assert!(answer.complete && answer.error.is_none(), "{name}: {answer:?}");
        assert_eq!(answer.message.plain_text(), "Hello!", "{name}");
        chat.set([Fragment::from(answer.message)]);
        let _saved = chat.save().await.unwrap();
        chat.set([user("And?")]);
        let lowered = chat.resolve().await.unwrap().lower(&*codec).unwrap();
        assert_eq!(conversation(&lowered.body).len(), 3, "{name}: {}", lowered.body);
    }
}

/// A provider's prompt cache lasts as long as the beginning of a body stays the same.
#[tokio::test]
async fn what_was_sent_stays_as_a_conversation_grows() {
    let history = [
        Message::text(Role::System, "Be brief."),
        Message::from("q"),
        call("c"),
        result("c"),
        Message::text(Role::Assistant, "a"),
        Message::from("r"),
        // A repeated id is made unique, and stays so.
        call("c"),
        result("c"),
        Message::text(Role::Assistant, "b"),
        Message::from("s"),
    ];
    for name in PROVIDERS {
        let codec = provider(name).unwrap();
        let mut before: Vec<Value> = Vec::new();
        for ends in [2, 4, 6, 8, 10] {
            let request =
                ModelRequest::new(history[..ends].iter().cloned()).cache(CacheMarks::Existing);
            let body = codec.lower(&request).unwrap().body;
            assert_eq!(codec.lower(&request).unwrap().body, body);
            let list = conversation(&body);
            assert_eq!(list[..before.len()], before[..], "{name} at {ends}");
            before = list;
        }
    }
}

#[cfg(feature = "sqlite")]
#[tokio::test]
async fn a_history_that_was_stored_gives_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("a.db").display());
    let messages = || {
        let all = [
            Message::from("q"),
            call("c"),
            result("c"),
            Message::text(Role::Assistant, "a"),
            Message::from("r"),
        ];
        all.into_iter().map(Fragment::from)
    };
    let builder = |store| context_runtime::ContextEngine::builder(store).user("u").chat("c");
    let mut chat = builder(context_runtime::open(&url).await.unwrap()).open().await.unwrap();
    chat.set(messages());
    let pending = chat.resolve().await.unwrap().request();
    let _saved = chat.save().await.unwrap();
    let stored = builder(context_runtime::open(&url).await.unwrap())
        .open()
        .await
        .unwrap()
        .resolve()
        .await
        .unwrap();
    let stored = stored.request();
    assert_eq!(
        pending.messages.iter().map(|message| message.hash()).collect::<Vec<_>>(),
        stored.messages.iter().map(|message| message.hash()).collect::<Vec<_>>()
    );
    for name in PROVIDERS {
        let codec = provider(name).unwrap();
        assert_eq!(
            codec.lower(&pending).unwrap().body,
            codec.lower(&stored).unwrap().body,
            "{name}"
        );
    }
}
