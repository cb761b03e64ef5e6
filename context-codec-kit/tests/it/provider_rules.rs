//! The rules one by one: a valid body of each provider, and the rule that a single change breaks.

use context_codec_kit::provider_rules::{PROVIDERS, Rule, check_body};
use serde_json::{Value, json};

fn chat() -> Value {
    json!({
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": [
                {"type": "text", "text": "What is on these?"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
                {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,aGk="}},
            ]},
            {"role": "assistant", "content": null, "tool_calls": [
                {"type": "function", "id": "call_1", "function": {"name": "look", "arguments": "{}"}},
                {"type": "function", "id": "call_2", "function": {"name": "look", "arguments": "{}"}},
            ]},
            {"role": "tool", "tool_call_id": "call_2", "content": "a cat"},
            {"role": "tool", "tool_call_id": "call_1", "content": ""},
            {"role": "assistant", "content": "A cat."},
        ],
        "tools": [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}],
        "tool_choice": {"type": "function", "function": {"name": "look"}},
    })
}

fn responses() -> Value {
    json!({
        "model": "m",
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "What is this?"}]},
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
            {"type": "function_call", "call_id": "call_1", "name": "look", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "call_1", "output": "a cat"},
            {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [
                {"type": "output_text", "text": "A cat.", "annotations": []},
            ]},
        ],
        "tools": [{"type": "function", "name": "look", "parameters": {"type": "object"},
            "strict": false}],
    })
}

fn anthropic() -> Value {
    let mark = json!({"type": "ephemeral"});
    json!({
        "model": "m",
        "max_tokens": 10,
        "system": [{"type": "text", "text": "Be kind.", "cache_control": mark}],
        "messages": [
            {"role": "user", "content": [
                {"type": "text", "text": "What is this?"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
            ]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "Let me see.", "signature": "c2ln"},
                {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "cat"}},
                {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
                {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}},
                {"type": "tool_use", "id": "toolu_2", "name": "look", "input": {}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_2", "content": [{"type": "text", "text": "a cat"}]},
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "a dog",
                    "is_error": true},
                {"type": "text", "text": "Well?", "cache_control": mark},
            ]},
            {"role": "assistant", "content": "A cat and"},
        ],
        "tools": [{"name": "look", "input_schema": {"type": "object"}}],
    })
}

fn gemini() -> Value {
    json!({
        "systemInstruction": {"parts": [{"text": "Be kind."}]},
        "contents": [
            {"role": "user", "parts": [
                {"text": "What is this?"}, {"inlineData": {"mimeType": "image/png", "data": "aGk="}},
            ]},
            {"role": "model", "parts": [
                {"text": "Let me see.", "thought": true},
                {"functionCall": {"name": "look", "args": {}}, "thoughtSignature": "c2ln"},
                {"functionCall": {"name": "feel", "args": {}}},
            ]},
            {"role": "user", "parts": [
                {"functionResponse": {"name": "look", "response": {"output": "a cat"}}},
                {"functionResponse": {"name": "feel", "response": {"output": "soft"}}},
            ]},
        ],
        "tools": [{"functionDeclarations": [{"name": "look"}]}],
    })
}

fn body(provider: &str) -> Value {
    match provider {
        "openai" => chat(),
        "openai-responses" => responses(),
        "anthropic" => anthropic(),
        _ => gemini(),
    }
}

#[test]
fn valid_bodies_are_taken() {
    for provider in PROVIDERS {
        assert_eq!(check_body(provider, &body(provider)), [], "{provider}");
    }
    assert_eq!(check_body("elsewhere", &chat())[0].rule, Rule::Provider);
}

/// Sets the value at a pointer, whose key may be new. An index equal to the length appends an item.
fn set(body: &mut Value, pointer: &str, value: Value) {
    let (above, key) = pointer.rsplit_once('/').unwrap();
    match body.pointer_mut(above).unwrap() {
        Value::Object(map) => drop(map.insert(key.to_owned(), value)),
        Value::Array(list) => match key.parse::<usize>().unwrap() {
            i if i == list.len() => list.push(value),
            i => list[i] = value,
        },
        other => panic!("{other} holds nothing"),
    }
}

#[track_caller]
fn breaks(provider: &str, pointer: &str, value: Value, rule: Rule, path: &str) {
    let mut body = body(provider);
    set(&mut body, pointer, value);
    let found = check_body(provider, &body);
    let there = found.iter().any(|violation| violation.rule == rule && violation.path == path);
    assert!(there, "{provider} {pointer}: no {rule:?} at {path} in {found:#?}");
}

#[test]
fn chat_completions() {
    let breaks = |pointer, value, rule, path| breaks("openai", pointer, value, rule, path);
    breaks("/extra", json!(1), Rule::UnknownKey, "extra");
    breaks("/messages", json!([]), Rule::Empty, "messages");
    breaks("/messages/0/role", json!("nobody"), Rule::Type, "messages[0]");
    breaks("/messages/0/name", json!("a b"), Rule::Name, "messages[0].name");
    breaks("/messages/1/content", json!([]), Rule::Empty, "messages[1].content");
    breaks("/messages/1/content/0/text", json!(" "), Rule::Empty, "messages[1].content[0]");
    breaks(
        "/messages/1/content/1/image_url/url",
        json!("data:image/bmp;base64,aGk="),
        Rule::Media,
        "messages[1].content[1].image_url.url",
    );
    breaks(
        "/messages/1/content/2/file",
        json!({"filename": "a"}),
        Rule::Media,
        "messages[1].content[2].file",
    );
    breaks("/messages/2/tool_calls", json!([]), Rule::Empty, "messages[2].tool_calls");
    breaks(
        "/messages/2/tool_calls/0/id",
        json!("call_2"),
        Rule::Duplicate,
        "messages[2].tool_calls",
    );
    breaks(
        "/messages/2/tool_calls/0/id",
        json!("x".repeat(41)),
        Rule::Id,
        "messages[2].tool_calls[0].id",
    );
    breaks(
        "/messages/2/tool_calls/0/function/name",
        json!("a.b"),
        Rule::Name,
        "messages[2].tool_calls[0].function.name",
    );
    breaks(
        "/messages/2/tool_calls/0/function/arguments",
        json!({}),
        Rule::Type,
        "messages[2].tool_calls[0].function.arguments",
    );
    breaks("/messages/3/tool_call_id", json!("call_9"), Rule::Pairing, "messages[3]");
    breaks(
        "/messages/4",
        json!({"role": "user", "content": "Well?"}),
        Rule::Pairing,
        "messages[4]",
    );
    breaks(
        "/messages/5",
        json!({"role": "assistant", "content": null}),
        Rule::Empty,
        "messages[5]",
    );
    breaks("/tools/1", chat()["tools"][0].clone(), Rule::Tools, "tools[1].function.name");
    breaks("/tool_choice/function/name", json!("fly"), Rule::Tools, "tool_choice");
}

#[test]
fn responses_items() {
    let breaks =
        |pointer, value, rule, path| breaks("openai-responses", pointer, value, rule, path);
    breaks("/input", json!(" "), Rule::Empty, "input");
    breaks("/input/0/content/0/type", json!("output_text"), Rule::Type, "input[0].content[0]");
    breaks("/input/0/role", json!("assistant"), Rule::Place, "input[0].content[0]");
    breaks("/input/1", json!({"type": "reasoning", "summary": []}), Rule::Missing, "input[1].id");
    breaks("/input/2", json!({"role": "user", "content": "Hm."}), Rule::Thinking, "input[1]");
    breaks("/input/2/call_id", json!("x".repeat(65)), Rule::Id, "input[2].call_id");
    breaks("/input/2/name", json!("a b"), Rule::Name, "input[2].name");
    breaks("/input/3", json!({"role": "user", "content": "Hm."}), Rule::Pairing, "input");
    breaks("/input/3/call_id", json!("call_9"), Rule::Pairing, "input[3]");
    breaks("/input/4/id", json!("x_1"), Rule::Id, "input[4].id");
    breaks("/input/4/id", json!("rs_1"), Rule::Duplicate, "input[4].id");
    breaks("/input/5", responses()["input"][3].clone(), Rule::Duplicate, "input[5]");
    breaks("/tool_choice", json!({"type": "function", "name": "fly"}), Rule::Tools, "tool_choice");
}

#[test]
fn anthropic_messages() {
    let breaks = |pointer, value, rule, path| breaks("anthropic", pointer, value, rule, path);
    let text = json!({"type": "text", "text": "Hello"});
    breaks("/messages/0/role", json!("assistant"), Rule::Role, "messages[0]");
    breaks("/messages/0/content/0/text", json!("\u{1c}"), Rule::Empty, "messages[0].content[0]");
    breaks(
        "/messages/0/content/1/source/media_type",
        json!("image/bmp"),
        Rule::Type,
        "messages[0].content[1].source.media_type",
    );
    breaks(
        "/messages/0/content/1/source/data",
        json!("*"),
        Rule::Media,
        "messages[0].content[1].source.data",
    );
    breaks("/messages/1/content/0/signature", json!(""), Rule::Thinking, "messages[1].content[0]");
    breaks(
        "/messages/1/content/0/cache_control",
        json!({"type": "ephemeral"}),
        Rule::UnknownKey,
        "messages[1].content[0].cache_control",
    );
    breaks("/messages/1/content/2", text.clone(), Rule::Pairing, "messages");
    breaks("/messages/1/content/1", text.clone(), Rule::Pairing, "messages[1]");
    breaks("/messages/1/content/3/input", json!("{}"), Rule::ToolInput, "messages[1].content[3]");
    breaks("/messages/1/content/3/id", json!("a b"), Rule::Id, "messages[1].content[3].id");
    breaks("/messages/1/content/3/id", json!("toolu_2"), Rule::Duplicate, "messages[1]");
    breaks("/messages/1/content/3/name", json!(""), Rule::Name, "messages[1].content[3].name");
    breaks(
        "/messages/1/content/5",
        json!({"type": "image", "source": {"type": "url", "url": "https://a"}}),
        Rule::Place,
        "messages[1].content[5]",
    );
    breaks("/messages/2/content/0", text.clone(), Rule::Pairing, "messages[2]");
    breaks(
        "/messages/2/content/1/content",
        json!([{"type": "image", "source": {"type": "url", "url": "https://a"}}]),
        Rule::Place,
        "messages[2].content[1].content[0]",
    );
    breaks(
        "/messages/2/content/3",
        json!({"type": "tool_result", "tool_use_id": "toolu_9"}),
        Rule::Pairing,
        "messages[2]",
    );
    breaks("/messages/3/content", json!("A cat "), Rule::Empty, "messages[3]");
    breaks(
        "/messages/3/content",
        json!([{"type": "thinking", "thinking": "", "signature": "c2ln"}]),
        Rule::Thinking,
        "messages[3]",
    );
    breaks(
        "/messages/3/content",
        json!([anthropic()["messages"][1]["content"][3]]),
        Rule::Pairing,
        "messages",
    );
    breaks("/tools/0/input_schema", json!({}), Rule::Tools, "tools[0].input_schema");
    let marked = |ttl| json!({"name": "see", "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral", "ttl": ttl}});
    breaks("/tools", json!([marked("5m"), marked("5m"), marked("5m")]), Rule::CacheMark, "");
    breaks("/tools", json!([marked("5m"), marked("1h")]), Rule::CacheMark, "tools[1]");
}

#[test]
fn gemini_contents() {
    let breaks = |pointer, value, rule, path| breaks("gemini", pointer, value, rule, path);
    breaks("/contents/0/role", json!("model"), Rule::Role, "contents[0]");
    breaks(
        "/contents/3",
        json!({"role": "model", "parts": [{"text": "A cat."}]}),
        Rule::Role,
        "contents",
    );
    breaks(
        "/contents/3",
        json!({"role": "user", "parts": [{"text": "Well?"}]}),
        Rule::Role,
        "contents[3]",
    );
    breaks("/contents/0/parts", json!([]), Rule::Empty, "contents[0].parts");
    breaks(
        "/contents/0/parts/0",
        json!({"text": "a", "inlineData": {}}),
        Rule::Empty,
        "contents[0].parts[0]",
    );
    breaks("/contents/0/parts/0/text", json!(""), Rule::Empty, "contents[0].parts[0]");
    breaks(
        "/contents/0/parts/1/inlineData/mimeType",
        json!("png"),
        Rule::Media,
        "contents[0].parts[1].inlineData",
    );
    breaks("/contents/0/parts/0/thought", json!(true), Rule::Thinking, "contents[0].parts[0]");
    breaks(
        "/contents/1/parts/1/functionCall/name",
        json!("1"),
        Rule::Name,
        "contents[1].parts[1].functionCall.name",
    );
    breaks(
        "/contents/1/parts/1/functionCall/args",
        json!([]),
        Rule::Type,
        "contents[1].parts[1].functionCall.args",
    );
    breaks(
        "/contents/2/parts/0/functionResponse/response",
        json!("a cat"),
        Rule::Type,
        "contents[2].parts[0].functionResponse.response",
    );
    breaks("/contents/2/parts/0", json!({"text": "a cat"}), Rule::Pairing, "contents[2]");
    breaks("/contents/2/parts/0/functionResponse/name", json!("fly"), Rule::Pairing, "contents[2]");
    breaks("/contents/2/parts/0/functionResponse/id", json!("1"), Rule::Pairing, "contents[2]");
    breaks(
        "/tools/0/functionDeclarations/1",
        json!({"name": "look"}),
        Rule::Tools,
        "tools[0].functionDeclarations[1]",
    );
}

#[test]
fn a_path_names_the_deepest_place() {
    let mut body = anthropic();
    set(&mut body, "/messages/2/content/0/content/0/extra", json!(1));
    let found: Vec<String> =
        check_body("anthropic", &body).into_iter().map(|each| each.path).collect();
    assert_eq!(found, ["messages[2].content[0].content[0].extra"]);
}
