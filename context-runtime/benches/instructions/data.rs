//! The input of the cases: generated, and the same in every run and revision, since counts are
//! compared between revisions.

use std::sync::Arc;

use context_runtime::{FunctionTool, Json, Message, Part, Role, Tool};

use crate::words;

/// Returns texts of 400 bytes, user and assistant in turn.
pub(crate) fn talk(n: usize) -> Vec<Arc<Message>> {
    let role = |i: usize| if i.is_multiple_of(2) { Role::User } else { Role::Assistant };
    (0..n).map(|i| Arc::new(Message::text(role(i), words::text(i)))).collect()
}

/// Returns messages in groups of ten: one question, four tool calls, four results of `result`
/// bytes, and one answer.
pub(crate) fn work(n: usize, result: usize) -> Vec<Arc<Message>> {
    let message = |i: usize| match i % 10 {
        0 => Message::from(words::text(i)),
        9 => Message::text(Role::Assistant, words::text(i)),
        step if step % 2 == 1 => {
            let input =
                Json::from_text(format!(r#"{{"path":"src/{i}.rs","lines":[{i},{}]}}"#, i + 40))
                    .unwrap();
            let call = Part::tool_call(format!("call_{i}"), "read_file", input);
            Message::new(Role::Assistant, [Part::text("Let me look at the next file."), call])
        }
        _ => Message::new(
            Role::Tool,
            [Part::tool_result(format!("call_{}", i - 1), long(i, result))],
        ),
    };
    (0..n).map(|i| Arc::new(message(i))).collect()
}

/// Returns lines of words with this many bytes.
pub(crate) fn long(seed: usize, bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 400);
    let mut i = seed * 1_000;
    while text.len() < bytes {
        text.push_str(&words::text(i));
        text.push('\n');
        i += 1;
    }
    text.truncate(bytes);
    text
}

/// Returns twenty-five tools.
pub(crate) fn tools() -> Vec<Tool> {
    let tool = |i: usize| {
        let path = serde_json::json!({"type": "string", "description": words::text(i)});
        let schema = serde_json::json!({"type": "object", "properties": {"path": path}});
        FunctionTool::new(format!("tool_{i}"), schema).description(words::text(i)).into()
    };
    (0..25).map(tool).collect()
}

/// Returns an Anthropic answer: reasoning, text, two calls.
pub(crate) fn answer() -> Json {
    let text = words::text(1);
    Json::from_text(
        serde_json::json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "tool_use", "stop_sequence": null,
            "content": [
                {"type": "thinking", "thinking": words::text(0), "signature": "c2lnbmVk"},
                {"type": "text", "text": text},
                {"type": "tool_use", "id": "call_1", "name": "weather", "input": {"city": "Lisbon", "note": text}},
                {"type": "tool_use", "id": "call_2", "name": "timetable", "input": {"from": "Porto", "note": text}},
            ],
            "usage": {"input_tokens": 900, "output_tokens": 120, "cache_read_input_tokens": 800, "cache_creation_input_tokens": 0},
        })
        .to_string(),
    )
    .unwrap()
}

/// Returns a streamed Anthropic answer: a thousand pieces of text.
pub(crate) fn events() -> Vec<String> {
    let usage = serde_json::json!({"input_tokens": 900, "output_tokens": 1});
    let message = serde_json::json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage});
    let mut events = vec![
        serde_json::json!({"type": "message_start", "message": message}),
        serde_json::json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
    ];
    events.extend((0..1_000).map(|i| {
        let delta =
            serde_json::json!({"type": "text_delta", "text": format!("{} ", words::word(i))});
        serde_json::json!({"type": "content_block_delta", "index": 0, "delta": delta})
    }));
    events.push(serde_json::json!({"type": "content_block_stop", "index": 0}));
    let end = serde_json::json!({"stop_reason": "end_turn", "stop_sequence": null});
    events.push(serde_json::json!({"type": "message_delta", "delta": end,
            "usage": {"output_tokens": 1_000}}));
    events.push(serde_json::json!({"type": "message_stop"}));
    events.iter().map(serde_json::Value::to_string).collect()
}
