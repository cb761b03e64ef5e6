//! Recorded conversations of another client, if they are present.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;

use context_codec_gemini::generate::GenerateCodec;
use context_codec_gemini::interactions;
use context_core::model::{ModelCodec, StopReason, WireError};
use context_core::{Json, MessageCodec, Part};
use context_simulator::recordings::{Exchange, exchanges};
use serde_json::Value;

use crate::shared::{answered, check_contents, data, files, json, streamed, value};

/// Returns the recorded calls of this interface.
fn calls() -> Vec<Exchange> {
    exchanges(&data("data/pydantic-ai-cassettes"), "gemini")
}

/// Names the differences between a sent body and its source.
fn differences(sent: &Value, source: &Value) -> Vec<&'static str> {
    let mut names = Vec::new();
    let mut source = source.clone();
    let mut name = |found: bool, name: &'static str| {
        if found {
            names.push(name);
        }
    };
    let system = source.get_mut("systemInstruction").and_then(Value::as_object_mut);
    name(system.is_some_and(|system| system.remove("role").is_some()), "system_role");
    let before = source.clone();
    camel(&mut source);
    name(source != before, "snake_case");
    name(drop_blank(&mut source), "blank");
    name(join(&mut source), "joined");
    name(grow(&mut source), "no_arguments");
    name(*sent != source, "other");
    names
}

/// Changes the keys that are written in camel case.
fn camel(value: &mut Value) {
    let pairs = [
        ("inline_data", "inlineData"),
        ("mime_type", "mimeType"),
        ("parameters_json_schema", "parametersJsonSchema"),
    ];
    match value {
        Value::Object(map) => {
            for (snake, camel) in pairs {
                if let Some(value) = map.remove(snake) {
                    map.insert(camel.to_owned(), value);
                }
            }
            map.values_mut().for_each(camel);
        }
        Value::Array(items) => items.iter_mut().for_each(camel),
        _ => {}
    }
}

/// Drops blank texts, and contents that have nothing else.
fn drop_blank(body: &mut Value) -> bool {
    let before = body.clone();
    let contents = body["contents"].as_array_mut().unwrap();
    for content in contents.iter_mut() {
        content["parts"]
            .as_array_mut()
            .unwrap()
            .retain(|part| part.get("text").is_none_or(|text| text != ""));
    }
    contents.retain(|content| content["parts"] != serde_json::json!([]));
    *body != before
}

/// Joins neighbours of one role.
fn join(body: &mut Value) -> bool {
    let contents = body["contents"].as_array_mut().unwrap();
    let before = contents.len();
    let mut joined: Vec<Value> = Vec::new();
    for mut content in std::mem::take(contents) {
        match joined.last_mut().filter(|last| last["role"] == content["role"]) {
            Some(last) => {
                let parts = content["parts"].as_array_mut().unwrap();
                last["parts"].as_array_mut().unwrap().append(parts);
            }
            None => joined.push(content),
        }
    }
    *contents = joined;
    contents.len() != before
}

/// Adds the empty arguments of calls that have none.
fn grow(body: &mut Value) -> bool {
    let mut found = false;
    for content in body["contents"].as_array_mut().unwrap() {
        for part in content["parts"].as_array_mut().unwrap() {
            if let Some(call) = part.get_mut("functionCall")
                && call.get("args").is_none()
            {
                call["args"] = Value::Object(serde_json::Map::new());
                found = true;
            }
        }
    }
    found
}

#[test]
#[ignore = "needs test data; `cargo xtask test` runs it"]
fn every_recorded_body_comes_back_and_what_is_sent_differs_in_named_ways() {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut bodies = 0;
    // Set to a file's name to inspect the bodies with another tool.
    let mut lines =
        std::env::var_os("CONTEXT_TEST_OUT").map(|path| fs::File::create(path).unwrap());
    for Exchange { name: file, request, .. } in calls() {
        let body = json(&request);
        bodies += 1;
        let lifted = GenerateCodec.lift(&body).unwrap_or_else(|error| panic!("{file}: {error}"));
        let source = GenerateCodec.lower_source(&lifted.request);
        assert_eq!(source.diagnostics, [], "{file}");
        assert_eq!(value(&source.body), request, "{file}");
        let sent = GenerateCodec.lower(&lifted.request).unwrap();
        let sent_value = value(&sent.body);
        check_contents(&sent_value);
        for name in differences(&sent_value, &request) {
            assert_ne!(name, "other", "{file}: {sent_value:#} instead of {request:#}");
            *counts.entry(name).or_default() += 1;
        }
        if let Some(lines) = &mut lines {
            let line = serde_json::json!({"provider": "google", "id": file, "body": sent_value});
            writeln!(lines, "{line}").unwrap();
        }
        // A sent body that is lifted is sent again unchanged.
        let again = GenerateCodec.lift(&sent.body).unwrap();
        assert_eq!(value(&GenerateCodec.lower(&again.request).unwrap().body), sent_value, "{file}");
    }
    if bodies > 0 {
        println!("{bodies} bodies: {counts:?}");
        assert_eq!(bodies, 74);
        let expected = [("blank", 1), ("joined", 11), ("snake_case", 44), ("system_role", 17)];
        assert_eq!(counts, expected.into_iter().collect());
    }
}

#[test]
#[ignore = "needs test data; `cargo xtask test` runs it"]
fn every_recorded_answer_decodes_and_can_be_sent_back() {
    for Exchange { name: file, answer, events, .. } in calls() {
        let answer = if events.is_empty() {
            GenerateCodec
                .lift_answer(&json(&answer))
                .unwrap_or_else(|error| panic!("{file}: {error}"))
        } else {
            streamed(&events.iter().map(String::as_str).collect::<Vec<_>>())
        };
        assert!(answer.complete && answer.error.is_none(), "{file}: {answer:?}");
        assert_eq!(answer.diagnostics, [], "{file}");
        assert!(answer.usage.is_some() && answer.model.is_some() && answer.id.is_some(), "{file}");
        assert!(answer.stop.is_some(), "{file}");
        if answer.stop == Some(StopReason::ContentFilter) {
            assert!(answer.message.parts.is_empty(), "{file}");
            continue;
        }
        assert!(!answer.message.parts.is_empty(), "{file}");
        let sent = GenerateCodec.lower(&answered(&answer.message)).unwrap();
        check_contents(&value(&sent.body));
    }
}

#[test]
#[ignore = "needs test data; `cargo xtask test` runs it"]
fn recorded_answers_and_streams_of_another_client_decode() {
    let folder = data("data/vercel-ai-fixtures/google");
    let mut seen = 0;
    for path in files(&folder).into_iter().filter(|path| path.parent() == Some(folder.as_path())) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).unwrap();
        let answer = if name.ends_with(".json") {
            GenerateCodec.lift_answer(&Json::from_text(text.trim()).unwrap()).unwrap()
        } else {
            let events: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
            // Cut off anywhere, it is still an answer that can be sent.
            for n in 0..events.len() {
                let cut = streamed(&events[..n]);
                assert!(!cut.complete, "{name}");
                let sent = GenerateCodec.lower(&answered(&cut.message)).unwrap();
                check_contents(&value(&sent.body));
            }
            streamed(&events)
        };
        seen += 1;
        if name.contains("429") {
            assert!(answer.error.is_some() && answer.message.parts.is_empty());
            continue;
        }
        assert!(answer.complete && answer.error.is_none(), "{name}: {answer:?}");
        assert_eq!(answer.diagnostics, [], "{name}");
        assert!(!answer.message.parts.is_empty(), "{name}");
    }
    assert_eq!(seen, 7);
}

#[test]
#[ignore = "needs test data; `cargo xtask test` runs it"]
fn a_recorded_spoken_answer_decodes() {
    let path = "data/vercel-ai-fixtures/google/speech-translation/google-live-speech-translation.chunks.txt";
    let path = data(path);
    let text = fs::read_to_string(path).unwrap();
    let events: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    for n in 0..=events.len() {
        let cut = streamed(&events[..n]);
        match GenerateCodec.lower(&answered(&cut.message)) {
            Ok(sent) => check_contents(&value(&sent.body)),
            Err(error) => assert!(matches!(error, WireError::NothingToSend), "{error}"),
        }
    }
    let answer = streamed(&events);
    assert_eq!(
        answer.message.plain_text(),
        "El zorro marrón rápido salta sobre el perro perezoso."
    );
    assert_eq!(answer.message.parts.len(), 3);
    // The recording lacks the end of the turn.
    assert!(!answer.complete && answer.error.is_none());
    assert_eq!(answer.usage.map(|usage| (usage.input, usage.output)), Some((150, 150)));
}

#[test]
#[ignore = "needs test data; `cargo xtask test` runs it"]
fn recorded_interactions_decode() {
    let folder = data("data/vercel-ai-fixtures/google/interactions");
    let mut seen = 0;
    for path in files(&folder) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).unwrap();
        let answer = if name.ends_with(".json") {
            interactions::lift_answer(&Json::from_text(text.trim()).unwrap()).unwrap()
        } else {
            let events: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
            let decode = |events: &[&str]| {
                let mut stream = interactions::answer_stream();
                events.iter().for_each(|event| drop(stream.push(event).unwrap()));
                stream.finish()
            };
            for n in 0..events.len() {
                let cut = decode(&events[..n]);
                assert!(!cut.complete, "{name}");
                check_contents(&value(&GenerateCodec.lower(&answered(&cut.message)).unwrap().body));
            }
            decode(&events)
        };
        seen += 1;
        assert!(answer.complete && answer.error.is_none(), "{name}: {answer:?}");
        assert_eq!(answer.diagnostics, [], "{name}");
        let expected =
            if name.starts_with("tool-call") { StopReason::ToolCalls } else { StopReason::Stop };
        assert_eq!(answer.stop, Some(expected), "{name}");
        assert!(answer.usage.is_some_and(|usage| usage.reasoning > Some(0)), "{name}");
        let says_something = answer
            .message
            .parts
            .iter()
            .any(|part| matches!(part, Part::Text(_) | Part::ToolCall(_)));
        assert!(says_something, "{name}");
        check_contents(&value(&GenerateCodec.lower(&answered(&answer.message)).unwrap().body));
    }
    assert_eq!(seen, 6);
}
