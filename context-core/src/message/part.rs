//! The parts of a message.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{Json, JsonString, Metadata};

/// A part of a message.
///
/// ```
/// use context_core::Part;
///
/// let call = Part::tool_call("call_1", "search", serde_json::json!({"to": "Lisbon"}));
/// let Part::ToolCall(call) = call else { unreachable!() };
/// assert_eq!(call.input.as_written(), r#"{"to":"Lisbon"}"#);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// Text.
    Text(Text),
    /// Reasoning of the model.
    Reasoning(Reasoning),
    /// A tool call of the model.
    ToolCall(ToolCall),
    /// A result of a tool call.
    ToolResult(ToolResult),
    /// An image.
    Image(Media),
    /// A document.
    Document(Media),
    /// Audio.
    Audio(Media),
    /// Data of the application.
    Data(Data),
    /// A block that only its provider understands. It is sent back to that provider byte for byte.
    Opaque(OpaqueBlock),
    /// A part of a type that this version does not know, as it was written.
    Unknown(Json),
}

/// Text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Text {
    /// The text.
    pub text: JsonString,
    /// Additional metadata.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
}

/// Reasoning of the model, as far as the provider exposes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reasoning {
    /// The reasoning or its summary. May be empty.
    #[serde(default, skip_serializing_if = "JsonString::is_empty")]
    pub text: JsonString,
    /// The provider's signature over the reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<JsonString>,
    /// The reasoning in encrypted form, which only the provider can read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encrypted: Option<JsonString>,
    /// The provider that signed or encrypted the reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// Additional metadata.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
}

/// A tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The id of the call. Its result refers to it.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The input of the tool.
    pub input: ToolInput,
    /// Additional metadata.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
}

/// The input of a tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolInput {
    /// JSON, as the model wrote it.
    Json(Json),
    /// The text that the model wrote, if it is not valid JSON.
    Invalid(String),
}

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The id of the call.
    pub call_id: String,
    /// The name of the tool, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The output: text, media, data.
    #[serde(default)]
    pub output: Vec<Part>,
    /// Whether the call failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// Additional metadata.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
}

/// An image, a document or audio.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Media {
    /// The location of the bytes.
    pub source: MediaSource,
    /// The media type, such as `image/png`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// A file name or title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Additional metadata.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
}

/// The location of media bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MediaSource {
    /// Inline, in Base64.
    Base64(JsonString),
    /// A URL.
    Url(String),
    /// A reference to a file of a provider or to a blob, by name.
    Reference(String),
}

/// Data of the application, such as a progress note for its own user interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Data {
    /// The name of the data.
    pub name: String,
    /// The data.
    pub value: Json,
}

/// A block that only its provider understands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpaqueBlock {
    /// The provider. For any other provider the block is left out, with a diagnostic.
    pub provider: String,
    /// The block.
    pub value: Json,
}

impl Part {
    /// Creates a text part.
    pub fn text(text: impl Into<JsonString>) -> Self {
        Self::Text(Text { text: text.into(), metadata: Metadata::default() })
    }

    /// Creates a call of `name` with a JSON `input`.
    pub fn tool_call(
        id: impl Into<String>,
        name: impl Into<String>,
        input: impl Into<Json>,
    ) -> Self {
        Self::ToolCall(ToolCall {
            id: id.into(),
            name: name.into(),
            input: ToolInput::Json(input.into()),
            metadata: Metadata::default(),
        })
    }

    /// Creates a result with one text.
    pub fn tool_result(call_id: impl Into<String>, text: impl Into<JsonString>) -> Self {
        Self::ToolResult(ToolResult {
            call_id: call_id.into(),
            name: None,
            output: vec![Self::text(text)],
            is_error: false,
            metadata: Metadata::default(),
        })
    }
}

impl ToolCall {
    /// Creates a successful result with one text.
    pub fn result(&self, text: impl Into<JsonString>) -> ToolResult {
        self.answered(text.into(), false)
    }

    /// Creates a failed result. The text tells the model what is wrong with the call and how to
    /// correct it.
    pub fn error(&self, text: impl Into<JsonString>) -> ToolResult {
        self.answered(text.into(), true)
    }

    fn answered(&self, text: JsonString, is_error: bool) -> ToolResult {
        ToolResult {
            call_id: self.id.clone(),
            name: Some(self.name.clone()),
            output: vec![Part::text(text)],
            is_error,
            metadata: Metadata::default(),
        }
    }
}

impl ToolInput {
    /// Deserializes the input as `T`. Fails if the input has another structure or is not JSON.
    /// Report this to the model with [`ToolCall::error`].
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.as_written())
    }

    /// Creates an input from the text that the model wrote: JSON if the text is valid JSON,
    /// otherwise the text.
    pub fn from_written(text: impl Into<String>) -> Self {
        let text = text.into();
        match Json::from_text(text.as_str()) {
            Ok(json) => Self::Json(json),
            Err(_) => Self::Invalid(text),
        }
    }

    /// Returns the text that the model wrote.
    pub fn as_written(&self) -> &str {
        match self {
            Self::Json(json) => json.as_str(),
            Self::Invalid(text) => text,
        }
    }
}

/// Splits a Base64 `data:` URL into media type, without parameters, and data.
pub fn data_url(url: &str) -> Option<(&str, &str)> {
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    Some((head.strip_suffix(";base64")?.split(';').next()?, data))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_data_url_is_split_into_its_type_and_its_data() {
        assert_eq!(
            data_url("data:text/plain;charset=utf-8;base64,QQ=="),
            Some(("text/plain", "QQ=="))
        );
        assert_eq!(data_url("data:text/plain,A"), None);
    }
}
