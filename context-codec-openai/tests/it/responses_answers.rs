//! Answers of the Responses API, whole and streamed.

use context_codec_openai::responses::{ID, PHASE, ResponsesCodec};
use context_core::base::DiagnosticCode;
use context_core::model::{AnswerDelta, ModelCodec, StopReason, WireError};
use context_core::{Answer, Message, MessageCodec, ModelRequest, Part};
use serde_json::{Value, json};

fn answer(body: Value) -> Answer {
    ResponsesCodec.lift_answer(&body.into()).unwrap()
}

fn response(status: &str, output: Value) -> Value {
    json!({"id": "resp_1", "model": "gpt-5", "status": status, "error": null, "incomplete_details": null, "output": output,
        "usage": {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30},
                  "output_tokens": 20, "output_tokens_details": {"reasoning_tokens": 5}, "total_tokens": 120}})
}

fn said(text: &str) -> Value {
    json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "phase": "final_answer",
        "content": [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}]})
}

fn call(status: &str, arguments: &str) -> Value {
    json!({"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look",
        "arguments": arguments, "status": status})
}

#[test]
fn an_answer_tells_what_it_cost_and_why_it_ended() {
    let whole = answer(response("completed", json!([said("hi")])));
    assert_eq!(whole.message.plain_text(), "hi");
    assert_eq!((whole.id.as_deref(), whole.model.as_deref()), (Some("resp_1"), Some("gpt-5")));
    let usage = whole.usage.unwrap();
    assert_eq!((usage.input, usage.cache_read, usage.cache_write), (10, 60, 30));
    assert_eq!((usage.output, usage.reasoning, usage.total()), (20, Some(5), 120));
    assert_eq!((whole.stop, whole.complete), (Some(StopReason::Stop), true));

    let refusal = json!([{"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}]);
    let incomplete = |reason: &str| {
        let mut body = response("incomplete", json!([said("hi")]));
        body["incomplete_details"] = json!({"reason": reason});
        body
    };
    for (body, stop) in [
        (
            response("completed", json!([said("I look."), call("completed", "{}")])),
            Some(StopReason::ToolCalls),
        ),
        (response("completed", refusal), Some(StopReason::Refusal)),
        (incomplete("max_output_tokens"), Some(StopReason::Length)),
        (incomplete("content_filter"), Some(StopReason::ContentFilter)),
        (incomplete("new"), Some(StopReason::Other("new".into()))),
        (response("cancelled", json!([])), Some(StopReason::Other("cancelled".into()))),
        (response("queued", json!([])), None),
    ] {
        assert_eq!(answer(body.clone()).stop, stop, "{body}");
    }
}

#[test]
fn a_call_that_was_cut_off_is_no_call() {
    let cut = answer(response("incomplete", json!([said("hi"), call("incomplete", "{\"a\": ")])));
    assert_eq!(cut.message.parts.len(), 1);
    assert_eq!(cut.diagnostics[0].code, DiagnosticCode::CutOff);
    // The model may write an input that is not JSON.
    let odd = answer(response("completed", json!([call("completed", "{\"a\": ")])));
    assert_eq!(odd.message.parts.len(), 1);
}

#[test]
fn what_is_no_answer_is_an_error_that_can_be_told() {
    let refused = answer(
        json!({"error": {"message": "Unsupported parameter", "type": "invalid_request_error"}}),
    );
    assert!(refused.error.is_some() && refused.message.parts.is_empty() && !refused.complete);
    let mut failed = response("failed", json!([]));
    failed["error"] = json!({"code": "server_error", "message": "The server had an error."});
    let failed = answer(failed);
    assert!(failed.error.is_some() && !failed.complete);
    for (body, path) in [
        (json!([]), ""),
        (json!({}), "output"),
        (json!({"output": {}}), "output"),
        (json!({"output": [1]}), "output[0]"),
        (json!({"output": [{"type": "function_call"}]}), "output[0].call_id"),
        (json!({"output": [], "usage": {"input_tokens": -1}}), "usage.input_tokens"),
        (json!({"output": [], "id": 1}), "id"),
    ] {
        let error = ResponsesCodec.lift_answer(&body.clone().into()).expect_err(&body.to_string());
        assert_eq!(error.path(), path, "{body}");
    }
}

fn delta(kind: &str, index: u64, delta: &str) -> Value {
    json!({"type": kind, "output_index": index, "content_index": 0, "delta": delta})
}

fn item(kind: &str, index: u64, item: Value) -> Value {
    json!({"type": format!("response.output_item.{kind}"), "output_index": index, "item": item})
}

/// Returns the deltas of events, and the answer after them.
fn streamed(events: &[Value]) -> (Vec<AnswerDelta>, Answer) {
    let mut stream = ResponsesCodec.answer_stream();
    let deltas = events.iter().flat_map(|event| stream.push(&event.to_string()).unwrap()).collect();
    (deltas, stream.finish())
}

fn events() -> Vec<Value> {
    let opened = json!({"type": "message", "id": "msg_1", "role": "assistant", "phase": "final_answer", "content": []});
    let thought =
        json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gA"});
    vec![
        json!({"type": "response.created", "response": {"id": "resp_1", "model": "gpt-5", "status": "in_progress"}}),
        item("added", 0, thought.clone()),
        delta("response.reasoning_summary_text.delta", 0, "Hm."),
        item("done", 0, thought.clone()),
        item("added", 1, opened),
        delta("response.output_text.delta", 1, "h"),
        delta("response.output_text.delta", 1, "i"),
        json!({"type": "response.output_text.done", "output_index": 1, "content_index": 0, "text": "hi!"}),
        item("done", 1, said("hi!")),
        item("added", 2, call("in_progress", "")),
        delta("response.function_call_arguments.delta", 2, "{\"a\""),
        delta("response.function_call_arguments.delta", 2, ":1}"),
        json!({"type": "response.function_call_arguments.done", "output_index": 2, "arguments": "{\"a\":1}"}),
        item("done", 2, call("completed", "{\"a\":1}")),
        json!({"type": "response.unknown"}),
        json!({"type": "response.completed",
            "response": response("completed", json!([thought, said("hi!"), call("completed", "{\"a\":1}")]))}),
    ]
}

#[test]
fn events_become_what_the_whole_body_says() {
    let mut events = events();
    let (deltas, streamed_answer) = streamed(&events);
    let whole = events.last().unwrap()["response"].clone();
    assert_eq!(streamed_answer, answer(whole));
    let expected = [
        AnswerDelta::Reasoning("Hm.".into()),
        AnswerDelta::Text("h".into()),
        AnswerDelta::Text("i".into()),
        AnswerDelta::Text("!".into()),
        AnswerDelta::ToolCall { id: "c1".into(), name: "look".into() },
        AnswerDelta::ToolInput("{\"a\"".into()),
        AnswerDelta::ToolInput(":1}".into()),
    ];
    assert_eq!(deltas, expected);
    // Nothing counts after the end.
    events.push(item("done", 3, said("more")));
    assert_eq!(streamed(&events).1, streamed_answer);
    // A server that does not repeat the items at the end.
    let last = events.len() - 2;
    events[last]["response"]["output"] = json!([]);
    assert_eq!(streamed(&events).1.message, streamed_answer.message);
    // A server that sends everything once.
    let once: Vec<_> = events
        .iter()
        .filter(|event| event["type"] == "response.output_item.done")
        .cloned()
        .collect();
    let (deltas, unannounced) = streamed(&once);
    assert_eq!(unannounced.message.parts[..3], streamed_answer.message.parts);
    assert!(deltas.contains(&AnswerDelta::ToolInput("{\"a\":1}".into())));
}

#[test]
fn a_stream_that_breaks_off_leaves_what_can_be_sent() {
    let events = events();
    for end in 0..events.len() {
        let (_, answer) = streamed(&events[..end]);
        assert!(!answer.complete);
        assert_eq!(answer.diagnostics.last().unwrap().code, DiagnosticCode::CutOff);
        let request = ModelRequest::new([Message::from("q"), answer.message]);
        crate::responses_data::sound("cut", &ResponsesCodec.lower(&request).unwrap().body);
    }
    // A text as far as it was received, without the id of an item that does not exist.
    let (_, cut) = streamed(&events[..7]);
    let Part::Text(text) = &cut.message.parts[1] else { panic!() };
    assert_eq!(text.text, "hi");
    assert!(text.metadata.get(ID).is_none() && text.metadata.get(PHASE).is_some());
    // A call only if its input is whole.
    assert_eq!(streamed(&events[..12]).1.message.parts.len(), 2);
    assert_eq!(streamed(&events[..13]).1.message.parts.len(), 3);
}

#[test]
fn an_error_ends_a_stream() {
    let mut events = events()[..9].to_vec();
    events.push(json!({"type": "error", "code": "server_error", "message": "The server had an error.", "param": null}));
    events.push(item("done", 2, call("completed", "{}")));
    let (_, answer) = streamed(&events);
    assert!(answer.error.is_some() && !answer.complete);
    assert_eq!(answer.message.plain_text(), "hi!");
    assert_eq!(answer.message.parts.len(), 2);
    assert!(streamed(&[json!({"error": {"message": "no"}})]).1.error.is_some());
}

#[test]
fn an_event_that_cannot_be_read_leaves_what_came_before() {
    let mut stream = ResponsesCodec.answer_stream();
    for event in &events()[..9] {
        stream.push(&event.to_string()).unwrap();
    }
    let before = stream.answer();
    for event in [
        "",
        "{",
        "[]",
        r#"{"type":"response.output_item.done"}"#,
        r#"{"type":"response.output_item.done","item":{"type":"function_call"}}"#,
        r#"{"type":"response.output_text.delta","output_index":"x"}"#,
        r#"{"type":"response.completed","response":{"output":[1,2,3]}}"#,
    ] {
        let error = stream.push(event).expect_err(event);
        assert!(!matches!(error, WireError::NothingToSend));
        assert_eq!(stream.answer(), before, "{event}");
    }
    stream.push("[DONE]").unwrap();
    assert!(!stream.finish().complete);
}
