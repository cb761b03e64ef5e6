//! The parts of a message.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{Json, Metadata};

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
    /// What the model thought.
    Reasoning(Reasoning),
    /// The model calls a tool.
    ToolCall(ToolCall),
    /// A tool answers.
    ToolResult(ToolResult),
    /// A picture.
    Image(Media),
    /// A document.
    Document(Media),
    /// Sound.
    Audio(Media),
    /// Data of the application.
    Data(Data),
    /// A block only its provider understands; goes back to that provider byte for byte.
    Opaque(OpaqueBlock),
    /// A part of a type this version does not know, as it was written.
    Unknown(Json),
}

/// Text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Text {
    /// The text.
    pub text: String,
    /// Facts beside it.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
}

/// What the model thought, as far as its provider shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reasoning {
    /// The thought or its summary; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The provider's signature over the thought.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// The thought in a form only the provider reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encrypted: Option<String>,
    /// Whose signature or encryption it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// Facts beside it.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Names the call; its result names it again.
    pub id: String,
    /// The tool.
    pub name: String,
    /// What it is called with.
    pub input: ToolInput,
    /// Facts beside it.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
}

/// What a tool is called with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolInput {
    /// JSON, as the model wrote it.
    Json(Json),
    /// What the model wrote where it is not JSON.
    Invalid(String),
}

/// The answer of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// Which call it answers.
    pub call_id: String,
    /// The tool, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it answers: text, media, data.
    #[serde(default)]
    pub output: Vec<Part>,
    /// Whether the call failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// Facts beside it.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
}

/// A picture, a document or sound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Media {
    /// Where the bytes are.
    pub source: MediaSource,
    /// What the bytes are, such as `image/png`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// A file name or title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Facts beside it.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
}

/// Where the bytes of media are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MediaSource {
    /// Here, in Base64.
    Base64(String),
    /// At an address.
    Url(String),
    /// With a provider or a blob store, under this name.
    Reference(String),
}

/// Data of the application, such as a progress note for its own user interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Data {
    /// What it is.
    pub name: String,
    /// The data.
    pub value: Json,
}

/// A block only its provider understands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpaqueBlock {
    /// Whose it is; for any other provider it is left out, with a diagnostic.
    pub provider: String,
    /// The block.
    pub value: Json,
}

impl Part {
    /// A text part.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(Text { text: text.into(), metadata: Metadata::default() })
    }

    /// A call of `name` with JSON `input`.
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

    /// A result of one text.
    pub fn tool_result(call_id: impl Into<String>, text: impl Into<String>) -> Self {
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
    /// What the tool answers: a text.
    pub fn result(&self, text: impl Into<String>) -> ToolResult {
        self.answered(text.into(), false)
    }

    /// Why the tool does not answer, for the model: what is wrong with the call, and what would be
    /// right.
    pub fn error(&self, text: impl Into<String>) -> ToolResult {
        self.answered(text.into(), true)
    }

    fn answered(&self, text: String, is_error: bool) -> ToolResult {
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
    /// It as `T`. Fails if the model wrote something else, or no JSON: tell it by
    /// [`ToolCall::error`].
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.as_written())
    }

    /// What the model wrote: as JSON if it is, else as it stands.
    pub fn from_written(text: impl Into<String>) -> Self {
        let text = text.into();
        match Json::from_text(text.as_str()) {
            Ok(json) => Self::Json(json),
            Err(_) => Self::Invalid(text),
        }
    }

    /// What the model wrote.
    pub fn as_written(&self) -> &str {
        match self {
            Self::Json(json) => json.as_str(),
            Self::Invalid(text) => text,
        }
    }
}
