//! Logs of the `llm` command.

use context_core::{Part, Role};
use context_transcript::{Format, measures};
use proptest::prelude::*;
use serde_json::{Value as Parsed, json};

use crate::fixture::{check_equal, read_text, round_trip, values};

fn response(id: &str, conversation: Option<&str>, rest: Parsed) -> Parsed {
    let mut response = json!({"id": id, "model": "gpt", "conversation_id": conversation, "conversation_name": "Sums",
        "datetime_utc": "2026-01-05T09:00:01.250000", "prompt": "", "system": "You add.", "response": "", "reasoning": null,
        "options_json": {"n": 1.50}, "input_tokens": 3, "output_tokens": 5, "tools": [], "tool_calls": [], "tool_results": [],
        "prompt_fragments": [], "attachments": []});
    response.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    response
}

fn logs() -> Vec<Parsed> {
    vec![
        response(
            "r1",
            Some("a"),
            json!({"prompt": "Add 1 and 2.", "reasoning": "Hm.", "response": "I add.",
            "tool_calls": [{"id": 6, "tool_id": 1, "name": "add", "arguments": {"a": 1.50, "b": 2}, "tool_call_id": "c1"}]}),
        ),
        response(
            "r2",
            Some("b"),
            json!({"prompt": "Hi.", "system": null, "response": "Hello.", "conversation_name": "Other"}),
        ),
        response(
            "r3",
            Some("a"),
            json!({"response": "Three.", "tool_results": [
            {"id": 7, "name": "add", "output": "3", "tool_call_id": "c1", "exception": null, "attachments": []}]}),
        ),
        response("r4", Some("a"), json!({"response": "", "prompt": ""})),
        response(
            "r5",
            None,
            json!({"prompt": "Alone.", "tool_results": [
            {"name": "add", "output": "Error: no", "tool_call_id": "c1", "exception": "ValueError: no"}]}),
        ),
    ]
}

#[test]
fn the_responses_of_each_conversation_are_a_chat() {
    let file = json!(logs()).to_string();
    assert_eq!(check_equal("logs.json", &file, 3), [Format::Llm; 3]);
    let passed = round_trip("logs.json", &file, Some(Format::Llm)).unwrap();
    let [first, second, third] = passed.chats.as_slice() else { panic!("three conversations") };
    assert_eq!((first.title.as_deref(), second.title.as_deref()), (Some("Sums"), Some("Other")));
    let roles: Vec<_> = first.nodes.iter().filter_map(|placed| placed.node.role()).collect();
    let (system, user, model, tool) = (Role::System, Role::User, Role::Assistant, Role::Tool);
    assert_eq!(roles, [system, user, model, tool, model, system]);
    assert_eq!(first.chain("main"), ["r1", "r1.2", "r1.3", "r3", "r3.2", "r4"]);
    assert_eq!(second.chain("main"), ["r2", "r2.2"]);
    let answer = first.nodes[2].node.message().unwrap();
    assert!(matches!(answer.parts[..], [Part::Reasoning(_), Part::Text(_), Part::ToolCall(_)]));
    let failed = third.nodes[1].node.message().unwrap().tool_results().next().unwrap().is_error;
    assert!(failed);
    assert_eq!(first.nodes[0].node.created_at.as_micros(), 1_767_603_601_250_000);
    // A response without prompt and answer is kept, and named.
    assert_eq!(first.diagnostics.len(), 1);
}

#[test]
fn one_conversation_alone_and_lines_come_back_too() {
    let alone = json!([logs()[1]]).to_string();
    assert_eq!(check_equal("logs.json", &alone, 1), [Format::Llm]);
    let lines: String = logs().iter().map(|response| format!("{response}\n")).collect();
    assert_eq!(check_equal("logs.jsonl", &lines, 3), [Format::Llm; 3]);
    let passed = round_trip("logs.json", "[]", Some(Format::Llm)).unwrap();
    assert_eq!(values(&passed.text), [json!([])]);
}

fn attached() -> Parsed {
    json!([
        {"id": "i1", "type": "image/png", "path": null, "url": "https://example.org/cat.png"},
        {"id": "i2", "type": "audio/wav", "content": "UklGRg==", "content_length": 4},
        {"id": "i3", "type": "application/pdf", "path": "plans/plan.pdf", "url": null},
    ])
}

/// The command exports the path of a file and nothing of its content, which no provider can read.
#[test]
fn attachments_with_an_address_or_a_content_are_read() {
    let asked =
        response("r1", Some("a"), json!({"prompt": "What is it?", "attachments": attached()}));
    let silent =
        response("r2", Some("a"), json!({"response": "A cat.", "attachments": attached()}));
    let result = json!([{"name": "draw", "output": "Drawn.", "tool_call_id": "c1", "attachments": attached()}]);
    let drawn = response("r3", Some("a"), json!({"response": "There.", "tool_results": result}));
    let file = json!([asked, silent, drawn]).to_string();
    check_equal("logs.json", &file, 1);
    let chat = read_text("l.json", &file, None).unwrap().remove(0);
    let nodes: Vec<_> = chat.tree.nodes().collect();
    let parts = |at: usize| nodes[at].message().unwrap().parts.as_slice();
    assert!(matches!(parts(1), [Part::Text(_), Part::Image(_), Part::Audio(_)]));
    assert!(matches!(parts(2), [Part::Image(_), Part::Audio(_)]));
    let [Part::ToolResult(result)] = parts(4) else { panic!("a result") };
    assert!(matches!(result.output[..], [Part::Text(_), Part::Image(_), Part::Audio(_)]));
}

#[test]
fn model_and_tokens_of_a_response_are_measures() {
    let chat = read_text("l.json", &json!(logs()).to_string(), None).unwrap().remove(1);
    let measured = measures(Some(&chat.source), [], chat.tree.nodes());
    let answer = &measured["r2.2"];
    assert_eq!(answer.model.as_deref(), Some("gpt"));
    assert_eq!((answer.input_tokens, answer.output_tokens), (Some(3), Some(5)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_log_comes_back(at in proptest::collection::vec(0..7_usize, 1..8)) {
        let mut all = logs();
        all.push(response("r7", Some("b"), json!({"attachments": attached()})));
        all.push(response("r6", Some("b"), json!({"tool_calls": 7, "prompt": null})));
        let picked: Vec<_> = at.iter().map(|at| all[*at].clone()).collect();
        let file = json!(picked).to_string();
        let passed = round_trip("l.json", &file, None).unwrap();
        prop_assert_eq!(values(&passed.text), values(&file));
    }
}
