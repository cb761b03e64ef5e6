//! Answers, whole and streamed: how they end, and what a broken stream leaves.

use context_codec_anthropic::messages::{CITATIONS_KEY, MessagesCodec, RESPONSE_KEY};
use context_core::base::DiagnosticCode;
use context_core::message::ToolInput;
use context_core::model::{AnswerDelta, ModelCodec, ModelErrorCode, StopReason};
use context_core::{Answer, Message, MessageCodec, ModelRequest, Part};
use serde_json::{Value, json};

fn read(body: Value) -> Answer {
    MessagesCodec.lift_answer(&body.into()).expect("an answer")
}

fn body(stop: &str) -> Value {
    json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "stop_details": null,
        "content": [{"type": "text", "text": "so"}], "stop_reason": stop, "container": {"id": "c"},
        "usage": {"input_tokens": 3, "output_tokens": 4, "cache_read_input_tokens": 5,
            "cache_creation_input_tokens": null, "output_tokens_details": {"thinking_tokens": 2}}})
}

#[test]
fn answers_say_why_they_ended_and_what_they_cost() {
    for (reason, stop) in [
        ("end_turn", StopReason::Stop),
        ("stop_sequence", StopReason::Stop),
        ("max_tokens", StopReason::Length),
        ("tool_use", StopReason::ToolCalls),
        ("refusal", StopReason::Refusal),
        ("pause_turn", StopReason::Paused),
        ("compaction", StopReason::Paused),
        ("model_context_window_exceeded", StopReason::ContextWindow),
        ("boredom", StopReason::Other("boredom".into())),
    ] {
        let answer = read(body(reason));
        assert_eq!(answer.stop, Some(stop));
        let usage = answer.usage.expect("usage");
        assert_eq!((usage.input, usage.output, usage.cache_read, usage.cache_write), (3, 4, 5, 0));
        assert_eq!((usage.reasoning, usage.total_input()), (Some(2), 8));
        assert_eq!(
            (answer.id.as_deref(), answer.model.as_deref()),
            (Some("msg_1"), Some("claude-x"))
        );
        let facts = answer.message.metadata.get(RESPONSE_KEY).expect("facts").as_str();
        assert!(facts.contains("\"container\"") && !facts.contains("stop_details"), "{facts}");
        assert_eq!(answer.message.parts, [Part::text("so")]);
    }
}

#[test]
fn errors_are_answers_with_an_error() {
    let error =
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let answer = read(error.clone());
    assert_eq!(answer.error.expect("an error").code, ModelErrorCode::Overloaded);
    assert!(answer.message.parts.is_empty() && !answer.complete);
    let mut stream = MessagesCodec.answer_stream();
    for event in [
        start(),
        begin(0, json!({"type": "text", "text": "a"})),
        error.clone(),
        json!({"type": "message_stop"}),
    ] {
        stream.push(&event.to_string()).unwrap();
    }
    let answer = stream.finish();
    assert_eq!(answer.error.expect("an error").code, ModelErrorCode::Overloaded);
    assert_eq!((answer.message.parts, answer.complete), (vec![Part::text("a")], false));
    assert!(MessagesCodec.lift_answer(&json!({"role": "user", "content": "x"}).into()).is_err());
    assert!(MessagesCodec.lift_answer(&json!([1]).into()).is_err());
}

fn start() -> Value {
    let message = json!({"id": "m", "type": "message", "role": "assistant", "content": [], "usage": {"input_tokens": 1}});
    json!({"type": "message_start", "message": message})
}

fn begin(index: u64, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn add(index: u64, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn end(index: u64) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn citation() -> Value {
    json!({"type": "page_location", "cited_text": "x", "document_index": 0, "document_title": null,
        "start_page_number": 1, "end_page_number": 2, "file_id": null})
}

/// Returns the events of an answer with one block of each kind.
fn events() -> Vec<Value> {
    let input = |text: &str| json!({"type": "input_json_delta", "partial_json": text});
    vec![
        start(),
        begin(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        add(0, json!({"type": "thinking_delta", "thinking": "h"})),
        add(0, json!({"type": "thinking_delta", "thinking": "m"})),
        add(0, json!({"type": "signature_delta", "signature": "c2ln"})),
        end(0),
        begin(
            1,
            json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search",
                "input": {}}),
        ),
        add(1, input("{\"query\": \"x\"}")),
        end(1),
        begin(
            2,
            json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}),
        ),
        end(2),
        begin(3, json!({"type": "text", "text": "", "citations": []})),
        add(3, json!({"type": "text_delta", "text": "so"})),
        add(3, json!({"type": "citations_delta", "citation": citation()})),
        end(3),
        json!({"type": "ping"}),
        json!({"type": "something_new", "index": "odd"}),
        begin(4, json!({"type": "tool_use", "id": "t1", "name": "now", "input": {}})),
        add(4, input("")),
        end(4),
        begin(5, json!({"type": "tool_use", "id": "t2", "name": "look", "input": {}})),
        add(5, input("{\"a\":")),
        add(5, input(" 1.50}")),
        end(5),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}}),
        json!({"type": "message_stop"}),
    ]
}

#[test]
fn a_stream_becomes_an_answer() {
    let mut stream = MessagesCodec.answer_stream();
    let deltas: Vec<_> = events()
        .iter()
        .flat_map(|event| stream.push(&event.to_string()).expect("an event"))
        .collect();
    assert_eq!(deltas[0], AnswerDelta::Reasoning("h".into()));
    assert_eq!(deltas[2], AnswerDelta::Text("so".into()));
    assert_eq!(deltas[3], AnswerDelta::ToolCall { id: "t1".into(), name: "now".into() });
    assert_eq!(
        deltas[5..],
        [AnswerDelta::ToolInput("{\"a\":".into()), AnswerDelta::ToolInput(" 1.50}".into())]
    );
    // Events after the end belong to another answer.
    stream.push(&start().to_string()).unwrap();
    stream.push(&add(3, json!({"type": "text_delta", "text": "more"})).to_string()).unwrap();
    let answer = stream.finish();
    assert!(answer.complete && answer.diagnostics.is_empty());
    assert_eq!(answer.stop, Some(StopReason::ToolCalls));
    assert_eq!(answer.usage.map(|usage| (usage.input, usage.output)), Some((1, 9)));
    let whole = read(json!({"role": "assistant", "content": [
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
        {"type": "text", "text": "so", "citations": [citation()]},
    ]}));
    let values = |parts: &[Part]| parts.iter().map(|part| json!(part)).collect::<Vec<_>>();
    assert_eq!(values(&answer.message.parts[..4]), values(&whole.message.parts));
    assert!(matches!(&answer.message.parts[3],
            Part::Text(text) if text.metadata.get(CITATIONS_KEY).is_some()));
    let inputs: Vec<_> = answer.message.parts[4..]
        .iter()
        .map(|part| match part {
            Part::ToolCall(call) => call.input.as_written(),
            _ => "",
        })
        .collect();
    assert_eq!(inputs, ["{}", "{\"a\":1.50}"]);
}

#[test]
fn a_broken_stream_leaves_what_can_be_sent() {
    let events = events();
    for count in 0..events.len() {
        let mut stream = MessagesCodec.answer_stream();
        events[..count].iter().for_each(|event| drop(stream.push(&event.to_string())));
        let answer = stream.finish();
        assert!(
            !answer.complete
                && answer.diagnostics.iter().any(|said| said.code == DiagnosticCode::CutOff)
        );
        let kinds: Vec<_> =
            answer.message.parts.iter().map(|part| json!(part)["type"].clone()).collect();
        let expected: &[&str] = match count {
            0..6 => &[],
            6..11 => &["reasoning"],
            11 => &["reasoning", "opaque", "opaque"],
            12..20 => &["reasoning", "opaque", "opaque", "text"],
            20..23 => &["reasoning", "opaque", "opaque", "text", "tool_call"],
            _ => &["reasoning", "opaque", "opaque", "text", "tool_call", "tool_call"],
        };
        assert_eq!(kinds, expected, "{count}");
        let request = ModelRequest::new([Message::from("q"), answer.message]).model("m");
        let sent: Value = MessagesCodec.lower(&request).unwrap().body.parse().unwrap();
        assert_eq!(context_codec_kit::provider_rules::check_body("anthropic", &sent), [], "{sent}");
    }
}

#[test]
fn input_that_is_no_json_is_told_or_dropped() {
    for (stop, kept) in [("tool_use", true), ("max_tokens", false)] {
        let mut stream = MessagesCodec.answer_stream();
        for event in [
            begin(0, json!({"type": "tool_use", "id": "t", "name": "look", "input": {}})),
            add(0, json!({"type": "input_json_delta", "partial_json": "{\"a\": "})),
            end(0),
            json!({"type": "message_delta", "delta": {"stop_reason": stop}}),
            json!({"type": "message_stop"}),
        ] {
            stream.push(&event.to_string()).unwrap();
        }
        let answer = stream.finish();
        let inputs = answer.message.parts.iter().map(|part| match part {
            Part::ToolCall(call) => call.input.clone(),
            part => panic!("{part:?}"),
        });
        let expected = kept.then(|| ToolInput::Invalid("{\"a\": ".into()));
        assert_eq!(inputs.collect::<Vec<_>>(), Vec::from_iter(expected));
        assert_eq!(answer.diagnostics.is_empty(), kept);
    }
}

#[test]
fn events_that_cannot_be_read_are_errors_and_harm_nothing() {
    let mut stream = MessagesCodec.answer_stream();
    stream.push(&begin(0, json!({"type": "text", "text": "a"})).to_string()).unwrap();
    let deep =
        format!("{{\"type\":\"ping\",\"x\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(stream.push(&deep).unwrap(), []);
    for event in [
        "",
        "[DONE]",
        "7",
        "{}",
        "{\"type\":7}",
        "{\"type\":\"message_start\"}",
        "{\"type\":\"content_block_start\",\"index\":-1,\"content_block\":{}}",
        "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":7}",
        "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":7}}",
    ] {
        assert!(stream.push(event).is_err(), "{event}");
    }
    assert_eq!(stream.finish().message.parts, [Part::text("a")]);
}
