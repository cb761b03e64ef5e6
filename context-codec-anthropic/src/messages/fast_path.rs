//! A fast path for lifting: texts, calls and results without other keys, which most messages are,
//! read in one pass. All other messages, and all invalid ones, are left to [`lift`](super::lift).

use std::fmt;
use std::marker::PhantomData;

use context_core::message::{Text, ToolInput};
use context_core::{Json, JsonString, Message, Metadata, Part, Role, ToolCall, ToolResult};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::lift::{mark_form, role_of};

/// Returns the message, if it is plain.
pub(super) fn message(json: &str) -> Option<Message> {
    let Object(PlainMessage { role, content }) = serde_json::from_str(json).ok()?;
    let Content { parts, as_blocks } = Content::read(content, true)?;
    if parts.is_empty() {
        return None;
    }
    let role = role_of(role, &parts).ok()?;
    let mut message = Message { role, parts, metadata: Metadata::default() };
    mark_form(&mut message.metadata, as_blocks, role == Role::Assistant, &message.parts);
    Some(message)
}

/// Deserialises an object only. A derived type also accepts a list of its fields.
struct Object<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Map<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Map<T> {
            type Value = T;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map))
            }
        }

        deserializer.deserialize_map(Map(PhantomData)).map(Self)
    }
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct PlainMessage<'a> {
    role: &'a str,
    #[serde(borrow)]
    content: &'a RawValue,
}

struct Content {
    parts: Vec<Part>,
    as_blocks: bool,
}

impl Content {
    /// Reads a text or a list of blocks, if it is plain. Results in results are left to the slow
    /// path, which bounds how deep it goes.
    fn read(json: &RawValue, with_results: bool) -> Option<Self> {
        if let Some(text) = JsonString::from_raw(json) {
            return Some(Self { parts: vec![Part::text(text)], as_blocks: false });
        }
        let blocks: Vec<Object<Block<'_>>> = serde_json::from_str(json.get()).ok()?;
        let parts = blocks.into_iter().map(|Object(block)| block.part(with_results));
        Some(Self { parts: parts.collect::<Option<_>>()?, as_blocks: true })
    }
}

fn not_plain<E: serde::de::Error>() -> E {
    E::custom("there is more to it")
}

/// A block of any type. A null is not plain.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Block<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(borrow, default, deserialize_with = "present")]
    text: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "present")]
    id: Option<String>,
    #[serde(default, deserialize_with = "present")]
    name: Option<String>,
    #[serde(default, deserialize_with = "present")]
    input: Option<Json>,
    #[serde(default, deserialize_with = "present")]
    tool_use_id: Option<String>,
    #[serde(borrow, default, deserialize_with = "present")]
    content: Option<&'a RawValue>,
    #[serde(default)]
    is_error: TrueFlag,
}

/// A `true`, or an absent key.
#[derive(Default)]
struct TrueFlag(bool);

impl<'de> Deserialize<'de> for TrueFlag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if bool::deserialize(deserializer)? { Ok(Self(true)) } else { Err(not_plain()) }
    }
}

fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

impl Block<'_> {
    /// Returns the part, if the block has the keys of its type and no others.
    fn part(self, with_results: bool) -> Option<Part> {
        let metadata = Metadata::default();
        let Self {
            kind,
            text,
            id,
            name,
            input,
            tool_use_id,
            content,
            is_error: TrueFlag(is_error),
        } = self;
        match (kind, text, (id, name, input), (tool_use_id, content, is_error)) {
            ("text", Some(text), (None, None, None), (None, None, false)) => {
                Some(Part::Text(Text { text: JsonString::from_raw(text)?, metadata }))
            }
            ("tool_use", None, (Some(id), Some(name), Some(input)), (None, None, false))
                if input.as_str() != "null" =>
            {
                let input = ToolInput::Json(input.compact());
                Some(Part::ToolCall(ToolCall { id, name, input, metadata }))
            }
            ("tool_result", None, (None, None, None), (Some(call_id), Some(content), is_error))
                if with_results =>
            {
                let Content { parts: output, as_blocks } = Content::read(content, false)?;
                let is_text = |part: &Part| matches!(part, Part::Text(_));
                if output.is_empty() || !output.iter().all(is_text) {
                    return None;
                }
                let mut metadata = metadata;
                mark_form(&mut metadata, as_blocks, false, &output);
                Some(Part::ToolResult(ToolResult {
                    call_id,
                    name: None,
                    output,
                    is_error,
                    metadata,
                }))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::fields::JsonPath;
    use crate::messages::lift;

    /// Returns whether a message is plain. The slow path must then give the same message.
    fn is_plain(json: &str) -> bool {
        let Some(plain) = message(json) else { return false };
        let read = lift::message(Json::from_text(json).unwrap().as_raw(), &JsonPath::Root)
            .expect("what is plain can be read");
        assert!(read.is_plain && read.diagnostics.is_empty(), "{json}");
        assert_eq!(plain, read.message, "{json}");
        true
    }

    #[test]
    fn both_ways_read_the_same() {
        for json in [
            r#"{"role":"user","content":""}"#,
            r#"{"role":"system","content":"a\nb"}"#,
            r#"{"content":"x","role":"assistant"}"#,
            r#"{"role":"user","content":[{"type":"text","text":"\u00e9"}]}"#,
            r#"{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"tool_use","id":"i","name":"n","input":{ "a": 1.50 }}]}"#,
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"i","content":"x"}]}"#,
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"i","is_error":true,"content":[{"type":"text","text":"x"}]}]}"#,
            r#"{"role":"assistant","content":[{"type":"tool_result","tool_use_id":"i","content":"x"}]}"#,
        ] {
            assert!(is_plain(json), "{json}");
        }
    }

    #[test]
    fn everything_else_is_left_to_the_long_way() {
        let block = |block: &str| format!(r#"{{"role":"assistant","content":[{block}]}}"#);
        for json in [
            r#"["user","x"]"#.to_owned(),
            r#"{"role":"robot","content":"x"}"#.to_owned(),
            r#"{"role":"user","content":null}"#.to_owned(),
            r#"{"role":"user","content":[]}"#.to_owned(),
            r#"{"role":"user","content":"x","content":"y"}"#.to_owned(),
            r#"{"role":"user","content":"x","id":"i"}"#.to_owned(),
            r#"{"role":"user","content":"\ud800"}"#.to_owned(),
            block(r#"["text","x"]"#),
            block(r#"{"type":{"text":null},"text":"x"}"#),
            block(r#"{"type":"text","text":"x","cache_control":null}"#),
            block(r#"{"type":"text","text":"x","id":null}"#),
            block(r#"{"type":"text","text":"x","is_error":true}"#),
            block(r#"{"type":"tool_use","id":"i","name":"n","input":null}"#),
            block(r#"{"type":"tool_use","id":"i","name":"n"}"#),
            block(r#"{"type":"tool_result","tool_use_id":"i","content":"x","is_error":false}"#),
            block(
                r#"{"type":"tool_result","tool_use_id":"i","content":[{"type":"tool_use","id":"i","name":"n","input":{}}]}"#,
            ),
            block(r#"{"type":"thinking","thinking":"x"}"#),
        ] {
            assert!(!is_plain(&json), "{json}");
        }
    }
}
