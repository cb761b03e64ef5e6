//! Contract tests of the codec, and an example of its form.

use std::collections::HashSet;

use context_codec_kit::provider_rules::{Rule, Violation};
use context_conformance::codec::assert_codec_conforms;
use context_core::model::{AnswerDelta, FunctionTool, ModelCodec, StopReason};
use context_core::{Json, Message, MessageCodec, ModelRequest, Part, Role};
use custom_codec::AcmeCodec;
use serde_json::{Value, json};

#[test]
fn it_keeps_the_contract() {
    assert_codec_conforms(&AcmeCodec, rules);
}

/// The rules of the provider, from its documentation. They share no code with the codec.
fn rules(body: &Value) -> Vec<Violation> {
    let mut broken = Vec::new();
    let mut refuse = |path: String, rule, message: &str| {
        broken.push(Violation::new(path, rule, message));
    };
    let keys = ["model", "system", "limit", "stream", "tools", "messages"];
    for key in body.as_object().into_iter().flat_map(|body| body.keys()) {
        if !keys.contains(&key.as_str()) {
            refuse(key.clone(), Rule::UnknownKey, "is none of the form");
        }
    }
    let mut names = HashSet::new();
    for (i, tool) in items(&body["tools"]).iter().enumerate() {
        if !is_name(&tool["name"], 64) || !names.insert(tool["name"].to_string()) {
            refuse(format!("tools[{i}].name"), Rule::Name, "is not allowed, or there twice");
        }
    }
    let (mut ids, mut open, mut last, mut begun) = (HashSet::new(), Vec::new(), "", false);
    for (i, message) in items(&body["messages"]).iter().enumerate() {
        let at = |key: &str| format!("messages[{i}].{key}");
        let role = message["role"].as_str().unwrap_or_default();
        let [results, calls] = [items(&message["results"]), items(&message["calls"])];
        begun |= role == "user";
        if !["system", "user", "assistant", "tool"].contains(&role) || !begun && role != "system" {
            refuse(at("role"), Rule::Role, "is not allowed here");
        }
        if role != "tool" && !open.is_empty() {
            refuse(at("role"), Rule::Pairing, "calls before it have no results");
        }
        if !results.is_empty() && role != "tool" || !calls.is_empty() && role != "assistant" {
            refuse(at("role"), Rule::Place, "results are the tool's, calls the assistant's");
        }
        let text = message.get("text").map(|text| text.as_str().unwrap_or_default().trim());
        if text.is_some_and(str::is_empty)
            || text.is_none() && results.is_empty() && calls.is_empty()
        {
            refuse(at("text"), Rule::Empty, "has no words");
        }
        for result in results {
            match open.iter().position(|id| *id == &result["id"]) {
                Some(position) => drop(open.remove(position)),
                None => refuse(at("results"), Rule::Pairing, "there is no such call"),
            }
        }
        for call in calls {
            if !is_name(&call["id"], 40) || !ids.insert(call["id"].to_string()) {
                refuse(at("calls"), Rule::Id, "is not allowed, or there twice");
            }
            if !is_name(&call["name"], 64) {
                refuse(at("calls"), Rule::Name, "is not allowed");
            }
            open.push(&call["id"]);
        }
        last = role;
    }
    if !open.is_empty() || !matches!(last, "user" | "tool" | "system") {
        refuse("messages".to_owned(), Rule::Role, "the assistant has the last word, or nobody");
    }
    broken
}

fn items(list: &Value) -> &[Value] {
    list.as_array().map_or(&[], Vec::as_slice)
}

fn is_name(name: &Value, longest: usize) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let name = name.as_str().unwrap_or_default();
    !name.is_empty() && name.len() <= longest && name.bytes().all(letter)
}

#[test]
fn a_turn_is_sent_and_its_answer_is_read() -> Result<(), Box<dyn std::error::Error>> {
    let request = ModelRequest::new([
        Message::from("When is the next train to Porto?"),
        Message::new(Role::Assistant, [Part::tool_call("c1", "find", json!({"to": "Porto"}))]),
        Message::new(Role::Tool, [Part::tool_result("c1", "10:05")]),
    ])
    .model("acme-1")
    .system("You book trips.")
    .tools([FunctionTool::new("find", json!({"type": "object"}))]);
    let sent = AcmeCodec.lower(&request)?;
    assert!(sent.diagnostics.is_empty(), "{:?}", sent.diagnostics);
    let expected = json!({
        "model": "acme-1",
        "system": "You book trips.",
        "tools": [{"name": "find", "schema": {"type": "object"}}],
        "messages": [
            {"role": "user", "text": "When is the next train to Porto?"},
            {"role": "assistant", "calls": [{"id": "c1", "name": "find", "input": {"to": "Porto"}}]},
            {"role": "tool", "results": [{"id": "c1", "text": "10:05"}]},
        ],
    });
    assert_eq!(sent.body.parse::<Value>()?, expected);

    let mut stream = AcmeCodec.answer_stream();
    assert_eq!(stream.push(r#"{"text": "At "}"#)?, [AnswerDelta::Text("At ".into())]);
    stream.push(r#"{"text": "10:05."}"#)?;
    stream.push(r#"{"stop": "end", "usage": {"input": 9, "output": 2}}"#)?;
    let answer = stream.finish();
    assert_eq!(answer.message.plain_text(), "At 10:05.");
    assert_eq!((answer.stop, answer.complete), (Some(StopReason::Stop), true));
    Ok(())
}

#[test]
fn what_the_form_cannot_hold_is_kept_until_the_request_changes()
-> Result<(), Box<dyn std::error::Error>> {
    let body = json!({"messages": [{"role": "user", "text": "Hi", "mood": "good"}], "seed": 7});
    let mut lifted = AcmeCodec.lift(&Json::from(&body))?.request;
    assert_eq!(AcmeCodec.lower_source(&lifted).body.parse::<Value>()?, body);
    lifted.messages.push(Message::from("Still there?").into());
    let changed = AcmeCodec.lower_source(&lifted);
    assert_eq!(changed.diagnostics.len(), 1);
    assert_eq!(
        changed.body.parse::<Value>()?["messages"][0],
        json!({"role": "user", "text": "Hi"})
    );
    Ok(())
}

#[test]
fn a_call_that_was_cut_off_is_left_out() -> Result<(), Box<dyn std::error::Error>> {
    let mut stream = AcmeCodec.answer_stream();
    stream.push(r#"{"call": {"id": "c1", "name": "find"}}"#)?;
    stream.push(r#"{"input": "{\"to\":"}"#)?;
    let answer = stream.finish();
    assert!(answer.message.parts.is_empty() && !answer.complete);
    assert_eq!(answer.diagnostics.len(), 1);
    Ok(())
}
