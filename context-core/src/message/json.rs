//! Serialization of parts.
//!
//! Written by hand, because serde's tagged enums buffer the input and cannot hold raw JSON, and
//! because a part of an unknown type must be kept as it was.

use std::borrow::Cow;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::part::{
    Data, Media, OpaqueBlock, Part, Reasoning, Text, ToolCall, ToolInput, ToolResult,
};
use crate::Json;

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Tagged<'a> {
    Text(&'a Text),
    Reasoning(&'a Reasoning),
    ToolCall(&'a ToolCall),
    ToolResult(&'a ToolResult),
    Image(&'a Media),
    Document(&'a Media),
    Audio(&'a Media),
    Data(&'a Data),
    Opaque(&'a OpaqueBlock),
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let tagged = match self {
            Self::Text(part) => Tagged::Text(part),
            Self::Reasoning(part) => Tagged::Reasoning(part),
            Self::ToolCall(part) => Tagged::ToolCall(part),
            Self::ToolResult(part) => Tagged::ToolResult(part),
            Self::Image(part) => Tagged::Image(part),
            Self::Document(part) => Tagged::Document(part),
            Self::Audio(part) => Tagged::Audio(part),
            Self::Data(part) => Tagged::Data(part),
            Self::Opaque(part) => Tagged::Opaque(part),
            Self::Unknown(json) => return json.serialize(serializer),
        };
        tagged.serialize(serializer)
    }
}

#[derive(Deserialize)]
struct Tag<'a> {
    #[serde(rename = "type", borrow)]
    name: Cow<'a, str>,
}

impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        fn read<T: DeserializeOwned, E: serde::de::Error>(json: &RawValue) -> Result<T, E> {
            serde_json::from_str(json.get()).map_err(E::custom)
        }
        let json = Box::<RawValue>::deserialize(deserializer)?;
        let tag: Tag<'_> = serde_json::from_str(json.get()).map_err(D::Error::custom)?;
        Ok(match &*tag.name {
            "text" => Self::Text(read(&json)?),
            "reasoning" => Self::Reasoning(read(&json)?),
            "tool_call" => Self::ToolCall(read(&json)?),
            "tool_result" => Self::ToolResult(read(&json)?),
            "image" => Self::Image(read(&json)?),
            "document" => Self::Document(read(&json)?),
            "audio" => Self::Audio(read(&json)?),
            "data" => Self::Data(read(&json)?),
            "opaque" => Self::Opaque(read(&json)?),
            _ => {
                drop(tag);
                Self::Unknown(json.into())
            }
        })
    }
}

/// The JSON form: `{"json": …}` or `{"invalid": "…"}`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum InputForm {
    Json(Json),
    Invalid(String),
}

impl Serialize for ToolInput {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Json(json) => InputForm::Json(json.clone()),
            Self::Invalid(text) => InputForm::Invalid(text.clone()),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ToolInput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match InputForm::deserialize(deserializer)? {
            InputForm::Json(json) => Self::Json(json),
            InputForm::Invalid(text) => Self::Invalid(text),
        })
    }
}
