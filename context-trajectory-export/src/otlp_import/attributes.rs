//! Attributes as plain JSON, and lists that are flattened into names with numbers.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Number, Value};

/// The most messages, or calls of a message, that flat names may number.
const MOST_ITEMS: usize = 10_000;

#[derive(Deserialize)]
pub(super) struct KeyValue {
    key: String,
    #[serde(default)]
    value: AnyValue,
}

/// A value of OTLP: an object with one key for its type.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AnyValue {
    #[serde(alias = "string_value")]
    string_value: Option<String>,
    #[serde(alias = "bool_value")]
    bool_value: Option<bool>,
    /// A string or a number.
    #[serde(alias = "int_value")]
    int_value: Option<Value>,
    #[serde(alias = "double_value")]
    double_value: Option<Value>,
    #[serde(alias = "array_value")]
    array_value: Option<ArrayValue>,
    #[serde(alias = "kvlist_value")]
    kvlist_value: Option<KvList>,
    #[serde(alias = "bytes_value")]
    bytes_value: Option<String>,
}

#[derive(Deserialize)]
struct ArrayValue {
    #[serde(default)]
    values: Vec<AnyValue>,
}

#[derive(Deserialize)]
struct KvList {
    #[serde(default)]
    values: Vec<KeyValue>,
}

/// Returns attributes as a JSON object. Of a name that occurs twice the last value counts.
pub(super) fn plain(attributes: Vec<KeyValue>) -> Map<String, Value> {
    attributes.into_iter().map(|pair| (pair.key, plain_value(pair.value))).collect()
}

fn plain_value(value: AnyValue) -> Value {
    let number = |value: Value| match value.as_str().map(str::parse::<i64>) {
        Some(Ok(number)) => Value::Number(Number::from(number)),
        _ => value,
    };
    if let Some(text) = value.string_value.or(value.bytes_value) {
        return Value::String(text);
    }
    if let Some(list) = value.array_value {
        return Value::Array(list.values.into_iter().map(plain_value).collect());
    }
    if let Some(map) = value.kvlist_value {
        return Value::Object(plain(map.values));
    }
    value
        .int_value
        .map(number)
        .or(value.double_value)
        .or(value.bool_value.map(Value::Bool))
        .unwrap_or(Value::Null)
}

/// Returns the items of a list that is flattened below a prefix, such as
/// `llm.input_messages.0.message.role`: for each number the rest of the names with their values.
pub(super) fn items(attributes: &Map<String, Value>, prefix: &str) -> Vec<Map<String, Value>> {
    let mut items: BTreeMap<usize, Map<String, Value>> = BTreeMap::new();
    for (key, value) in attributes {
        let Some(rest) = key.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('.')) else {
            continue;
        };
        let Some((number, name)) = rest.split_once('.') else { continue };
        if let Some(number) = number.parse().ok().filter(|number| *number < MOST_ITEMS) {
            items.entry(number).or_default().insert(name.to_owned(), value.clone());
        }
    }
    items.into_values().collect()
}

/// Returns the first of these attributes that is not blank, as text.
pub(super) fn text<'a>(attributes: &'a Map<String, Value>, names: &[&str]) -> Option<&'a str> {
    let texts = names.iter().filter_map(|name| attributes.get(*name)?.as_str());
    texts.into_iter().find(|text| !text.trim().is_empty())
}

/// Returns the first of these attributes that is a count.
pub(super) fn count(attributes: &Map<String, Value>, names: &[&str]) -> Option<u64> {
    names.iter().find_map(|name| attributes.get(*name)?.as_u64())
}

/// Returns the JSON that an attribute is, or that its text holds. Other text stays text.
pub(super) fn json(value: &Value) -> Value {
    match value.as_str().map(serde_json::from_str::<Value>) {
        Some(Ok(parsed)) => parsed,
        _ => value.clone(),
    }
}
