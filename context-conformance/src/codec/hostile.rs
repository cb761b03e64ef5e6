//! Malformed bodies and events: known keys with wrong values.

use context_core::Json;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value};

/// Keys of all providers.
const KEYS: [&str; 40] = [
    "role",
    "content",
    "type",
    "text",
    "id",
    "name",
    "messages",
    "input",
    "contents",
    "parts",
    "tool_calls",
    "function",
    "arguments",
    "tool_call_id",
    "call_id",
    "output",
    "system",
    "tools",
    "thinking",
    "signature",
    "source",
    "data",
    "index",
    "delta",
    "choices",
    "message",
    "content_block",
    "candidates",
    "functionCall",
    "functionResponse",
    "args",
    "usage",
    "item",
    "response",
    "summary",
    "error",
    "finish_reason",
    "stop_reason",
    "model",
    "partial_json",
];
/// Values that have a meaning for some provider.
const WORDS: [&str; 36] = [
    "user",
    "assistant",
    "system",
    "tool",
    "model",
    "text",
    "tool_use",
    "tool_result",
    "thinking",
    "image",
    "message",
    "function_call",
    "reasoning",
    "function_call_output",
    "message_start",
    "message_stop",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "text_delta",
    "input_json_delta",
    "message_delta",
    "error",
    "stop",
    "response.output_item.added",
    "response.output_item.done",
    "response.output_text.delta",
    "response.completed",
    "server_tool_use",
    "redacted_thinking",
    "function",
    "signature_delta",
    "{}",
    "{\"cut",
    "",
    "\u{0}\u{1f980}",
];

fn tree() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        6 => prop::sample::select(WORDS.to_vec()).prop_map(Value::from),
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
        2 => prop_oneof![Just(0_i64), Just(1), Just(-1), Just(i64::MAX)].prop_map(Value::from),
        1 => Just(Value::from(1e308)),
    ];
    leaf.prop_recursive(6, 60, 6, |inner| {
        let key = prop::sample::select(KEYS.to_vec()).prop_map(str::to_owned);
        prop_oneof![
            1 => vec(inner.clone(), 0..5).prop_map(Value::from),
            3 => vec((key, inner),
                0..7).prop_map(|entries| Value::from(entries.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Generates bodies whose conversation is a list under some key.
pub(super) fn bodies() -> impl Strategy<Value = Json> {
    let list = prop::sample::select(vec![
        "messages",
        "input",
        "contents",
        "choices",
        "content",
        "candidates",
        "output",
    ]);
    let body = (list, vec(tree(), 0..6), tree()).prop_map(|(list, items, beside)| {
        let mut map = match beside {
            Value::Object(map) => map,
            other => Map::from_iter([("model".to_owned(), other)]),
        };
        map.insert(list.to_owned(), items.into());
        Json::from(&Value::from(map))
    });
    let odd = prop::sample::select(vec![
        format!(r#"{{"messages":{0}{1}}}"#, "[".repeat(100_000), "]".repeat(100_000)),
        format!(r#"{{"contents":[{{"role":"user","parts":[{{"text":{0}{1}}}]}}]}}"#,
            "[".repeat(5_000), "]".repeat(5_000)),
        format!(r#"{{"input":[{{"role":"user","content":"a","x":{0}1{1}}}]}}"#,
            "{\"a\":".repeat(5_000), "}".repeat(5_000)),
        r#"{"messages":[{"role":"user","content":"\ud800"}],"\udfff":1}"#.to_owned(),
        r#"{"messages":[{"role":"user","role":"assistant","content":"a","content":"b"}]}"#
            .to_owned(),
        r#"{"messages":[{"role":"user","content":"a"}],"max_tokens":1e999,"temperature":99999999999999999999}"#.to_owned(),
        "[]".to_owned(),
        "null".to_owned(),
        "\"\"".to_owned(),
        "{}".to_owned(),
    ]);
    let odd = odd.prop_map(|text| Json::from_text(text).expect("JSON"));
    prop_oneof![9 => body, 3 => tree().prop_map(|tree| Json::from(&tree)), 1 => odd]
}

/// Generates the data of events, some of it not JSON.
pub(super) fn events() -> impl Strategy<Value = Vec<String>> {
    let odd =
        prop::sample::select(vec!["", "[DONE]", "{", "nul", "\u{feff}{}", "[[[[", "{\"type\":"])
            .prop_map(str::to_owned);
    vec(prop_oneof![8 => tree().prop_map(|tree| tree.to_string()), 1 => odd], 0..8)
}
