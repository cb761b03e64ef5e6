//! Turns, step by step, each by a process of its own.

use context_runtime::model::ModelRequest;
use context_runtime::provider;
use context_runtime::tokens::ModelCounter;
use context_server::{Operations, Service};
use context_simulator::{AnswerPiece, Simulator};
use serde_json::{Value, json};
use std::sync::Arc;

use super::{Api, tokens};

const MODEL: &str = "claude-sonnet-4-5";

fn simulator() -> Simulator {
    let counter = Arc::new(ModelCounter::for_model(MODEL));
    let says = |request: &ModelRequest| {
        let results = request.messages.iter().flat_map(|message| message.tool_results()).count();
        match results {
            0 => vec![
                AnswerPiece::text("I look."),
                AnswerPiece::call("weather", json!({"city": "Lisbon"})),
                AnswerPiece::call("weather", json!({"city": "Porto"})),
            ],
            _ => vec![AnswerPiece::text(format!("{results} cities."))],
        }
    };
    Simulator::new(provider("anthropic").unwrap(), counter)
        .window(200_000)
        .model(MODEL)
        .behaviour(says)
}

fn settings() -> Value {
    let tool = json!({"name": "weather", "description": "Tells the weather.",
        "input_schema": {"type": "object"}});
    json!({"model": MODEL, "system": "You know the weather.", "tools": [tool]})
}

/// Another process over the same store.
fn another(api: &Api) -> Api {
    let store = Arc::clone(&api.store);
    let service = Service::new(Operations::new(Arc::clone(&store))).tokens(tokens());
    Api { store, router: service.router() }
}

fn reply(model: &Simulator, step: &Value) -> Value {
    assert_eq!(step["state"], "call", "{step}");
    let reply = model.send(&step["request"]["body"].to_string());
    let body: Value = serde_json::from_str(&reply.to_text()).unwrap();
    json!({"status": reply.status, "body": body})
}

#[tokio::test]
async fn every_step_may_reach_another_process_and_may_be_repeated() {
    let mut api = Api::new().await;
    let model = simulator();
    let begin = json!({"settings": settings(), "question": "Weather?", "id": "q-1"});
    let asked = api.post("/v1/chats/trip/turns", begin.clone()).await.ok();
    assert_eq!(asked["turn"], "q-1");
    assert_eq!(asked["request"]["provider"], "anthropic");
    assert!(asked["request"]["tokens"].as_u64().unwrap() > 10);
    // The answer to the first step was lost: the same question is not asked twice.
    api = another(&api);
    let again = api.post("/v1/chats/trip/turns", begin).await.ok();
    assert_eq!(again["request"], asked["request"]);

    api = another(&api);
    let path = "/v1/chats/trip/turns/q-1";
    let answered = json!({"settings": settings(), "replies": [reply(&model, &asked)]});
    let tools = api.post(path, answered.clone()).await.ok();
    assert_eq!(tools["state"], "tools");
    assert_eq!(tools["calls"][0]["name"], "weather");
    assert_eq!(tools["calls"][0]["arguments"], r#"{"city":"Lisbon"}"#);
    assert!(tools["usage"]["input_tokens"].as_u64().unwrap() > 0);
    let again = another(&api).post(path, answered).await.ok();
    assert_eq!(again["calls"], tools["calls"], "a repeated reply is not stored twice");

    // One tool is done before the other.
    api = another(&api);
    let result = |at: usize, text: &str| json!({"call_id": tools["calls"][at]["id"], "text": text});
    let one = json!({"settings": settings(), "results": [result(1, "rain")]});
    let waits = api.post(path, one).await.ok();
    assert_eq!(waits["state"], "tools");
    assert_eq!(waits["calls"].as_array().unwrap().len(), 1);
    let both = json!({"settings": settings(), "results": [result(0, "sun"), result(1, "rain")]});
    let next = another(&api).post(path, both.clone()).await.ok();
    assert_eq!(next["state"], "call");
    let again = another(&api).post(path, both).await.ok();
    assert_eq!(again["request"], next["request"], "repeated results are not stored twice");

    api = another(&api);
    let last = json!({"settings": settings(), "replies": [reply(&model, &next)]});
    let done = api.post(path, last.clone()).await.ok();
    assert_eq!(
        (&done["state"], &done["answer"]["text"]),
        (&json!("answered"), &json!("2 cities."))
    );
    let again = another(&api).post(path, last).await.ok();
    assert_eq!(again["answer"], done["answer"]);

    let page = api.get("/v1/chats/trip/messages").await.ok();
    let kinds: Vec<_> = page["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["user", "assistant", "tool", "tool", "assistant"]);
    let rounds = api.get("/v1/chats/trip/rounds").await.ok();
    assert_eq!(rounds["rounds"].as_array().unwrap().len(), 1, "{rounds}");
    assert_eq!(rounds["rounds"][0]["state"], "closed");
    for format in ["otlp", "prov", "atif", "chrome"] {
        let path = format!("/v1/chats/trip/trajectory?format={format}");
        assert!(api.get(&path).await.json().is_object(), "{format}");
    }
    let drawn = api.get("/v1/chats/trip/trajectory?format=mermaid").await;
    assert!(drawn.text.starts_with("flowchart"), "{}", drawn.text);
}

#[tokio::test]
async fn a_refused_request_is_followed_by_one_that_may_succeed() {
    let api = Api::new().await;
    let begin = json!({"settings": settings(), "question": "Weather?", "id": "q-1"});
    let asked = api.post("/v1/chats/trip/turns", begin).await.ok();
    let busy = json!({"status": 529, "body": {"type": "error",
        "error": {"type": "overloaded_error", "message": "Overloaded"}}});
    let path = "/v1/chats/trip/turns/q-1";
    let mut replies = vec![busy.clone()];
    let step = json!({"settings": settings(), "replies": replies});
    let again = api.post(path, step).await.ok();
    assert_eq!((&again["state"], &again["request"]["number"]), (&json!("call"), &json!(2)));
    assert_eq!(again["request"]["wait_ms"], 1_000, "the program waits");
    assert_eq!(again["request"]["body"], asked["request"]["body"]);
    // A program that repeats for ever is told that nothing more can be tried.
    loop {
        replies.push(busy.clone());
        assert!(replies.len() <= 8);
        let step = json!({"settings": settings(), "replies": replies});
        let answered = api.post(path, step).await;
        if !answered.status.is_success() {
            assert!(answered.text.contains("Overloaded"), "{}", answered.text);
            break;
        }
    }
}

#[tokio::test]
async fn a_streamed_reply_is_handed_over_as_its_events() {
    let api = Api::new().await;
    let mut settings = settings();
    settings["stream"] = json!(true);
    let begin = json!({"settings": settings, "question": "Hello?", "id": "q-1"});
    let asked = api.post("/v1/chats/trip/turns", begin).await.ok();
    assert_eq!(asked["request"]["body"]["stream"], true);
    let events = [
        json!({"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant",
            "model": MODEL, "content": [], "usage": {"input_tokens": 9, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi."}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}),
        json!({"type": "message_stop"}),
    ];
    let events: Vec<_> = events.iter().map(Value::to_string).collect();
    let step = json!({"settings": settings, "replies": [{"status": 200, "events": events}]});
    let done = api.post("/v1/chats/trip/turns/q-1", step).await.ok();
    assert_eq!(done["answer"]["text"], "Hi.");
    assert_eq!(done["usage"]["input_tokens"], 9);
}

#[tokio::test]
async fn a_turn_is_cancelled_and_another_begins() {
    let api = Api::new().await;
    let model = simulator();
    let begin = json!({"settings": settings(), "question": "Weather?", "id": "q-1"});
    let asked = api.post("/v1/chats/trip/turns", begin).await.ok();
    let step = json!({"settings": settings(), "replies": [reply(&model, &asked)]});
    api.post("/v1/chats/trip/turns/q-1", step).await.ok();
    let path = "/v1/chats/trip/turns/q-1";
    let cancelled = api.send("ada", "DELETE", path, &[], Some(settings())).await;
    assert_eq!(cancelled.status, 204, "{}", cancelled.text);
    let page = api.get("/v1/chats/trip/messages?limit=1").await.ok();
    let said = page["messages"][0]["body"].to_string();
    assert!(said.contains("It is not known whether the tool ran"), "{said}");
    let begin = json!({"settings": settings(), "question": "And now?"});
    let next = api.post("/v1/chats/trip/turns", begin).await.ok();
    assert_ne!(next["turn"], "q-1");
    let step = json!({"settings": settings(), "results": []});
    api.post(path, step).await.problem(404);
}

#[tokio::test]
async fn settings_that_cannot_work_are_refused_before_anything_is_stored() {
    let api = Api::new().await;
    for (settings, said) in [
        (json!({"model": ""}), "model"),
        (json!({"model": MODEL, "provider": "smoke-signals"}), "smoke-signals"),
        (json!({"model": MODEL, "fragments": [{"nome": "x"}]}), "fragments"),
        (json!({"model": MODEL, "branch": "nowhere"}), "nowhere"),
    ] {
        let begin = json!({"settings": settings, "question": "Weather?"});
        let refused = api.post("/v1/chats/trip/turns", begin).await;
        assert!(refused.status.is_client_error(), "{settings}: {}", refused.text);
        assert!(refused.text.contains(said), "{settings}: {}", refused.text);
    }
    let begin = json!({"settings": {"model": MODEL}});
    assert!(api.post("/v1/chats/trip/turns", begin).await.problem(422).contains("question"));
}

#[tokio::test]
async fn memories_are_kept_recalled_and_forgotten() {
    let api = Api::new().await;
    let text = json!({"text": "I fly from Lisbon only.", "speaker": "Ada"});
    let first = api.post("/v1/memory", text.clone()).await.ok();
    assert_eq!(api.post("/v1/memory", text).await.ok()["id"], first["id"], "kept once");
    let listed = api.get("/v1/memory").await.ok();
    assert_eq!(listed["memories"].as_array().unwrap().len(), 1, "{listed}");
    let recalled = api.get("/v1/memory/recall?q=Which%20airport%20in%20Lisbon").await.ok();
    assert_eq!(recalled["memories"][0]["text"], "I fly from Lisbon only.");
    // A turn gets it too, if it asks for memories.
    let mut settings = settings();
    settings["memory"] = json!(true);
    let begin = json!({"settings": settings, "question": "From which airport in Lisbon?"});
    let asked = api.post("/v1/chats/trip/turns", begin).await.ok();
    assert!(asked["request"]["body"].to_string().contains("I fly from Lisbon only."));
    let (scope, id) = (&listed["memories"][0]["scope"], &listed["memories"][0]["id"]);
    let forgotten = api.post("/v1/memory/forget", json!({"scope": scope, "id": id})).await.ok();
    assert_eq!(forgotten["removed"], 1);
    let others =
        api.send("bob", "POST", "/v1/memory/forget", &[], Some(json!({"scope": scope, "id": id})));
    others.await.problem(404);
}

#[tokio::test]
async fn a_request_is_prepared_and_nothing_is_stored() {
    let api = Api::new().await;
    let say = json!({"messages": [{"role": "user", "text": "Two tickets."}, {"role": "assistant", "text": "Where to?"}]});
    api.post("/v1/chats/trip/messages", say).await.ok();
    let ask = json!({"settings": settings(), "question": "To Lisbon."});
    let prepared = api.post("/v1/chats/trip/prepare", ask).await.ok();
    assert_eq!(prepared["body"]["messages"].as_array().unwrap().len(), 3, "{prepared}");
    assert_eq!(prepared["body"]["tools"][0]["name"], "weather");
    let tokens = &prepared["tokens"];
    let parts = ["system", "instructions", "tools", "checkpoint", "history", "recall", "framing"];
    let sum: u64 = parts.iter().map(|part| tokens[part].as_u64().unwrap()).sum();
    assert_eq!(tokens["total"], sum);
    assert_eq!(prepared["window"], 200_000);
    let page = api.get("/v1/chats/trip/messages").await.ok();
    assert_eq!(page["messages"].as_array().unwrap().len(), 2);
    let none = json!({"settings": settings()});
    api.post("/v1/chats/nothing/prepare", none).await.problem(404);
}

/// A call of a tool that the service answers itself is followed by a new call.
#[tokio::test]
async fn a_tool_of_the_service_is_answered_without_the_program() {
    let api = Api::new().await;
    let counter = Arc::new(ModelCounter::for_model(MODEL));
    let says = |request: &ModelRequest| {
        let results = request.messages.iter().flat_map(|message| message.tool_results()).count();
        match results {
            0 => vec![AnswerPiece::call("read_messages", json!({"first": 1}))],
            _ => vec![AnswerPiece::text("You asked for the weather.")],
        }
    };
    let model = Simulator::new(provider("anthropic").unwrap(), counter)
        .window(200_000)
        .model(MODEL)
        .behaviour(says);
    let mut settings = settings();
    settings["history_tools"] = json!(true);
    let begin = json!({"settings": settings, "question": "What did I ask?", "id": "q-1"});
    let asked = api.post("/v1/chats/trip/turns", begin).await.ok();
    let path = "/v1/chats/trip/turns/q-1";
    let step = json!({"settings": settings, "replies": [reply(&model, &asked)]});
    let next = api.post(path, step).await.ok();
    assert_eq!((&next["state"], &next["request"]["number"]), (&json!("call"), &json!(1)));
    let step = json!({"settings": settings, "replies": [reply(&model, &next)]});
    let done = api.post(path, step).await.ok();
    assert_eq!(done["answer"]["text"], "You asked for the weather.");
}

/// A begin whose answer was lost long ago does not rewrite what came after it.
#[tokio::test]
async fn a_turn_that_others_have_followed_does_not_begin_again() {
    let api = Api::new().await;
    let first = json!({"settings": settings(), "question": "Weather?", "id": "q-1"});
    api.post("/v1/chats/trip/turns", first.clone()).await.ok();
    let second = json!({"settings": settings(), "question": "And trains?", "id": "q-2"});
    api.post("/v1/chats/trip/turns", second).await.ok();
    let again = api.post("/v1/chats/trip/turns", first).await;
    assert!(again.problem(409).contains("not the newest question"), "{}", again.text);
    let chat = api.get("/v1/chats/trip").await.ok();
    assert_eq!(chat["branches"], json!([{"name": "main", "head": "q-2"}]));
}
