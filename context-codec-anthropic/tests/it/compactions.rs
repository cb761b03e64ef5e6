//! Compactions that a request asks for, and the blocks that they return.

use context_codec_anthropic::messages::{BODY_KEY, MessagesCodec};
use context_codec_kit::provider_rules::check_body;
use context_core::message::Text;
use context_core::model::{
    FunctionTool, LoweredRequest, ModelCodec, OutputSchema, ProviderCompaction, StopReason,
    ToolChoice,
};
use context_core::{Json, Message, MessageCodec, ModelRequest, Part, Role};
use serde_json::{Value, json};

use crate::requests::{opaque, sent, value};

fn lowered(request: &ModelRequest) -> LoweredRequest {
    MessagesCodec.lower(request).unwrap()
}

fn request(messages: impl IntoIterator<Item = Message>) -> ModelRequest {
    ModelRequest::new(messages).model("claude-opus-5-5")
}

fn talk() -> [Message; 2] {
    [Message::from("Name the entities."), Message::text(Role::Assistant, "Recipe, Step.")]
}

fn signed() -> Value {
    json!({"type": "compaction", "content": "A recipe app.", "signature": "EuYB"})
}

fn checkpoint(block: Value) -> Message {
    let text = Text::for_block("[a recipe app]", None);
    Message::new(Role::User, [opaque(block), Part::Text(text), Part::text("<facts/>")])
}

/// The body is the one of the guide: a conversation that ends with an answer, and the parameter.
#[test]
fn a_conversation_is_sent_as_it_stands_with_the_parameter_and_the_header() {
    let asked = request(talk()).compaction(ProviderCompaction::new());
    let body = sent(&asked);
    assert_eq!(body["compaction"], json!({"type": "summarize"}));
    assert_eq!(body["messages"].as_array().unwrap().len(), 2);
    assert_eq!(lowered(&asked).headers, [("anthropic-beta", "compact-2026-09-04")]);
    let own = request(talk()).compaction(ProviderCompaction::new().instructions("Keep names."));
    assert_eq!(sent(&own)["compaction"]["instructions"], "Keep names.");
    assert_eq!(lowered(&request(talk())).headers, []);
}

#[test]
fn what_the_provider_refuses_beside_it_is_left_out() {
    let tool = FunctionTool::new("look", json!({"type": "object"}));
    let mut asked = request(talk())
        .tools([tool])
        .tool_choice(ToolChoice::Required)
        .output(OutputSchema::new("trip", json!({"type": "object"})))
        .compaction(ProviderCompaction::new());
    let keys = json!({
        "stop_sequences": ["END"], "thinking": {"type": "adaptive"},
        "context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]},
    });
    asked.metadata.insert(BODY_KEY, keys);
    let body = sent(&asked);
    for key in ["tool_choice", "output_config", "stop_sequences", "context_management"] {
        assert_eq!(body.get(key), None, "{key}");
    }
    assert_eq!(body["thinking"]["type"], "adaptive");
    let told: Vec<_> = lowered(&asked).diagnostics.iter().map(|told| told.path.clone()).collect();
    assert_eq!(told, ["tool_choice", "output", "stop_sequences", "context_management"]);
    asked.tool_choice = Some(ToolChoice::Auto);
    assert_eq!(sent(&asked)["tool_choice"]["type"], "auto");
}

#[test]
fn a_block_leads_the_messages_and_its_text_does_not_follow() {
    let [question, answer] = talk();
    let with_block = request([checkpoint(signed()), question.clone(), answer, "Go on.".into()]);
    let first = sent(&with_block)["messages"][0].take();
    let facts = json!({"type": "text", "text": "<facts/>"});
    assert_eq!(first, json!({"role": "user", "content": [signed(), facts]}));
    assert_eq!(lowered(&with_block).headers, [("anthropic-beta", "compact-2026-09-04")]);

    // Behind other messages the provider refuses it.
    let late = request([question, checkpoint(signed())]);
    let body = sent(&late);
    assert!(!body.to_string().contains("EuYB"));
    assert_eq!(body["messages"][1]["content"][0]["text"], "[a recipe app]");
    let unsigned = request([checkpoint(json!({"type": "compaction", "content": "x"}))]);
    assert_eq!(sent(&unsigned)["messages"][0]["content"][0]["text"], "[a recipe app]");
}

#[test]
fn the_rules_refuse_what_the_provider_refuses() {
    let user = |content: Value| json!({"role": "user", "content": content});
    let body = |messages: Value, more: Value| {
        let mut body = json!({"model": "m", "max_tokens": 9, "messages": messages});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        check_body("anthropic", &body).into_iter().map(|broken| broken.path).collect::<Vec<_>>()
    };
    let none = || json!({});
    assert_eq!(body(json!([user(json!([signed()])), user("q".into())]), none()), [""; 0]);
    let behind = json!([user("q".into()), user(json!([signed()]))]);
    assert_eq!(body(behind, none()), ["messages[1].content[0]"]);
    let twice = json!([user(json!([signed(), signed()]))]);
    assert_eq!(body(twice, none()), ["messages[0].content[1]"]);
    let asked = json!({"compaction": {"type": "summarize"}, "stop_sequences": ["END"]});
    assert_eq!(body(json!([user("q".into())]), asked), ["stop_sequences"]);
}

/// The call is reported as a step, because the answer itself has no tokens.
#[test]
fn the_answer_is_one_block_with_the_usage_of_its_step() {
    let body = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-5-5",
        "content": [signed()], "stop_reason": "compaction",
        "usage": {"input_tokens": 0, "output_tokens": 0, "iterations": [
            {"type": "compaction", "input_tokens": 144, "output_tokens": 276, "cache_read_input_tokens": 50}]},
    });
    let whole = MessagesCodec.lift_answer(&Json::from(&body)).unwrap();
    assert_eq!(whole.stop, Some(StopReason::Paused));
    assert_eq!(whole.message.parts, [opaque(signed())]);
    let usage = whole.usage.unwrap();
    assert_eq!((usage.input, usage.output, usage.cache_read), (144, 276, 50));

    let mut stream = MessagesCodec.answer_stream();
    let mut begun = body.clone();
    begun["content"] = json!([]);
    begun["stop_reason"] = Value::Null;
    for event in [
        json!({"type": "message_start", "message": begun}),
        json!({"type": "content_block_start", "index": 0, "content_block": signed()}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "compaction"}, "usage": body["usage"]}),
        json!({"type": "message_stop"}),
    ] {
        let _shown = stream.push(&event.to_string()).unwrap();
    }
    let streamed = stream.finish();
    assert!(streamed.complete);
    assert_eq!((streamed.message.parts, streamed.usage), (whole.message.parts, whole.usage));
}

/// Each preliminary feature of a body has its header.
#[test]
fn edits_of_the_provider_have_headers_of_their_own() {
    let headers = |edit: &str| {
        let mut request = request(talk());
        let edits = json!({"context_management": {"edits": [{"type": edit}]}});
        request.metadata.insert(BODY_KEY, edits);
        lowered(&request).headers
    };
    let beta = |value| [("anthropic-beta", value)];
    assert_eq!(headers("clear_tool_uses_20250919"), beta("context-management-2025-06-27"));
    assert_eq!(headers("compact_20260112"), beta("compact-2026-01-12"));
    let summary = opaque(json!({"type": "compaction", "content": "x"}));
    let by_model = Message::new(Role::Assistant, [summary, Part::text("So.")]);
    let paused = lowered(&request(["q".into(), by_model, "r".into()]));
    assert_eq!(paused.headers, beta("compact-2026-01-12"));
    assert_eq!(value(&paused.body)["messages"][1]["content"][0]["type"], "compaction");
}
