//! A chat from any file in the form of any provider.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::harness::{Bench, values};

const FORMS: [&str; 5] = ["openai", "openai-responses", "anthropic", "gemini", "uimessage"];

/// A chat with a call, an image and reasoning.
fn chat() -> Value {
    json!([
        {"role": "user", "content": [
            {"type": "text", "text": "what is this?"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB"}},
        ]},
        {"role": "assistant", "content": null, "reasoning_content": "a picture", "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{\"n\":1}"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "a dog"},
        {"role": "assistant", "content": "A dog."},
        {"role": "user", "content": "Thanks."},
    ])
}

fn bench(name: &str, file: &Value) -> Bench {
    let bench = Bench::new();
    bench.file(name, file.to_string());
    bench.ok(&format!("import {name} --chat chat"));
    bench
}

/// Returns the value with sorted keys, whatever order the JSON library keeps in this build.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(sorted).collect(),
        Value::Object(map) => {
            let entries: std::collections::BTreeMap<_, _> = map.iter().collect();
            entries.into_iter().map(|(key, value)| (key.clone(), sorted(value))).collect()
        }
        plain => plain.clone(),
    }
}

#[test]
fn a_chat_goes_out_in_every_form() {
    let bench = bench("chat.json", &chat());
    let mut shown = String::new();
    for form in FORMS {
        let ran = bench.run(&format!("export chat --to {form}"));
        assert_eq!(ran.status, 0);
        let out: String =
            values(&ran.out).iter().map(|value| format!("{:#}", sorted(value))).collect();
        shown.push_str(&format!("--- {form}\n{out}\n{}", ran.err));
    }
    assert_snapshot!(shown);
}

#[test]
fn what_went_out_comes_in_again_and_says_the_same() {
    let first = bench("chat.json", &chat());
    for form in FORMS {
        let out = first.run(&format!("export chat --to {form}")).out;
        let again = Bench::new();
        again.file("again.json", &out);
        again.ok("import again.json --chat chat");
        assert_eq!(values(&again.ok("export chat")), values(&out), "{form}");
        let roles = |bench: &Bench| {
            let records = bench.records("log chat");
            records.iter().map(|record| record["role"].clone()).collect::<Vec<_>>()
        };
        assert_eq!(roles(&again), roles(&first), "{form}");
    }
}

#[test]
fn losses_are_told() {
    let bench = bench(
        "page.json",
        &json!([
            {"id": "u", "role": "user", "parts": [{"type": "text", "text": "hi"}, {"type": "data-place", "data": {"n": 1}}]},
            {"id": "a", "role": "assistant", "parts": [
                {"type": "source-url", "sourceId": "1", "url": "https://example.org"},
                {"type": "text", "text": "hello"},
        ]},
        {"id": "v", "role": "user", "parts": [
            {"type": "text", "text": "so?"},
            ]},
        ]),
    );
    for form in FORMS {
        let ran = bench.run(&format!("export chat --to {form}"));
        assert_eq!(ran.status, 0);
        let told = ["m1", "m2"].iter().filter(|id| ran.err.contains(**id)).count();
        let records = bench.run(&format!("export chat --to {form} --json"));
        let diagnostics = values(&records.out)[0]["diagnostics"].as_array().map_or(0, Vec::len);
        let expected = if form == "uimessage" { 0 } else { 2 };
        assert_eq!((told, diagnostics), (expected, expected), "{form}: {}", ran.err);
    }
}

#[test]
fn a_system_prompt_of_a_form_that_keeps_it_apart_makes_an_object() {
    let bench = bench(
        "chat.json",
        &json!([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}]),
    );
    let sent = values(&bench.ok("export chat --to gemini")).remove(0);
    assert_eq!(
        sent,
        json!({
            "systemInstruction": {"parts": [{"text": "Be brief."}]},
            "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
        })
    );
}

#[test]
fn an_empty_chat_is_an_empty_list() {
    let bench = bench("empty.json", &json!([]));
    for form in FORMS {
        assert_eq!(values(&bench.ok(&format!("export chat --to {form}"))), [json!([])], "{form}");
    }
}

#[test]
fn sessions_of_other_commands_come_back_and_go_anywhere() {
    let item = |payload: Value| json!({"timestamp": "2025-10-29T00:59:38.317Z", "type": "response_item", "payload": payload});
    let lines = [
        json!({"timestamp": "2025-10-29T00:59:38.317Z", "type": "session_meta", "payload": {"id": "s", "cwd": "/w"}}),
        item(
            json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "what is here?"}]}),
        ),
        item(
            json!({"type": "function_call", "name": "shell", "arguments": "{\"command\":[\"ls\"]}", "call_id": "c"}),
        ),
        item(json!({"type": "function_call_output", "call_id": "c", "output": "a.txt"})),
        item(
            json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a.txt"}]}),
        ),
    ];
    let codex: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let gemini = json!({"sessionId": "s", "projectHash": "h", "startTime": "t", "messages": [
        {"id": "1", "timestamp": "t", "type": "user", "content": "what is here?"},
        {"id": "2", "timestamp": "t", "type": "gemini", "content": "", "toolCalls": [{"id": "c", "name": "shell",
            "args": {"command": ["ls"]}, "status": "success", "result": [
                {"functionResponse": {"id": "c", "name": "shell",
                    "response": {"output": "a.txt"}}}]}]},
        {"id": "3", "timestamp": "t", "type": "gemini", "content": "a.txt", "tokens": {"total": 3}},
    ]})
    .to_string();
    let bench = Bench::new();
    for (name, text) in [("codex.jsonl", &codex), ("gemini.json", &gemini)] {
        bench.file(name, text);
        bench.ok(&format!("import {name}"));
        let chat = name.split('.').next().expect("a name");
        assert_eq!(values(&bench.ok(&format!("export {chat}"))), values(text));
        assert!(bench.ok(&format!("import {name}")).starts_with("unchanged"));
        let sent = values(&bench.ok(&format!("export {chat} --to openai"))).remove(0);
        assert_eq!(
            sent,
            json!([
                {"role": "user", "content": "what is here?"},
                {"role": "assistant", "tool_calls": [{"id": "c", "type": "function",
                    "function": {"name": "shell", "arguments": "{\"command\":[\"ls\"]}"}}]},
                {"role": "tool", "tool_call_id": "c", "content": "a.txt"},
                {"role": "assistant", "content": "a.txt"},
            ])
        );
    }
    assert_eq!(bench.records("verify")[0]["findings"], json!([]));
}

#[test]
fn a_chat_goes_out_as_a_document() {
    let bench = bench("chat.json", &chat());
    let document = bench.ok("export chat --to md");
    // The file has no times, so they are those of the import.
    let pieces: Vec<_> = document.split(" UTC").collect();
    let (last, timed) = pieces.split_last().expect("there is a piece");
    let shown = timed.iter().map(|piece| piece[..piece.len() - 19].to_owned() + "TIME");
    assert_snapshot!(shown.collect::<String>() + last);
    assert_eq!(bench.records("export chat --to md")[0]["document"], document);
    assert_eq!(bench.ok("export chat --to md --full --branch main"), document);
    bench.ok("copy chat other");
    let both = bench.ok("export --all --to md");
    assert!(both.starts_with(&format!("{document}\n# ")), "{both}");
    let refused = bench.run("export chat --full");
    assert_eq!(refused.status, 2);
    assert!(refused.err.contains("--full needs --to md"), "{}", refused.err);
}
