//! Chat Completions: recorded requests are sent as they were read, or differ in named ways;
//! recorded answers are read.

use std::collections::BTreeMap;

use context_codec_openai::chat::ChatCodec;
use context_core::model::Unanswered;
use context_core::{Json, MessageCodec};
use serde_json::{Value, json};

use crate::chat::real_chats;
use crate::data;

fn value(json: &Json) -> Value {
    json.parse().unwrap()
}

/// The differences between sent bodies and their sources, by name and count. A difference without a
/// name is printed.
#[derive(Default)]
struct Differences(BTreeMap<String, usize>);

impl Differences {
    fn add(&mut self, name: impl Into<String>) {
        *self.0.entry(name.into()).or_default() += 1;
    }

    fn message(&mut self, before: &Value, after: &Value) {
        let mut before = before.clone();
        let (Some(b), Some(a)) = (before.as_object_mut(), after.as_object()) else {
            return self.add(format!("no name: {before} {after}"));
        };
        if a.contains_key("tool_calls") && !a.contains_key("content") {
            match b.remove("content") {
                Some(Value::Null) => self.add("content null beside calls is left out"),
                Some(Value::String(text)) if text.trim().is_empty() => {
                    self.add("blank content beside calls is left out")
                }
                None => {}
                content => self.add(format!("no name: {content:?}")),
            }
        }
        for key in ["tool_calls", "function_call", "refusal"] {
            if b.get(key).is_some_and(Value::is_null) {
                b.remove(key);
                self.add("a null beside the content is left out");
            }
        }
        if b["role"] == "tool" && b.remove("name").is_some() {
            self.add("the name of a tool message is left out");
        }
        if let Some(ids) = b.remove("tool_call_ids") {
            b.insert("tool_call_id".into(), ids[0].clone());
            self.add("a list of one call id is the id");
        }
        if b["role"] == "function" {
            *b =
                json!({"role": "tool", "content": b["content"], "tool_call_id": a["tool_call_id"]})
                    .as_object()
                    .unwrap()
                    .clone();
            self.add("a legacy result is a tool message");
        }
        if let Some(call) = b.remove("function_call") {
            let id = a["tool_calls"][0]["id"].clone();
            b.insert(
                "tool_calls".into(),
                json!([{"id": id, "type": "function", "function": call}]),
            );
            self.add("a legacy call is a tool call");
        }
        let calls = b.get_mut("tool_calls").and_then(Value::as_array_mut);
        let sent = a.get("tool_calls").and_then(Value::as_array);
        for (call, sent) in calls.into_iter().flatten().zip(sent.into_iter().flatten()) {
            let (arguments, sent_arguments) =
                (&call["function"]["arguments"], &sent["function"]["arguments"]);
            if arguments != sent_arguments
                && arguments.as_str().map(str::trim) == sent_arguments.as_str().map(str::trim)
            {
                self.add("space around arguments is left out");
                call["function"]["arguments"] = sent_arguments.clone();
            }
            if call["id"] != sent["id"] {
                self.add("an id that repeats gets a number");
                call["id"] = sent["id"].clone();
            }
        }
        if let (Some(id), Some(sent)) = (b.get_mut("tool_call_id"), a.get("tool_call_id"))
            && id != sent
        {
            self.add("an id that repeats gets a number");
            *id = sent.clone();
        }
        if let [part] = b.get("content").and_then(Value::as_array).map_or(&[][..], Vec::as_slice)
            && Some(&part["text"]) == a.get("content")
        {
            let text = part["text"].clone();
            b.insert("content".into(), text);
            self.add("a list of one text is the text");
        }
        let known = ["role", "content", "name", "tool_calls", "tool_call_id", "refusal"];
        for key in
            b.keys().filter(|key| !known.contains(&key.as_str())).cloned().collect::<Vec<_>>()
        {
            b.remove(&key);
            self.add("a key of no message is left out");
        }
        if before != *after {
            self.add(format!("no name: {before} {after}"));
        }
    }

    fn body(&mut self, before: &Value, after: &Value) {
        let mut read = before["messages"].as_array().unwrap().iter().peekable();
        for message in after["messages"].as_array().unwrap() {
            if message["content"] == Unanswered::TEXT
                && read.peek().is_none_or(|next| next["role"] != "tool")
            {
                self.add("a call without a result gets one");
            } else {
                self.message(read.next().unwrap_or(&Value::Null), message);
            }
        }
        read.for_each(|message| self.add(format!("no name: {message} is not sent")));
        let rest = |body: &Value| {
            let mut body = body.clone();
            body.as_object_mut().unwrap().remove("messages");
            body
        };
        if rest(before) != rest(after) {
            self.add(format!("no name: {} {}", rest(before), rest(after)));
        }
    }
}

/// Writes bodies to the file that `CONTEXT_WIRE_BODIES` names, if it is set, for the check against
/// the published types.
fn keep(bodies: &[Value]) {
    if let Some(file) = std::env::var_os("CONTEXT_WIRE_BODIES") {
        let line = |body: &Value| json!({"provider": "openai", "body": body}).to_string() + "\n";
        let lines: String = bodies.iter().map(line).collect();
        use std::io::Write;
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(file).unwrap();
        file.write_all(lines.as_bytes()).unwrap();
    }
}

/// Lifts a body and lowers it both ways.
fn there_and_back(body: &Value, differences: &mut Differences) -> Value {
    let lifted = ChatCodec.lift(&body.into()).unwrap();
    let back = ChatCodec.lower_source(&lifted.request);
    assert_eq!(value(&back.body), *body);
    assert_eq!(back.diagnostics, []);
    let sent = value(&ChatCodec.lower(&lifted.request).unwrap().body);
    differences.body(body, &sent);
    sent
}

#[test]
#[ignore = "needs test data; `cargo xtask test` runs it"]
fn recorded_bodies_come_back() {
    let exchanges = data::exchanges("openai");
    let mut differences = Differences::default();
    let mut sent = Vec::new();
    for exchange in &exchanges {
        sent.push(there_and_back(&exchange.request, &mut differences));
    }
    keep(&sent);
    println!("{} bodies: {:#?}", exchanges.len(), differences.0);
    assert_eq!(exchanges.len(), 18);
    assert_eq!(
        differences.0,
        BTreeMap::from([("content null beside calls is left out".to_owned(), 1)])
    );
}

#[test]
#[ignore = "needs test data; `cargo xtask test` runs it"]
fn recorded_conversations_go_out() {
    let chats = real_chats();
    let mut differences = Differences::default();
    let mut sent = Vec::new();
    for messages in &chats {
        sent.push(there_and_back(&json!({"model": "m", "messages": messages}), &mut differences));
    }
    keep(&sent);
    println!("{} chats: {:#?}", chats.len(), differences.0);
    let expected = [
        ("a call without a result gets one", 17),
        ("a key of no message is left out", 364),
        ("a legacy call is a tool call", 41),
        ("a legacy result is a tool message", 24),
        ("a list of one call id is the id", 22),
        ("an id that repeats gets a number", 48),
        ("content null beside calls is left out", 319),
        ("the name of a tool message is left out", 313),
    ];
    assert_eq!(differences.0, expected.map(|(name, count)| (name.to_owned(), count)).into());
}
