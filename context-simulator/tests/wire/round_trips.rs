//! Round trips by provider and transport: small recordings in this repository, one for each cell of
//! a table. A cell without a recording holds the reason.

use std::fmt::Write as _;

use context_codec_anthropic::messages::MessagesCodec;
use context_codec_gemini::generate::GenerateCodec;
use context_codec_kit::provider_rules::check_request;
use context_codec_openai::chat::ChatCodec;
use context_codec_openai::responses::ResponsesCodec;
use context_core::model::{ModelCodec, StopReason};
use context_core::{Answer, Json, Message, ModelRequest, Part, Role};
use serde_json::Value;

const PAGE: &str = include_str!("../../../docs/round-trips.md");

const FEATURES: [&str; 9] =
    ["text", "reasoning", "call", "result", "image", "citation", "usage", "refusal", "error"];
const TRANSPORTS: [&str; 3] = ["request", "answer", "stream"];

/// The address that every recorded citation names.
const CITED: &str = "https://example.com/timetable";

/// A codec and the file of its recordings.
type Provider = (&'static dyn ModelCodec, &'static str);

fn providers() -> [Provider; 4] {
    [
        (&ChatCodec, include_str!("round_trips/openai.json")),
        (&ResponsesCodec, include_str!("round_trips/openai-responses.json")),
        (&MessagesCodec, include_str!("round_trips/anthropic.json")),
        (&GenerateCodec, include_str!("round_trips/gemini.json")),
    ]
}

/// Whether messages have content of this feature.
fn has(feature: &str, messages: &[&Message]) -> bool {
    let mut parts = messages.iter().flat_map(|message| &message.parts);
    match feature {
        "text" => parts.any(|part| matches!(part, Part::Text(text) if !text.text.is_empty())),
        "reasoning" => parts.any(|part| matches!(part, Part::Reasoning(_))),
        "call" => parts.any(|part| matches!(part, Part::ToolCall(_))),
        "result" => parts.any(|part| matches!(part, Part::ToolResult(_))),
        "image" => parts.any(|part| matches!(part, Part::Image(_))),
        "citation" => serde_json::to_string(messages).unwrap().contains(CITED),
        "refusal" => parts.any(|part| match part {
            Part::Text(text) => text.metadata.iter().any(|(key, _)| key.ends_with(".refusal")),
            _ => false,
        }),
        _ => false,
    }
}

/// Whether an answer has this feature.
fn answer_has(feature: &str, answer: &Answer) -> bool {
    match feature {
        "usage" => answer
            .usage
            .is_some_and(|usage| (usage.input, usage.cache_read, usage.output) == (12, 30, 7)),
        "refusal" => {
            matches!(answer.stop, Some(StopReason::Refusal | StopReason::ContentFilter))
        }
        "error" => answer.error.is_some() && !answer.complete,
        _ => has(feature, &[&answer.message]),
    }
}

/// Lowers a request, which has to be accepted, and returns the messages of the body.
fn sent(codec: &dyn ModelCodec, request: &ModelRequest, cell: &str) -> ModelRequest {
    let check = check_request(codec, request).unwrap();
    assert!(check.is_accepted(), "{cell}: {:#?}", check.violations);
    codec.lift(&check.lowered.body).unwrap().request
}

fn messages(request: &ModelRequest) -> Vec<&Message> {
    request.messages.iter().map(AsRef::as_ref).collect()
}

/// Checks a recorded request: it is read, written as its source, and sent, without a difference.
fn request(codec: &dyn ModelCodec, feature: &str, body: &Value, cell: &str) -> &'static str {
    let lifted = codec.lift(&Json::from(body)).unwrap().request;
    assert!(has(feature, &messages(&lifted)), "{cell}: {lifted:#?}");
    let source: Value = codec.lower_source(&lifted).body.parse().unwrap();
    assert_eq!(&source, body, "{cell}");
    let check = check_request(codec, &lifted).unwrap();
    assert!(check.is_accepted_unchanged(), "{cell}: {check:#?}");
    assert_eq!(&check.lowered.body.parse::<Value>().unwrap(), body, "{cell}");
    "both"
}

/// Checks an answer: it has the feature, and can be sent back, with or without the feature.
fn answer(codec: &dyn ModelCodec, feature: &str, answer: &Answer, cell: &str) -> &'static str {
    assert!(answer_has(feature, answer), "{cell}: {answer:#?}");
    let question = Message::from("When does the train leave?");
    let mut history = vec![question, answer.message.clone()];
    let results = answer.message.parts.iter().filter_map(|part| match part {
        Part::ToolCall(call) => Some(Part::ToolResult(call.result("10:05"))),
        _ => None,
    });
    let results: Vec<_> = results.collect();
    match results.is_empty() {
        true => history.push(Message::from("And back?")),
        false => history.push(Message::new(Role::Tool, results)),
    }
    let back = sent(codec, &ModelRequest::new(history).model("any"), cell);
    let of_model: Vec<_> =
        messages(&back).into_iter().filter(|message| message.role == Role::Assistant).collect();
    if has(feature, &of_model) { "both" } else { "read" }
}

fn streamed(codec: &dyn ModelCodec, events: &Value) -> Answer {
    let mut stream = codec.answer_stream();
    for event in events.as_array().unwrap() {
        let _deltas = stream.push(&event.to_string()).unwrap();
    }
    stream.finish()
}

/// Returns the words of a cell: what was shown, or the number of the reason.
fn cell(
    codec: &dyn ModelCodec,
    feature: &str,
    transport: &str,
    recorded: &Value,
    reasons: &mut Vec<String>,
) -> String {
    let name = format!("{} {transport} {feature}", codec.name());
    let recording = &recorded[feature][transport];
    if let Value::String(reason) = recording {
        let place = reasons.iter().position(|known| known == reason).unwrap_or_else(|| {
            reasons.push(reason.clone());
            reasons.len() - 1
        });
        return format!("({})", place + 1);
    }
    assert!(!recording.is_null(), "{name} has neither a recording nor a reason");
    let shown = match transport {
        "request" => request(codec, feature, recording, &name),
        "answer" => {
            let whole = codec.lift_answer(&Json::from(recording)).unwrap();
            answer(codec, feature, &whole, &name)
        }
        _ => {
            let from_events = streamed(codec, recording);
            if feature != "error" {
                let whole = codec.lift_answer(&Json::from(&recorded[feature]["answer"])).unwrap();
                let of = |answer: &Answer| (answer.stop.clone(), answer.usage);
                assert_eq!(of(&from_events), of(&whole), "{name}");
                assert_eq!(
                    from_events.message.parts, whole.message.parts,
                    "{name}: a stream gives the parts of the whole answer"
                );
                assert!(from_events.complete, "{name}");
            }
            answer(codec, feature, &from_events, &name)
        }
    };
    shown.to_owned()
}

/// Runs every cell and returns the table.
fn table() -> String {
    let mut table = format!("| provider | transport | {} |\n|---|---|", FEATURES.join(" | "));
    table.push_str(&"---|".repeat(FEATURES.len()));
    table.push('\n');
    let mut reasons = Vec::new();
    for (codec, file) in providers() {
        let recorded: Value = serde_json::from_str(file).unwrap();
        for transport in TRANSPORTS {
            let cells = FEATURES
                .map(|feature| cell(codec, feature, transport, &recorded, &mut reasons))
                .join(" | ");
            writeln!(table, "| `{}` | {transport} | {cells} |", codec.name()).unwrap();
        }
    }
    table.push('\n');
    for (i, reason) in reasons.iter().enumerate() {
        writeln!(table, "* ({}) {reason}", i + 1).unwrap();
    }
    table
}

#[test]
fn every_cell_of_provider_and_transport_has_a_recording_or_a_reason() {
    let table = table();
    insta::assert_snapshot!("round_trips", table);
    assert!(PAGE.contains(&table), "docs/round-trips.md has another table:\n{table}");
}
