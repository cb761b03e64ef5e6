//! Recorded exchanges with the Responses API: nothing is lost, and sent bodies differ only in known
//! ways.

use std::collections::BTreeMap;
use std::fs;

use context_codec_openai::responses::ResponsesCodec;
use context_core::model::ModelCodec;
use context_core::{Answer, Json, Message, MessageCodec, ModelRequest, Part};
use serde::Deserialize;
use serde_json::Value;

use crate::data;

/// The differences between recorded and lowered bodies, with their counts.
const DIFFERENCES: [(&str, usize); 2] =
    [(".instructions: \"\" left out", 6), (".tools[].description: null left out", 12)];

fn value(json: &Json) -> Value {
    json.parse().unwrap()
}

/// Adds the differences of two values, without positions.
fn differences(from: &Value, to: &Value, path: &str, found: &mut BTreeMap<String, usize>) {
    match (from, to) {
        (Value::Object(a), Value::Object(b)) => {
            for (key, value) in a {
                match b.get(key) {
                    Some(other) => differences(value, other, &format!("{path}.{key}"), found),
                    None => {
                        *found
                            .entry(format!("{path}.{key}: {} left out", short(value)))
                            .or_default() += 1
                    }
                }
            }
            for (key, value) in b.iter().filter(|(key, _)| !a.contains_key(*key)) {
                *found.entry(format!("{path}.{key}: {} added", short(value))).or_default() += 1;
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (a, b) in a.iter().zip(b) {
                differences(a, b, &format!("{path}[]"), found);
            }
        }
        _ if from == to => {}
        _ => {
            *found.entry(format!("{path}: {} becomes {}", short(from), short(to))).or_default() += 1
        }
    }
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    text.chars().take(80).collect()
}

#[test]
#[ignore = "needs test data; `cargo xtask test` runs it"]
fn every_recorded_request_comes_back_and_is_sent_as_it_was() {
    let exchanges = data::exchanges("openai-responses");
    let (mut found, mut equal, total) = (BTreeMap::new(), 0, exchanges.len());
    for exchange in exchanges {
        let (name, body) = (exchange.name, exchange.request);
        let lifted =
            ResponsesCodec.lift(&Json::from(&body)).unwrap_or_else(|e| panic!("{name}: {e}"));
        let back = ResponsesCodec.lower_source(&lifted.request);
        assert_eq!(value(&back.body), body, "{name}");
        assert_eq!(back.diagnostics, [], "{name}");
        let sent = ResponsesCodec.lower(&lifted.request).unwrap_or_else(|e| panic!("{name}: {e}"));
        let sent = value(&sent.body);
        equal += usize::from(sent == body);
        differences(&body, &sent, "", &mut found);
    }
    println!("{equal} of {total} are sent as they were");
    assert_eq!(total, 57);
    let expected: BTreeMap<_, _> =
        DIFFERENCES.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
    assert_eq!(found, expected);
}

/// Returns the body of the answer at the end of a stream.
fn ending(events: &[&str]) -> Option<Json> {
    #[derive(Deserialize)]
    struct Event {
        response: Json,
    }
    let event: Event = serde_json::from_str(events.last()?).ok()?;
    Some(event.response)
}

fn question_and(answer: Answer) -> ModelRequest {
    ModelRequest::new([Message::from("Go on."), answer.message])
}

/// Checks that an answer can be sent back wherever it breaks off. Returns the whole answer.
#[track_caller]
fn every_prefix_can_be_sent(name: &str, events: &[&str]) -> Answer {
    let mut stream = ResponsesCodec.answer_stream();
    for (i, event) in events.iter().enumerate() {
        let _ = stream.push(event);
        let answer = stream.answer();
        if i + 1 < events.len() {
            assert!(!answer.complete, "{name}: {event}");
        }
        sound(name, &ResponsesCodec.lower(&question_and(answer)).unwrap().body);
    }
    stream.finish()
}

/// Checks that calls have outputs, outputs have calls, thoughts have the item they belong to, and
/// ids are unique.
#[track_caller]
pub(crate) fn sound(name: &str, body: &Json) {
    let body = value(body);
    let items = body["input"].as_array().unwrap();
    let ids = |end: &str| -> Vec<_> {
        let of = items.iter().filter(|item| {
            let kind = item["type"].as_str().unwrap_or_default();
            kind.ends_with(end)
                && kind != "mcp_call"
                && kind != "web_search_call"
                && kind != "image_generation_call"
                && kind != "code_interpreter_call"
        });
        let mut ids: Vec<_> = of.filter_map(|item| item["call_id"].as_str()).collect();
        ids.sort_unstable();
        ids
    };
    assert_eq!(
        ids("_call"),
        ids("_call_output").iter().copied().chain(ids("search_output")).collect::<Vec<_>>(),
        "{name}: {body}"
    );
    for pair in items.windows(2).filter(|pair| pair[0]["type"] == "reasoning") {
        assert_ne!(pair[1]["role"], "user", "{name}: {body}");
        assert_ne!(pair[1]["type"], "function_call_output", "{name}: {body}");
    }
    assert!(items.last().is_none_or(|item| item["type"] != "reasoning"), "{name}: {body}");
    let mut item_ids: Vec<_> = items.iter().filter_map(|item| item["id"].as_str()).collect();
    let all = item_ids.len();
    item_ids.sort_unstable();
    item_ids.dedup();
    assert_eq!(item_ids.len(), all, "{name}: {body}");
}

#[test]
#[ignore = "needs test data; `cargo xtask test` runs it"]
fn every_recorded_answer_is_read() {
    let exchanges = data::exchanges("openai-responses");
    let (mut whole, mut streams) = (0, 0);
    for exchange in exchanges {
        let name = exchange.name;
        let events: Vec<_> = exchange.events.iter().map(String::as_str).collect();
        let answer = if events.is_empty() {
            whole += 1;
            ResponsesCodec.lift_answer(&exchange.answer.into()).unwrap()
        } else {
            streams += 1;
            let answer = every_prefix_can_be_sent(&name, &events);
            let body = ending(&events).expect("it ended");
            assert_eq!(answer, ResponsesCodec.lift_answer(&body).unwrap(), "{name}");
            answer
        };
        assert!(answer.usage.is_some_and(|usage| usage.total() > 0) || !answer.complete, "{name}");
        assert!(!answer.message.parts.is_empty() || !answer.complete, "{name}");
        assert_eq!(answer.diagnostics, [], "{name}");
        sound(&name, &ResponsesCodec.lower(&question_and(answer)).unwrap().body);
    }
    println!("{whole} whole answers, {streams} streams");
    assert_eq!((whole, streams), (48, 9));
}

#[test]
#[ignore = "needs test data; `cargo xtask test` runs it"]
fn fixtures_say_the_same_streamed_and_whole() {
    let folder = data::folder();
    let folder = folder.join("vercel-ai-fixtures/openai/responses");
    let (mut bodies, mut streams, mut pairs) = (0, 0, 0);
    for path in data::files(&folder, "json").into_iter().chain(data::files(&folder, "txt")) {
        let text = fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.ends_with(".json") {
            bodies += 1;
            let answer = ResponsesCodec.lift_answer(&Json::from_text(text).unwrap()).unwrap();
            assert_eq!(answer.error.is_some(), answer.message.parts.is_empty(), "{name}");
            continue;
        }
        let lines: Vec<_> = text.lines().filter(|line| !line.is_empty()).collect();
        // Some files hold the answers of several steps.
        let starts = lines
            .iter()
            .enumerate()
            .filter(|(_, line)| line.contains(r#""type":"response.created""#));
        let mut starts: Vec<_> = starts.map(|(i, _)| i).collect();
        starts.push(lines.len());
        for step in starts.windows(2) {
            streams += 1;
            let events = &lines[step[0]..step[1]];
            let answer = every_prefix_can_be_sent(&name, events);
            assert!(!answer.message.parts.is_empty(), "{name}");
            if let Some(body) = ending(events) {
                assert_eq!(answer, ResponsesCodec.lift_answer(&body).unwrap(), "{name}");
            }
            let whole = path.with_file_name(name.replace(".chunks.txt", ".json"));
            if let Ok(whole) = fs::read_to_string(whole) {
                pairs += 1;
                let whole = ResponsesCodec.lift_answer(&Json::from_text(whole).unwrap()).unwrap();
                assert_eq!(shape(&answer), shape(&whole), "{name}");
                if name.starts_with("parallel-tool-call-wrapper") {
                    assert_eq!(answer.message, whole.message);
                }
            }
        }
    }
    println!("{bodies} whole answers, {streams} streams, {pairs} recorded both ways");
    assert_eq!((bodies, streams, pairs), (13, 17, 6));
}

/// Returns the kinds of an answer's parts. Most pairs were recorded in two calls, so the words
/// differ.
fn shape(answer: &Answer) -> Vec<String> {
    let say = |part: &Part| match part {
        Part::Text(_) => "text".to_owned(),
        Part::Reasoning(_) => "thought".to_owned(),
        Part::ToolCall(call) => format!("call of {}", call.name),
        Part::Opaque(block) => value(&block.value)["type"].to_string(),
        other => panic!("{other:?}"),
    };
    answer.message.parts.iter().map(say).collect()
}
