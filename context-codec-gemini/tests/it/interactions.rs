//! Answers of the Interactions API.

use context_codec_gemini::interactions::{self, ANNOTATIONS_KEY, PROVIDER};
use context_core::base::DiagnosticCode;
use context_core::model::{AnswerDelta, StopReason};
use context_core::{Answer, Part};
use serde_json::{Value, json};

use crate::shared::{json, value};

fn streamed(events: &[Value]) -> Answer {
    let mut stream = interactions::answer_stream();
    for event in events {
        stream.push(&event.to_string()).unwrap();
    }
    stream.finish()
}

fn events() -> Vec<Value> {
    let delta = |index: u32, delta: Value| json!({"event_type": "step.delta", "index": index, "delta": delta});
    let start =
        |index: u32, step: Value| json!({"event_type": "step.start", "index": index, "step": step});
    let stop = |index: u32| json!({"event_type": "step.stop", "index": index});
    vec![
        json!({"event_type": "interaction.created", "interaction": {"id": "v1", "status": "in_progress", "model": "m"}}),
        start(0, json!({"type": "thought"})),
        delta(0, json!({"type": "thought_summary", "content": {"type": "text", "text": "Hm."}})),
        delta(0, json!({"type": "thought_signature", "signature": "cw=="})),
        stop(0),
        start(1, json!({"type": "google_search_call", "id": "s1"})),
        delta(1, json!({"type": "google_search_call", "arguments": {"queries": ["q"]}})),
        stop(1),
        start(2, json!({"type": "google_search_result", "call_id": "s1", "result": []})),
        stop(2),
        start(3, json!({"type": "model_output"})),
        delta(3, json!({"type": "text", "text": "One "})),
        delta(3, json!({"type": "text", "text": "two."})),
        delta(3, json!({"type": "text_annotation", "annotations": [{"url": "x"}]})),
        stop(3),
        start(4, json!({"type": "function_call", "id": "c", "name": "f", "arguments": {}})),
        delta(4, json!({"type": "arguments_delta", "arguments": "{\"a\":"})),
        delta(4, json!({"type": "arguments_delta", "arguments": "1}"})),
        stop(4),
        json!({"event_type": "interaction.completed", "interaction": {"status": "requires_action", "usage": {
            "total_input_tokens": 10, "total_cached_tokens": 4, "total_output_tokens": 5, "total_thought_tokens": 3,
        }}}),
    ]
}

#[test]
fn a_stream_ends_at_the_parts_of_the_whole_answer() {
    let whole = json!({
        "id": "v1",
        "model": "m",
        "status": "requires_action",
        "usage": {
            "total_input_tokens": 10, "total_cached_tokens": 4, "total_output_tokens": 5, "total_thought_tokens": 3,
        },
        "steps": [
            {"type": "thought", "summary": [{"type": "text", "text": "Hm."}], "signature": "cw=="},
            {"type": "google_search_call", "id": "s1", "arguments": {"queries": ["q"]}},
            {"type": "google_search_result", "call_id": "s1", "result": []},
            {"type": "model_output", "content": [{"type": "text", "text": "One two.", "annotations": [{"url": "x"}]}]},
            {"type": "function_call", "id": "c", "name": "f", "arguments": {"a": 1}},
        ],
    });
    let whole = interactions::lift_answer(&json(&whole)).unwrap();
    let answer = streamed(&events());
    assert_eq!(answer.stop, Some(StopReason::ToolCalls));
    assert_eq!(answer.message.plain_text(), "One two.");
    let [
        Part::Reasoning(thought),
        Part::Opaque(search),
        Part::Opaque(_),
        Part::Text(text),
        Part::ToolCall(call),
    ] = answer.message.parts.as_slice()
    else {
        panic!("{answer:?}")
    };
    assert_eq!((thought.text.as_str(), thought.signature.as_deref()), ("Hm.", Some("cw==")));
    assert_eq!(search.provider, PROVIDER);
    assert_eq!(value(text.metadata.get(ANNOTATIONS_KEY).unwrap()), json!([{"url": "x"}]));
    assert_eq!(call.input.as_written(), r#"{"a":1}"#);
    let usage = answer.usage.unwrap();
    assert_eq!((usage.input, usage.cache_read, usage.output, usage.reasoning), (6, 4, 8, Some(3)));
    // Opaque parts have the same values; a stream has their keys in another order.
    let values = |answer: &Answer| {
        let values = answer.message.parts.iter().map(|part| match part {
            Part::Opaque(block) => Err(value(&block.value)),
            part => Ok(part.clone()),
        });
        values.collect::<Vec<_>>()
    };
    assert_eq!(values(&answer), values(&whole));
    assert_eq!(
        (answer.usage, answer.stop, answer.id, answer.model),
        (whole.usage, whole.stop, whole.id, whole.model)
    );
}

#[test]
fn a_stream_that_breaks_off_leaves_what_is_whole() {
    let events = events();
    for n in 0..events.len() {
        let answer = streamed(&events[..n]);
        assert!(!answer.complete);
        assert_eq!(answer.diagnostics[0].code, DiagnosticCode::CutOff);
        let calls =
            answer.message.parts.iter().filter(|part| matches!(part, Part::ToolCall(_))).count();
        assert_eq!(calls, usize::from(n == events.len() - 1), "{n}");
        // A search without its result is left out.
        let opaque =
            answer.message.parts.iter().filter(|part| matches!(part, Part::Opaque(_))).count();
        assert_eq!(opaque, if n > 8 { 2 } else { 0 }, "{n}");
        // A thought without its signature is left out.
        let thoughts =
            answer.message.parts.iter().filter(|part| matches!(part, Part::Reasoning(_))).count();
        assert_eq!(thoughts, usize::from(n > 3), "{n}");
    }
}

#[test]
fn errors_and_what_cannot_be_read() {
    let error = json!({"error": {"code": 429, "message": "slow down"}});
    let answer = interactions::lift_answer(&json(&error)).unwrap();
    assert!(answer.error.is_some() && !answer.complete && answer.message.parts.is_empty());
    let answer = streamed(&[json!({"event_type": "error", "error": {"message": "broken"}})]);
    assert!(answer.error.is_some());

    let cases = [
        (json!([]), ""),
        (json!({"steps": {}}), "steps"),
        (json!({"steps": [{}]}), "steps[0]"),
        (json!({"steps": [{"type": "function_call", "id": "c"}]}), "steps[0].name"),
        (
            json!({"steps": [{"type": "model_output", "content": [{"text": 1}]}]}),
            "steps[0].content[0].text",
        ),
    ];
    for (body, path) in cases {
        let error = interactions::lift_answer(&json(&body)).unwrap_err();
        assert_eq!(error.path(), path, "{body}: {error}");
    }
    let mut stream = interactions::answer_stream();
    for broken in [r#"{"event_type": "step.start"}"#, "{", "7"] {
        assert!(stream.push(broken).is_err(), "{broken}");
    }
    for unknown in [
        "",
        "[DONE]",
        "{}",
        r#"{"event_type": "step.delta", "index": 9, "delta": {"type": "text"}}"#,
    ] {
        assert_eq!(stream.push(unknown).unwrap(), Vec::<AnswerDelta>::new());
    }
}

#[test]
fn an_event_that_cannot_be_read_changes_nothing() {
    let mut stream = interactions::answer_stream();
    for event in &events()[..12] {
        stream.push(&event.to_string()).unwrap();
    }
    let before = stream.answer();
    let delta = |delta: Value| json!({"event_type": "step.delta", "index": 3, "delta": delta});
    for broken in [
        delta(json!({"type": "text", "text": "b", "annotations": 1})),
        delta(json!({"type": "text", "text": 1})),
        json!({"event_type": "interaction.completed", "interaction": {
            "id": "v2", "model": "n", "status": "completed", "usage": {"total_input_tokens": 9},
            "steps": [{}, {}, {}, {}, {"type": "thought", "summary": [{"text": "b"}]}, {"type": "function_call"}]}}),
    ] {
        assert!(stream.push(&broken.to_string()).is_err(), "{broken}");
        assert_eq!(stream.answer(), before, "{broken}");
    }
}
