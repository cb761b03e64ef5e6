//! The wire form that is written: borrowed from the messages, and serialised in one pass.

use std::borrow::Cow;

use context_core::base::JsonMap;
use context_core::{Json, JsonString};
use serde::ser::{Serialize, SerializeMap, Serializer};

/// One object of the list of messages.
#[derive(Debug, serde::Serialize)]
pub(super) struct WireMessage<'a> {
    pub(super) role: &'static str,
    pub(super) content: Content<'a>,
    /// Facts about the response, written for the source only.
    #[serde(flatten, skip_serializing_if = "ExtraEntries::is_empty")]
    pub(super) facts: ExtraEntries<'a>,
}

/// Keys and values at the end of an object.
#[derive(Debug, Default)]
pub(super) struct ExtraEntries<'a>(pub(super) Vec<(Cow<'a, str>, Json)>);

impl ExtraEntries<'_> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for ExtraEntries<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

/// The content of a message or a result.
#[derive(Debug, serde::Serialize)]
#[serde(untagged)]
pub(super) enum Content<'a> {
    Text(Cow<'a, JsonString>),
    Blocks(Vec<Block<'a>>),
}

/// One block.
#[derive(Debug)]
pub(super) struct Block<'a> {
    /// The position of the message it comes from, in the list that is sent.
    pub(super) from: usize,
    pub(super) body: Body<'a>,
    /// Keys that were read and are written again.
    pub(super) extras: Vec<(&'static str, Cow<'a, Json>)>,
    pub(super) mark: Option<Mark<'a>>,
}

/// A mark of the prompt cache.
#[derive(Clone, Copy, Debug)]
pub(super) enum Mark<'a> {
    /// A mark that was read.
    Kept(&'a Json),
    /// A mark for five minutes.
    Short,
    /// A mark for an hour.
    Long,
}

/// The content of a block.
#[derive(Debug)]
pub(super) enum Body<'a> {
    Text(Cow<'a, JsonString>),
    Thinking {
        text: &'a JsonString,
        signature: Option<&'a JsonString>,
    },
    Redacted(&'a JsonString),
    /// An image or a document.
    Media {
        kind: &'static str,
        source: Source<'a>,
        title: Option<&'a str>,
    },
    ToolUse {
        id: &'a str,
        name: &'a str,
        input: Option<Input<'a>>,
    },
    ToolResult {
        id: &'a str,
        content: Option<Content<'a>>,
        is_error: bool,
    },
    /// A block that only the provider understands, unchanged.
    Opaque(Cow<'a, Json>),
}

/// The location of media bytes.
#[derive(Debug, serde::Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum Source<'a> {
    Base64 {
        #[serde(skip_serializing_if = "Option::is_none")]
        media_type: Option<&'a str>,
        data: Cow<'a, JsonString>,
    },
    Url {
        url: &'a str,
    },
    File {
        file_id: &'a str,
    },
    Text {
        media_type: &'static str,
        data: String,
    },
}

/// The input of a tool call.
#[derive(Debug, serde::Serialize)]
#[serde(untagged)]
pub(super) enum Input<'a> {
    Json(&'a Json),
    /// An input that is not an object. The provider accepts only an object, and the model should
    /// see what it wrote.
    Invalid {
        invalid_input: &'a str,
    },
}

impl<'a> Block<'a> {
    pub(super) fn new(body: Body<'a>) -> Self {
        Self { from: 0, body, extras: Vec::new(), mark: None }
    }

    pub(super) fn text(text: impl Into<Cow<'a, JsonString>>) -> Self {
        Self::new(Body::Text(text.into()))
    }

    /// Returns whether the block is a text and nothing else, so that it may be written without its
    /// block.
    pub(super) fn is_bare_text(&self) -> bool {
        matches!(self.body, Body::Text(_)) && self.extras.is_empty() && self.mark.is_none()
    }

    pub(super) fn is_blank(&self) -> bool {
        matches!(&self.body, Body::Text(text) if text.is_blank())
    }

    pub(super) fn is_result(&self) -> bool {
        matches!(self.body, Body::ToolResult { .. })
    }

    pub(super) fn is_thought(&self) -> bool {
        matches!(self.body, Body::Thinking { .. } | Body::Redacted(_))
    }
}

impl Serialize for Mark<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Self::Kept(json) = self {
            return json.serialize(serializer);
        }
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", "ephemeral")?;
        if matches!(self, Self::Long) {
            map.serialize_entry("ttl", "1h")?;
        }
        map.end()
    }
}

impl Serialize for Block<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Body::Opaque(json) = &self.body {
            return json.serialize(serializer);
        }
        let mut map = serializer.serialize_map(None)?;
        match &self.body {
            Body::Text(text) => {
                map.serialize_entry("type", "text")?;
                map.serialize_entry("text", text)?;
            }
            Body::Thinking { text, signature } => {
                map.serialize_entry("type", "thinking")?;
                map.serialize_entry("thinking", text)?;
                if let Some(signature) = signature {
                    map.serialize_entry("signature", signature)?;
                }
            }
            Body::Redacted(data) => {
                map.serialize_entry("type", "redacted_thinking")?;
                map.serialize_entry("data", data)?;
            }
            Body::Media { kind, source, title } => {
                map.serialize_entry("type", kind)?;
                map.serialize_entry("source", source)?;
                if let Some(title) = title {
                    map.serialize_entry("title", title)?;
                }
            }
            Body::ToolUse { id, name, input } => {
                map.serialize_entry("type", "tool_use")?;
                map.serialize_entry("id", id)?;
                map.serialize_entry("name", name)?;
                if let Some(input) = input {
                    map.serialize_entry("input", input)?;
                }
            }
            Body::ToolResult { id, content, is_error } => {
                map.serialize_entry("type", "tool_result")?;
                map.serialize_entry("tool_use_id", id)?;
                if let Some(content) = content {
                    map.serialize_entry("content", content)?;
                }
                if *is_error {
                    map.serialize_entry("is_error", &true)?;
                }
            }
            Body::Opaque(_) => {}
        }
        for (key, value) in &self.extras {
            map.serialize_entry(key, value)?;
        }
        if let Some(mark) = &self.mark {
            map.serialize_entry("cache_control", mark)?;
        }
        map.end()
    }
}

/// The target of a written message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// For the provider: what it accepts, in the order it requires.
    Send,
    /// For the provider as part of a whole request: with cache marks, and with texts in blocks
    /// where they were written as blocks.
    Request,
    /// For the source: in the original order, with the facts about the response.
    Source,
}

/// Returns the same value with another mark, or with none.
pub(super) fn remarked(value: &Json, mark: Option<Mark<'_>>) -> Json {
    let Ok(mut map) = value.parse::<JsonMap>() else { return value.clone() };
    map.shift_remove("cache_control");
    if let Some(mark) = mark {
        map.insert("cache_control".to_owned(), super::json(&mark));
    }
    super::json(&map)
}
