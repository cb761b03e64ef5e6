//! Recorded exchanges: every request is restored, every answer is read.

use std::collections::BTreeMap;

use context_codec_anthropic::messages::{DEFAULT_MAX_TOKENS, MessagesCodec};
use context_codec_kit::provider_rules::{Rule, check_body};
use context_core::model::{ModelCodec, StopReason};
use context_core::{Answer, Json, Message, MessageCodec, ModelRequest};
use context_simulator::check_with_official_clients;
use context_simulator::recordings::folder;
use serde_json::{Value, json};

use crate::data;

fn value(json: &Json) -> Value {
    json.parse().expect("JSON parses")
}

/// Returns the body that [`MessagesCodec`] should send for a body, and counts the differences by
/// name.
fn expected(mut body: Value, names: &mut BTreeMap<&'static str, usize>) -> Value {
    let mut count = |name| *names.entry(name).or_default() += 1;
    if body["max_tokens"].is_null() {
        count("a number of tokens is sent");
        body["max_tokens"] = json!(DEFAULT_MAX_TOKENS);
    }
    let mut messages: Vec<Value> = Vec::new();
    for mut message in body["messages"].as_array().expect("messages").clone() {
        if message["role"] == "system" && !messages.is_empty() {
            count("a system message between others is said by the user");
            message["role"] = json!("user");
            let blocks = message["content"].as_array_mut().expect("blocks");
            let before = blocks.len();
            blocks.retain(|block| block["type"] == "text");
            (before > blocks.len())
                .then(|| count("a change of tools between messages is left out"));
            for block in blocks.iter_mut() {
                block["text"] =
                    format!("<system>\n{}\n</system>", block["text"].as_str().unwrap()).into();
            }
            if blocks.is_empty() {
                continue;
            }
        }
        let is_result = |block: &Value| block["type"] == "tool_result";
        let blocks = |message: &Value| message["content"].as_array().cloned().unwrap_or_default();
        match messages.last_mut() {
            Some(last) if message["role"] == "user" && blocks(last).iter().all(is_result) => {
                count("what the user says behind results is one message with them");
                let joined = last["content"].as_array_mut().expect("blocks");
                joined.extend(blocks(&message));
            }
            _ => messages.push(message),
        }
    }
    body["messages"] = messages.into();
    body
}

#[test]
#[ignore = "needs test data; `cargo xtask test` runs it"]
fn requests_come_back_and_are_sent_as_they_were_but_for_named_differences() {
    let shared = folder().expect("test data");
    let (mut names, mut bodies, mut equal) = (BTreeMap::new(), Vec::new(), 0);
    for each in data::exchanges(&shared).into_iter().chain(data::counts(&shared)) {
        let lifted = MessagesCodec.lift(&(&each.request).into()).expect("a request").request;
        let back = MessagesCodec.lower_source(&lifted);
        assert_eq!(value(&back.body), each.request, "{}", each.name);
        assert_eq!(back.diagnostics, [], "{}", each.name);
        let sent = value(&MessagesCodec.lower(&lifted).expect("something to send").body);
        assert_eq!(sent, expected(each.request.clone(), &mut names), "{}", each.name);
        equal += usize::from(sent == each.request);
        // The recordings used a beta whose name is in no body.
        let mut checked = sent.clone();
        checked["betas"] = json!(["any"]);
        bodies.push(checked);
    }
    let counts: Vec<_> = names.into_iter().collect();
    let expected = [
        ("a change of tools between messages is left out", 1),
        ("a number of tokens is sent", 1),
        ("a system message between others is said by the user", 6),
        ("what the user says behind results is one message with them", 1),
    ];
    assert_eq!((bodies.len(), equal, counts), (70, 64, expected.to_vec()));
    let asked: Vec<_> = bodies.iter().map(|body| ("anthropic", body)).collect();
    match check_with_official_clients(&shared, &asked) {
        Ok(said) => assert_eq!(said.concat(), Vec::<String>::new()),
        Err(absent) => println!("no second opinion: {absent}"),
    }
}

/// Reads a stream; the answer after every prefix can be sent.
fn streamed<'e>(events: impl Iterator<Item = &'e str>, name: &str) -> Answer {
    let mut stream = MessagesCodec.answer_stream();
    for (i, event) in events.enumerate() {
        stream.push(event).unwrap_or_else(|error| panic!("{name}: {error} in {event}"));
        // Most events only add to a text.
        if i % 10 == 0 || !event.contains("_delta") {
            assert_sendable(stream.answer().message, name);
        }
    }
    stream.finish()
}

fn assert_sendable(answer: Message, name: &str) {
    for prefill in [false, true] {
        let mut request = ModelRequest::new([Message::from("Go on."), answer.clone()]).model("m");
        request.prefill = prefill;
        let sent = value(&MessagesCodec.lower(&request).expect("the user said something").body);
        let wrong = check_body("anthropic", &sent);
        // Not checked here: blocks that are sent back unchanged, such as those of betas, keys that
        // only answers have, and a tool that waits for the results of calls it made.
        let blocks = sent["messages"][1].to_string();
        let is_own = |kind: &str| blocks.contains(&format!("\"type\":\"{kind}"));
        let has_beta = ["fallback", "compaction", "advisor", "mcp_", "code_execution_202"]
            .into_iter()
            .any(is_own);
        let wrong: Vec<_> = wrong
            .into_iter()
            .filter(|found| {
                !has_beta || matches!(found.rule, Rule::Empty | Rule::CacheMark | Rule::Role)
            })
            .filter(|found| !(found.rule == Rule::Type && blocks.contains("advisor")))
            .collect();
        assert!(wrong.is_empty(), "{name}: {wrong:?} in {sent}");
    }
}

fn assert_read(answer: &Answer, name: &str) {
    assert!(answer.complete && answer.error.is_none(), "{name}: {answer:?}");
    assert!(
        answer.model.is_some() && answer.id.is_some() && answer.usage.is_some(),
        "{name}: {answer:?}"
    );
    assert_eq!(answer.message.parts.is_empty(), answer.stop == Some(StopReason::Refusal), "{name}");
}

#[test]
#[ignore = "needs test data; `cargo xtask test` runs it"]
fn recorded_answers_are_read() {
    let shared = folder().expect("test data");
    let (mut whole, mut in_events) = (0, 0);
    for each in data::exchanges(&shared) {
        if each.events.is_empty() {
            let answer = MessagesCodec.lift_answer(&(&each.answer).into()).expect("an answer");
            assert_read(&answer, &each.name);
            assert_sendable(answer.message, &each.name);
            whole += 1;
        } else {
            let answer = streamed(each.events.iter().map(String::as_str), &each.name);
            assert_read(&answer, &each.name);
            in_events += 1;
        }
    }
    assert_eq!((whole, in_events), (63, 6));
    let counts = data::counts(&shared);
    assert_eq!(counts.len(), 1);
    for each in counts {
        assert!(MessagesCodec.lift_answer(&(&each.answer).into()).is_err(), "{}", each.name);
    }
}

#[test]
#[ignore = "needs test data; `cargo xtask test` runs it"]
fn a_stream_says_what_the_whole_answer_says() {
    let shared = folder().expect("test data");
    let folder = shared.join("data/vercel-ai-fixtures/anthropic");
    let (mut wholes, mut streams, mut pairs) = (BTreeMap::new(), 0, 0);
    for (name, text) in data::files(&folder, ".json") {
        let body: Value = serde_json::from_str(&text).expect("JSON");
        if body["role"] != "assistant" {
            assert!(MessagesCodec.lift_answer(&(&body).into()).is_err(), "{name}");
            continue;
        }
        let answer = MessagesCodec.lift_answer(&(&body).into()).expect("an answer");
        assert_read(&answer, &name);
        assert_sendable(answer.message.clone(), &name);
        // The same answer as a stream of events.
        let mut stream = MessagesCodec.answer_stream();
        told(&body).iter().for_each(|event| drop(stream.push(event).expect("an event")));
        let told = stream.finish();
        assert_eq!(told.message, answer.message, "{name}");
        assert_eq!((told.stop, told.usage), (answer.stop, answer.usage), "{name}");
        let as_written =
            MessagesCodec.lift_answer(&Json::from_text(text).expect("JSON")).expect("an answer");
        wholes.insert(name.trim_end_matches(".json").to_owned(), as_written);
    }
    for (name, text) in data::files(&folder, ".chunks.txt") {
        let answer = streamed(text.lines().filter(|line| !line.trim().is_empty()), &name);
        assert_read(&answer, &name);
        streams += 1;
        let whole = wholes.get(name.trim_end_matches(".chunks.txt"));
        // Two recordings of one name are the same answer, or two answers to the same question.
        if let Some(whole) =
            whole.filter(|whole| whole.message.plain_text() == answer.message.plain_text())
        {
            assert_eq!(whole.message.parts, answer.message.parts, "{name}");
            assert_eq!((&whole.stop, whole.usage), (&answer.stop, answer.usage), "{name}");
            pairs += 1;
        }
    }
    assert_eq!((wholes.len(), streams, pairs), (18, 8, 1));
}

/// Returns the events of an answer, as the provider sends them.
fn told(body: &Value) -> Vec<String> {
    let mut start = body.clone();
    start["content"] = json!([]);
    start["stop_reason"] = Value::Null;
    start["usage"]["output_tokens"] = json!(1);
    let mut events = vec![json!({"type": "message_start", "message": start})];
    for (i, block) in body["content"].as_array().into_iter().flatten().enumerate() {
        let mut begin = block.clone();
        let mut deltas = Vec::new();
        match block["type"].as_str() {
            Some("text") => {
                begin["text"] = json!("");
                deltas.extend(
                    pieces(&block["text"]).map(|text| json!({"type": "text_delta", "text": text})),
                );
                if let Some(citations) = block["citations"].as_array() {
                    begin["citations"] = json!([]);
                    let delta = |citation| json!({"type": "citations_delta", "citation": citation});
                    deltas.extend(citations.iter().map(delta));
                }
            }
            Some("thinking") => {
                (begin["thinking"], begin["signature"]) = (json!(""), json!(""));
                let thought = |text| json!({"type": "thinking_delta", "thinking": text});
                deltas.extend(pieces(&block["thinking"]).map(thought));
                deltas.push(json!({"type": "signature_delta", "signature": block["signature"]}));
            }
            Some("tool_use" | "server_tool_use" | "mcp_tool_use") => {
                begin["input"] = json!({});
                let input = json!(block["input"].to_string());
                let delta = |json| json!({"type": "input_json_delta", "partial_json": json});
                deltas.extend(pieces(&input).map(delta));
            }
            Some("compaction") => {
                begin["content"] = Value::Null;
                deltas.push(json!({"type": "compaction_delta", "content": block["content"]}));
            }
            _ => {}
        }
        events.push(json!({"type": "content_block_start", "index": i, "content_block": begin}));
        let delta = |delta| json!({"type": "content_block_delta", "index": i, "delta": delta});
        events.extend(deltas.into_iter().map(delta));
        events.push(json!({"type": "ping"}));
        events.push(json!({"type": "content_block_stop", "index": i}));
    }
    let delta = json!({"stop_reason": body["stop_reason"], "stop_sequence": body["stop_sequence"]});
    events.push(json!({"type": "message_delta", "delta": delta, "usage": body["usage"]}));
    events.push(json!({"type": "message_stop"}));
    events.iter().map(Value::to_string).collect()
}

/// Returns a text in pieces of seven characters.
fn pieces(text: &Value) -> impl Iterator<Item = String> {
    let characters: Vec<_> = text.as_str().unwrap_or_default().chars().collect();
    let pieces: Vec<String> = characters.chunks(7).map(|piece| piece.iter().collect()).collect();
    pieces.into_iter()
}
