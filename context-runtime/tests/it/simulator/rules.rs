//! Bodies that break rules, and the providers' errors about them.

use context_runtime::{Message, Part, Role, model::ModelErrorCode, provider};
use serde_json::{Value, json};

use super::{body, request, simulator, simulators, tool, with_images};

/// Returns the error message about a body, after checking that the error is understood.
fn said(name: &str, body: &Value) -> String {
    let simulator = simulator(name);
    let reply = simulator.send(&body.to_string());
    let error = reply.read(&*provider(name).unwrap()).expect_err("a refusal");
    assert_eq!(
        (error.code, error.status),
        (ModelErrorCode::InvalidRequest, Some(400)),
        "{name}: {error}"
    );
    assert!(!error.retryable && !error.helped_by_compaction && !error.helped_by_fewer_images);
    let served = simulator.log().pop().unwrap();
    assert!(!served.violations.is_empty() && served.input.is_none(), "{name}: {served:?}");
    error.message
}

#[track_caller]
fn assert_said(name: &str, body: Value, words: &str) {
    let said = said(name, &body);
    assert!(said.contains(words), "{name}: {said}");
}

#[test]
fn anthropic() {
    let body = |messages: Value| json!({"model": "m", "max_tokens": 9, "messages": messages});
    let user = |content: Value| json!({"role": "user", "content": content});
    let model = |content: Value| json!({"role": "assistant", "content": content});
    let call = json!({"type": "tool_use", "id": "toolu_1", "name": "t", "input": {}});
    let result = json!({"type": "tool_result", "tool_use_id": "toolu_9", "content": "x"});
    for (messages, words) in [
        (json!([]), "messages: at least one message is required"),
        (json!([model(json!("hi")), user(json!("q"))]), "first message must use the \"user\" role"),
        (json!([user(json!(" "))]), "messages: text content blocks must be non-empty"),
        (json!([user(json!([]))]), "messages.0: all messages must have non-empty content"),
        (
            json!([user(json!("q")), model(json!("so "))]),
            "final assistant content cannot end with trailing whitespace",
        ),
        (
            json!([user(json!("q")), model(json!([call])), user(json!("and"))]),
            "`tool_use` ids were found without `tool_result` blocks immediately after: toolu_1",
        ),
        (
            json!([user(json!([result]))]),
            "unexpected `tool_use_id` found in `tool_result` blocks: toolu_9",
        ),
        (
            json!([{"role": "user", "content": "q", "name": "ann"}]),
            "messages.0.name: Extra inputs are not permitted",
        ),
        (json!([{"role": "user"}]), "messages.0.content: Field required"),
    ] {
        assert_said("anthropic", body(messages), words);
    }
    assert_said(
        "anthropic",
        json!({"model": "m", "messages": [user(json!("q"))]}),
        "max_tokens: Field required",
    );
    // A request for no answer, which only fills the cache.
    let silent = |key: &str, value: Value| {
        let mut body = body(json!([user(json!("q"))]));
        body["max_tokens"] = json!(0);
        body["tools"] = json!([{"name": "t", "input_schema": {"type": "object"}}]);
        body[key] = value;
        body
    };
    for (key, value) in [
        ("stream", json!(true)),
        ("thinking", json!({"type": "enabled", "budget_tokens": 1_024})),
        ("output_config", json!({"format": {"type": "json_schema", "schema": {"type": "object"}}})),
        ("tool_choice", json!({"type": "any"})),
    ] {
        assert_said("anthropic", silent(key, value), "not beside max_tokens 0");
    }
    let taken = silent("tool_choice", json!({"type": "auto"}));
    assert_eq!(simulator("anthropic").send(&taken.to_string()).status, 200);
}

#[test]
fn chat_completions() {
    let body = |messages: Value| json!({"model": "m", "messages": messages});
    let call =
        json!({"id": "call_1", "type": "function", "function": {"name": "t", "arguments": "{}"}});
    let calls = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    for (messages, words) in [
        (json!([]), "Invalid 'messages': empty array."),
        (
            json!([{"role": "user", "content": "q"}, calls]),
            "The following tool_call_ids did not have response messages: call_1",
        ),
        (
            json!([{"role": "tool", "tool_call_id": "call_9", "content": "x"}]),
            "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'",
        ),
        (json!([{"role": "user", "content": " "}]), "Invalid value for 'messages[0].content'"),
        (
            json!([{"role": "user", "content": "q", "colour": 1}]),
            "Unknown parameter: 'messages[0].colour'.",
        ),
    ] {
        assert_said("openai", body(messages), words);
    }
    assert_said(
        "openai",
        json!({"messages": [{"role": "user", "content": "q"}]}),
        "Missing required parameter: 'model'.",
    );
}

#[test]
fn responses() {
    let body = |input: Value| json!({"model": "m", "input": input});
    let call =
        json!({"type": "function_call", "call_id": "call_1", "name": "t", "arguments": "{}"});
    let output = json!({"type": "function_call_output", "call_id": "call_9", "output": "x"});
    for (input, words) in [
        (json!([]), "Invalid 'input': empty array."),
        (json!([call]), "No tool output found for function call call_1."),
        (json!([output]), "No tool call found for function call output with call_id call_9."),
        (json!([{"role": "user", "content": " "}]), "Invalid value for 'input[0].content'"),
    ] {
        assert_said("openai-responses", body(input), words);
    }
    let short = |tokens: u64| json!({"model": "m", "input": [{"role": "user", "content": "q"}], "max_output_tokens": tokens});
    assert_said("openai-responses", short(15), "'max_output_tokens'");
    assert_eq!(simulator("openai-responses").send(&short(16).to_string()).status, 200);
}

#[test]
fn gemini() {
    let body = |contents: Value| json!({ "contents": contents });
    let of = |role: &str, part: Value| json!({"role": role, "parts": [part]});
    let text = json!({"text": "q"});
    let call = json!({"functionCall": {"name": "t", "args": {}}});
    let result = json!({"functionResponse": {"name": "t", "response": {}}});
    for (contents, words) in [
        (json!([]), "contents is not specified"),
        (json!([{"role": "user", "parts": []}]), "contents.parts must not be empty."),
        (json!([of("user", json!({"text": ""}))]), "it must have a text parameter"),
        (json!([of("nobody", text.clone())]), "Please use a valid role: user, model."),
        (
            json!([of("model", call.clone()), of("user", result.clone())]),
            "Please ensure that function call turn comes immediately after a user turn",
        ),
        (
            json!([of("user", result)]),
            "Please ensure that function response turn comes immediately after a function call turn.",
        ),
        (
            json!([of("user", text.clone()), of("model", call), of("user", text.clone())]),
            "Please ensure that the number of function response parts is equal",
        ),
        (
            json!([of("user", text.clone()), of("model", text.clone())]),
            "ends with a user role or a function response",
        ),
        (
            json!([{"role": "user", "parts": [text], "name": "ann"}]),
            "Unknown name \"name\" at 'contents[0]'",
        ),
    ] {
        assert_said("gemini", body(contents), words);
    }
}

/// Collects every position of a body, as JSON pointers.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Object(map) => {
            map.iter().for_each(|(key, value)| places(value, &format!("{at}/{key}"), found))
        }
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(i, item)| places(item, &format!("{at}/{i}"), found));
        }
        _ => {}
    }
}

/// Returns the body with an invalid value at a position.
fn damaged(body: &Value, place: &str, with: &Value) -> Value {
    let mut body = body.clone();
    match body.pointer_mut(place) {
        Some(Value::Object(map)) if with.is_null() => _ = map.insert("colour".into(), true.into()),
        Some(Value::Array(items)) if with.is_null() => items.clear(),
        Some(value) => *value = with.clone(),
        None => {}
    }
    body
}

#[test]
fn whatever_is_wrong_with_a_body_is_an_invalid_request() {
    let call = Part::tool_call("call_1", "look", json!({"step": 1}));
    let mut request = request([
        with_images(["QUJD".to_owned()]),
        Message::new(Role::Assistant, [Part::text("I look."), call]),
        Message::new(Role::Tool, [Part::tool_result("call_1", "a door")]),
        Message::from("And?"),
    ]);
    request = request.tools([tool()]).system("Be brief.").max_output_tokens(100);
    request.temperature = Some(0.5);
    let wrong = [Value::Null, json!(7), json!("no such value"), json!({"a": "b"})];
    for (name, simulator) in simulators() {
        let whole: Value = serde_json::from_str(&body(name, &request)).unwrap();
        let (mut all, mut refused) = (Vec::new(), 0);
        places(&whole, "", &mut all);
        for (place, with) in
            all.iter().flat_map(|place| wrong.iter().map(move |with| (place, with)))
        {
            let sent = damaged(&whole, place, with);
            let reply = simulator.send(&sent.to_string());
            let is_valid = simulator.log().pop().unwrap().violations.is_empty();
            match reply.read(&*provider(name).unwrap()) {
                Ok(_) => assert!(is_valid, "{name}: {place} with {with} was taken"),
                Err(error) => {
                    refused += 1;
                    assert_eq!(
                        error.code,
                        ModelErrorCode::InvalidRequest,
                        "{name}, {place}, {with}: {error}"
                    );
                }
            }
        }
        assert!(refused > 50, "{name}: {refused}");
    }
}
