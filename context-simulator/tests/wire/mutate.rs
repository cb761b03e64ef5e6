//! Random damage to bodies, as data.

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Map, Value, json};

/// A change of a body. An [`Index`] picks among the candidates.
#[derive(Clone, Debug)]
pub(crate) enum Mutation {
    DeleteKey(Index),
    RenameKey(Index, &'static str),
    AddKey(Index, &'static str, Value),
    Replace(Index, Value),
    /// Replaces a value by another value of the body.
    Graft(Index, Index),
    /// Swaps two values of one key.
    Swap(Index, Index),
    Retype(Index, &'static str),
    SetRole(Index, &'static str),
    Blank(Index, &'static str),
    DropItem(Index),
    DoubleItem(Index),
    MoveItem(Index, Index),
    Insert(Index, Value),
}

pub(crate) fn mutations() -> impl Strategy<Value = Vec<Mutation>> {
    let at = any::<Index>;
    let one = prop_oneof![
        2 => at().prop_map(Mutation::DeleteKey),
        1 => (at(), words()).prop_map(|(at, word)| Mutation::RenameKey(at, word)),
        2 => (at(), words(), junk()).prop_map(|(at, word, junk)| Mutation::AddKey(at, word, junk)),
        2 => (at(), junk()).prop_map(|(at, junk)| Mutation::Replace(at, junk)),
        2 => (at(), at()).prop_map(|(at, from)| Mutation::Graft(at, from)),
        3 => (at(), at()).prop_map(|(at, other)| Mutation::Swap(at, other)),
        2 => (at(), kinds()).prop_map(|(at, kind)| Mutation::Retype(at, kind)),
        1 => (at(), roles()).prop_map(|(at, role)| Mutation::SetRole(at, role)),
        2 => (at(), blanks()).prop_map(|(at, blank)| Mutation::Blank(at, blank)),
        3 => at().prop_map(Mutation::DropItem),
        3 => at().prop_map(Mutation::DoubleItem),
        3 => (at(), at()).prop_map(|(at, to)| Mutation::MoveItem(at, to)),
        2 => (at(), items()).prop_map(|(at, item)| Mutation::Insert(at, item)),
    ];
    prop::collection::vec(one, 1..=3)
}

fn words() -> impl Strategy<Value = &'static str> {
    let words = [
        "id",
        "name",
        "type",
        "text",
        "role",
        "content",
        "extra",
        "cache_control",
        "signature",
        "status",
        "index",
        "call_id",
        "tool_use_id",
        "refusal",
        "audio",
        "annotations",
        "thought",
        "parts",
        "source",
        "url",
        "data",
    ];
    prop::sample::select(words.to_vec())
}

fn junk() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!(null),
        json!(true),
        json!(0),
        json!(-1.5),
        json!(""),
        json!(" \n"),
        json!("x"),
        json!("call_1"),
        json!([]),
        json!({}),
        json!([""]),
        json!([null]),
        json!({"type": "text", "text": "x"}),
        json!([{"type": "text", "text": "x"}]),
        json!([{"type": "input_text", "text": "x"}]),
        json!({"type": "ephemeral"}),
        json!({"type": "ephemeral", "ttl": "1d"}),
        json!([[]]),
        json!({"a": {"b": []}}),
    ])
}

fn kinds() -> impl Strategy<Value = &'static str> {
    let kinds = [
        "text",
        "image",
        "image_url",
        "document",
        "tool_use",
        "tool_result",
        "thinking",
        "redacted_thinking",
        "file",
        "function",
        "custom",
        "input_text",
        "output_text",
        "refusal",
        "message",
        "function_call",
        "reasoning",
        "function_call_output",
        "server_tool_use",
        "web_search_tool_result",
        "item_reference",
        "base64",
        "url",
        "novel",
    ];
    prop::sample::select(kinds.to_vec())
}

fn roles() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "user",
        "assistant",
        "system",
        "developer",
        "tool",
        "function",
        "model",
        "nobody",
    ])
}

fn blanks() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["", " ", "\n\t", "\u{1c}\u{1f}", "\u{3000}", "\u{200b}"])
}

/// Generates messages and items of every provider.
fn items() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!({"role": "user", "content": "Hello"}),
        json!({"role": "assistant", "content": "Hello"}),
        json!({"role": "system", "content": "Hello"}),
        json!({"role": "assistant"}),
        json!({"role": "assistant", "content": []}),
        json!({"role": "user", "content": [{"type": "text", "text": ""}]}),
        json!({"role": "tool", "tool_call_id": "call_1", "content": "done"}),
        json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "done"}]}),
        json!({"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}]}),
        json!({"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}"}),
        json!({"type": "function_call_output", "call_id": "call_1", "output": "done"}),
        json!({"role": "user", "parts": [{"text": "Hello"}]}),
        json!({"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]}),
        json!({"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]}),
        json!({"role": "model", "parts": []}),
    ])
}

/// The keys of a body that hold the conversation.
const CONVERSATION: [&str; 4] = ["messages", "input", "contents", "system"];

impl Mutation {
    /// Applies the change, if the body has a candidate for it.
    pub(crate) fn apply(&self, body: &mut Value) {
        match self {
            Self::DeleteKey(at) => {
                if let Some((above, key)) = pick(&entries(body), at) {
                    object(body, &above).remove(&key);
                }
            }
            Self::RenameKey(at, word) => {
                if let Some((above, key)) = pick(&entries(body), at) {
                    let map = object(body, &above);
                    if let Some(value) = map.remove(&key) {
                        map.insert((*word).to_owned(), value);
                    }
                }
            }
            Self::AddKey(at, word, junk) => {
                if let Some(place) = pick(&places(body, Value::is_object), at) {
                    object(body, &place).insert((*word).to_owned(), junk.clone());
                }
            }
            Self::Replace(at, junk) => replace(body, &places(body, |_| true), at, junk.clone()),
            Self::Graft(at, from) => {
                let all = places(body, |_| true);
                let Some(graft) = pick(&all, from).and_then(|place| body.pointer(&place).cloned())
                else {
                    return;
                };
                replace(body, &all, at, graft);
            }
            Self::Swap(at, other) => swap(body, at, other),
            Self::Retype(at, kind) => replace(body, &ending(body, "/type"), at, json!(kind)),
            Self::SetRole(at, role) => replace(body, &ending(body, "/role"), at, json!(role)),
            Self::Blank(at, blank) => {
                replace(body, &places(body, Value::is_string), at, json!(blank))
            }
            Self::DropItem(at) => with_item(body, at, |list, i| drop(list.remove(i))),
            Self::DoubleItem(at) => with_item(body, at, |list, i| list.insert(i, list[i].clone())),
            Self::MoveItem(at, to) => with_item(body, at, |list, i| {
                let item = list.remove(i);
                let to = to.index(list.len() + 1);
                list.insert(to, item);
            }),
            Self::Insert(at, item) => with_item(body, at, |list, i| list.insert(i, item.clone())),
        }
    }
}

fn pick<T: Clone>(all: &[T], at: &Index) -> Option<T> {
    (!all.is_empty()).then(|| at.get(all).clone())
}

fn object<'a>(body: &'a mut Value, place: &str) -> &'a mut Map<String, Value> {
    body.pointer_mut(place).and_then(Value::as_object_mut).unwrap()
}

fn replace(body: &mut Value, places: &[String], at: &Index, by: Value) {
    if let Some(place) = pick(places, at) {
        *body.pointer_mut(&place).unwrap() = by;
    }
}

fn swap(body: &mut Value, at: &Index, other: &Index) {
    let all = places(body, |_| true);
    let Some(first) = pick(&all, at) else { return };
    let key = first.rsplit('/').next().unwrap_or_default().to_owned();
    let same: Vec<String> =
        all.into_iter().filter(|place| place.rsplit('/').next() == Some(&key)).collect();
    let Some(second) = pick(&same, other) else { return };
    if first.starts_with(&second) || second.starts_with(&first) {
        return;
    }
    let (a, b) = (body.pointer(&first).cloned().unwrap(), body.pointer(&second).cloned().unwrap());
    *body.pointer_mut(&first).unwrap() = b;
    *body.pointer_mut(&second).unwrap() = a;
}

/// Changes a list at the index of one of its items.
fn with_item(body: &mut Value, at: &Index, act: impl FnOnce(&mut Vec<Value>, usize)) {
    let full = |value: &Value| value.as_array().is_some_and(|list| !list.is_empty());
    let lists: Vec<(String, usize)> = places(body, full)
        .into_iter()
        .flat_map(|place| {
            let len = body.pointer(&place).and_then(Value::as_array).map_or(0, Vec::len);
            (0..len).map(move |i| (place.clone(), i))
        })
        .collect();
    if let Some((place, i)) = pick(&lists, at) {
        act(body.pointer_mut(&place).and_then(Value::as_array_mut).unwrap(), i);
    }
}

fn ending(body: &Value, end: &str) -> Vec<String> {
    places(body, |_| true).into_iter().filter(|place| place.ends_with(end)).collect()
}

fn entries(body: &Value) -> Vec<(String, String)> {
    let keys = |place: String| {
        let keys =
            body.pointer(&place).and_then(Value::as_object).map(Map::keys).into_iter().flatten();
        keys.map(move |key| (place.clone(), key.clone())).collect::<Vec<_>>()
    };
    places(body, Value::is_object).into_iter().flat_map(keys).collect()
}

/// Returns pointers to all values of the conversation that satisfy `holds`.
fn places(body: &Value, holds: fn(&Value) -> bool) -> Vec<String> {
    let mut all = Vec::new();
    for key in CONVERSATION {
        if let Some(value) = body.get(key) {
            below(value, format!("/{key}"), &mut all);
        }
    }
    all.retain(|place| body.pointer(place).is_some_and(holds));
    all
}

fn below(value: &Value, place: String, all: &mut Vec<String>) {
    match value {
        Value::Array(list) => {
            list.iter()
                .enumerate()
                .for_each(|(i, value)| below(value, format!("{place}/{i}"), all));
        }
        Value::Object(map) => map.iter().for_each(|(key, value)| {
            below(value, format!("{place}/{}", key.replace('~', "~0").replace('/', "~1")), all);
        }),
        _ => {}
    }
    all.push(place);
}
