//! Streamed answers.

use std::fs;

use context_codec_gemini::generate::{GenerateCodec, SIGNATURE_KEY};
use context_core::Part;
use context_core::base::DiagnosticCode;
use context_core::message::MediaSource;
use context_core::model::{AnswerDelta, ModelCodec, StopReason};
use serde_json::{Value, json};

use crate::shared::{data, json, streamed, value};

fn event(parts: &Value) -> String {
    json!({"candidates": [{"content": {"role": "model", "parts": parts}}], "responseId": "r"})
        .to_string()
}

fn last(parts: &Value) -> String {
    let candidate = json!({"content": {"role": "model", "parts": parts}, "finishReason": "STOP"});
    json!({"candidates": [candidate], "responseId": "r"}).to_string()
}

#[test]
fn a_stream_ends_at_the_parts_of_the_whole_answer() {
    let events = [
        event(&json!([{"text": "I ", "thought": true}])),
        event(&json!([{"text": "think.", "thought": true}])),
        event(&json!([{"text": "One "}])),
        event(&json!([{"text": "two."}, {"text": "", "thoughtSignature": "cw=="}])),
        event(
            &json!([{"executableCode": {"code": "1"}}, {"codeExecutionResult": {"output": "1"}}]),
        ),
        event(&json!([{"text": ""}])),
        last(
            &json!([{"functionCall": {"name": "f", "args": {"a": 1}}, "thoughtSignature": "cx=="}]),
        ),
    ];
    let whole = json!({"responseId": "r", "candidates": [{"finishReason": "STOP", "content": {"parts": [
        {"text": "I think.", "thought": true},
        {"text": "One two.", "thoughtSignature": "cw=="},
        {"executableCode": {"code": "1"}},
        {"codeExecutionResult": {"output": "1"}},
        {"functionCall": {"name": "f", "args": {"a": 1}}, "thoughtSignature": "cx=="},
    ]}}]});
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    let answer = streamed(&events);
    assert_eq!(answer, GenerateCodec.lift_answer(&json(&whole)).unwrap());
    assert_eq!(answer.message.parts.len(), 5);
    // The list form gives the same answer.
    let list = format!("[{}]", events.join(","));
    assert_eq!(streamed(&[&list]), answer);
    let pieces: Vec<String> = events
        .iter()
        .enumerate()
        .map(|(i, event)| format!("{}{event}", if i == 0 { "[" } else { ",\n" }))
        .collect();
    let mut pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
    pieces.push("]");
    assert_eq!(streamed(&pieces), answer);
}

#[test]
fn deltas_say_what_is_new() {
    let mut stream = GenerateCodec.answer_stream();
    let deltas =
        stream.push(&event(&json!([{"text": "a", "thought": true}, {"text": "b"}]))).unwrap();
    assert_eq!(deltas, [AnswerDelta::Reasoning("a".into()), AnswerDelta::Text("b".into())]);
    assert_eq!(stream.answer().message.plain_text(), "b");
    let deltas = stream
        .push(&last(&json!([{"functionCall": {"id": "c", "name": "f", "args": {"x": 1}}}])))
        .unwrap();
    let call = AnswerDelta::ToolCall { id: "c".into(), name: "f".into() };
    assert_eq!(deltas, [call, AnswerDelta::ToolInput(r#"{"x":1}"#.into())]);
    assert_eq!(stream.push(&event(&json!([{"text": "late"}]))).unwrap(), []);
    assert_eq!(stream.push("[DONE]").unwrap(), []);
    let answer = stream.finish();
    assert_eq!(answer.message.plain_text(), "b");
    assert_eq!(answer.stop, Some(StopReason::ToolCalls));
}

#[test]
fn input_in_pieces_is_put_together() {
    let piece = |arg: Value| {
        event(&json!([{"functionCall": {"partialArgs": [arg], "willContinue": true}}]))
    };
    let events = [
        event(
            &json!([{"functionCall": {"name": "f", "willContinue": true}, "thoughtSignature": "cw=="}]),
        ),
        piece(json!({"jsonPath": "$.rows[0].name", "stringValue": "Li", "willContinue": true})),
        piece(json!({"jsonPath": "$.rows[0].name", "stringValue": "sbon"})),
        piece(json!({"jsonPath": "$.rows[0].price", "numberValue": 0.50})),
        piece(json!({"jsonPath": "$.rows[1]", "boolValue": true})),
        piece(json!({"jsonPath": "$['a key']", "nullValue": "NULL_VALUE"})),
        event(&json!([{"functionCall": {}}])),
        last(&json!([{"text": ""}])),
    ];
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    let answer = streamed(&events);
    let [Part::ToolCall(call)] = answer.message.parts.as_slice() else { panic!("{answer:?}") };
    assert_eq!(
        call.input.as_written(),
        r#"{"rows":[{"name":"Lisbon","price":0.5},true],"a key":null}"#
    );
    assert!(call.metadata.get(SIGNATURE_KEY).is_some());
    assert_eq!((call.id.as_str(), answer.diagnostics.len()), ("call_r_1", 0));

    // A call that is cut off before its end is left out.
    let cut = streamed(&events[..4]);
    assert!(cut.message.parts.is_empty() && !cut.complete);
    assert_eq!(cut.diagnostics[0].code, DiagnosticCode::CutOff);
}

#[test]
fn pieces_that_do_not_fit_make_no_call() {
    let paths =
        ["rows", "$.rows[7]", "$.rows[99999999999999999999]", "$[0]", "$", "$.a[", "$x", "$['a"];
    let deep = format!("${}", ".a".repeat(100));
    for path in paths.into_iter().chain([deep.as_str()]) {
        let piece = json!({"jsonPath": path, "stringValue": "x"});
        let events = [
            event(&json!([{"functionCall": {"name": "f", "willContinue": true}}])),
            last(&json!([{"functionCall": {"partialArgs": [piece]}}])),
        ];
        let answer = streamed(&[&events[0], &events[1]]);
        assert!(answer.message.parts.is_empty(), "{path}: {answer:?}");
        assert_eq!(answer.diagnostics[0].code, DiagnosticCode::BrokenInput);
    }
}

#[test]
fn a_stream_that_breaks_off_leaves_what_is_whole() {
    let events = [
        event(&json!([{"toolCall": {"id": "t1"}}, {"toolResponse": {"id": "t1"}}])),
        event(
            &json!([{"text": "so"}, {"toolCall": {"id": "t2"}}, {"executableCode": {"code": "1"}}]),
        ),
    ];
    let answer = streamed(&[&events[0], &events[1]]);
    assert!(!answer.complete && answer.stop.is_none());
    assert_eq!(answer.diagnostics[0].code, DiagnosticCode::CutOff);
    assert_eq!(answer.message.parts.len(), 3);
    assert_eq!(answer.message.plain_text(), "so");

    let error = json!({"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}})
        .to_string();
    let answer = streamed(&[&event(&json!([{"text": "so"}])), &error]);
    assert_eq!(answer.error.as_ref().unwrap().status, Some(503));
    assert!(!answer.complete && answer.message.plain_text() == "so");
}

#[test]
fn an_event_that_cannot_be_read_is_an_error_and_what_came_before_stands() {
    let mut stream = GenerateCodec.answer_stream();
    stream.push(&event(&json!([{"text": "a"}]))).unwrap();
    for broken in ["{", "x", r#"{"candidates": 1}"#] {
        assert!(stream.push(broken).is_err(), "{broken}");
    }
    for unknown in ["", "  ", "[]", "{}", r#"{"heartbeat": 1}"#] {
        assert_eq!(stream.push(unknown).unwrap(), []);
    }
    assert_eq!(stream.finish().message.plain_text(), "a");
}

/// Regression test: an event was applied key by key until one could not be read, and the keys
/// before it stayed.
#[test]
fn an_event_that_cannot_be_read_changes_nothing() {
    let said = json!({"content": {"parts": [{"text": "b"}]}});
    let call = json!({"functionCall": {"name": "f", "willContinue": true}});
    let broken = [
        json!({"responseId": "s", "modelVersion": "m", "usageMetadata": {"promptTokenCount": "many"}}),
        json!({"responseId": "s", "modelVersion": 5}),
        json!({"usageMetadata": {"promptTokenCount": 9}, "promptFeedback": {"blockReason": {}}}),
        json!({"promptFeedback": {"blockReason": "SAFETY"}, "candidates": 1}),
        json!({"serverContent": {"outputTranscription": {"text": "b"}, "modelTurn": 1}}),
        json!({"serverContent": {"turnComplete": true},
            "toolCall": {"functionCalls": [{"id": "c"}]}}),
        json!({"candidates": [{"content": {"parts": [{"text": "b"}, call, {"text": "c", "thoughtSignature": 1}]}}]}),
        json!({"candidates": [said, {"index": 1}, 5]}),
        json!([{"candidates": [said]}, {"candidates": 1}]),
    ];
    let mut stream = GenerateCodec.answer_stream();
    stream.push(&event(&json!([{"text": "a"}]))).unwrap();
    let before = stream.answer();
    for broken in broken {
        assert!(stream.push(&broken.to_string()).is_err(), "{broken}");
        assert_eq!(stream.answer(), before, "{broken}");
    }
    // Nothing after the last event is read, even in a list.
    let list = format!("[{},{{\"candidates\": 1}}]", last(&json!([{"text": "!"}])));
    assert_eq!(stream.push(&list).unwrap(), [AnswerDelta::Text("!".into())]);
    assert_eq!(stream.finish().message.plain_text(), "a!");
}

#[test]
#[ignore = "needs test data; `cargo xtask test` runs it"]
fn recorded_input_in_pieces_is_put_together() {
    let folder = data("data/vercel-ai-fixtures/google");
    let answer = |name: &str| {
        let text = fs::read_to_string(folder.join(name)).unwrap();
        streamed(&text.lines().collect::<Vec<_>>())
    };
    let items =
        answer("google-stream-tool-call-array-arguments-missing-terminal-function-call.chunks.txt");
    let [Part::ToolCall(call)] = items.message.parts.as_slice() else { panic!("{items:?}") };
    let input: Value = serde_json::from_str(call.input.as_written()).unwrap();
    let expected = json!({"action": "add", "description": "Fresh red apple", "itemid": "apple_001", "price": 0.5});
    assert_eq!(input["operations"][0], expected);
    assert_eq!(input["operations"].as_array().unwrap().len(), 2);
    assert_eq!(items.stop, Some(StopReason::ToolCalls));

    let recipe = answer("google-vertex-stream-tool-call-arguments-nested.1.chunks.txt");
    let [Part::ToolCall(call)] = recipe.message.parts.as_slice() else { panic!("{recipe:?}") };
    let input: Value = serde_json::from_str(call.input.as_written()).unwrap();
    assert_eq!(input["recipe"]["ingredients"].as_array().unwrap().len(), 10);
    assert_eq!(input["recipe"]["steps"][9], "Let stand for 15 minutes before serving.");

    let text = answer("google-reasoning-gemini3.chunks.txt");
    let [Part::Text(part)] = text.message.parts.as_slice() else { panic!("{text:?}") };
    assert!(value(part.metadata.get(SIGNATURE_KEY).unwrap()).is_string());
    assert_eq!(text.usage.unwrap().reasoning, Some(302));
}

#[test]
fn what_is_said_aloud_is_words_and_sound() {
    let sound = |data: &str| {
        let blob = json!({"mimeType": "audio/pcm;rate=24000", "data": data});
        json!({"serverContent": {"modelTurn": {"parts": [{"inlineData": blob}]}}}).to_string()
    };
    let words =
        |text: &str| json!({"serverContent": {"outputTranscription": {"text": text}}}).to_string();
    let counted = json!({"serverContent": {}, "usageMetadata": {"promptTokenCount": 5, "responseTokenCount": 2}});
    let events = [
        r#"{"setupComplete": {}}"#.to_owned(),
        r#"{"serverContent": {"inputTranscription": {"text": "The fox"}}}"#.to_owned(),
        words("El"),
        sound("AAAA"),
        counted.to_string(),
        words(" zorro"),
        sound("BBBB"),
        counted.to_string(),
        r#"{"serverContent": {"turnComplete": true}}"#.to_owned(),
        words(" tarde"),
    ];
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    let answer = streamed(&events);
    assert_eq!(answer.message.plain_text(), "El zorro");
    let [Part::Text(_), Part::Audio(heard)] = answer.message.parts.as_slice() else {
        panic!("{:?}", answer.message.parts)
    };
    assert_eq!(heard.source, MediaSource::Base64("AAAABBBB".into()));
    assert_eq!((answer.complete, answer.stop.clone()), (true, Some(StopReason::Stop)));
    let usage = answer.usage.as_ref().unwrap();
    assert_eq!((usage.input, usage.output), (10, 4));
    let cut = streamed(&events[..6]);
    assert!(!cut.complete);
    assert_eq!(cut.message.plain_text(), "El zorro");

    let called =
        json!({"toolCall": {"functionCalls": [{"id": "c1", "name": "search", "args": {"q": 1}}]}});
    let answer = streamed(&[called.to_string().as_str()]);
    assert_eq!((answer.complete, answer.stop.clone()), (true, Some(StopReason::ToolCalls)));
    assert!(matches!(answer.message.parts.as_slice(), [Part::ToolCall(call)] if call.id == "c1"));
}
