//! The wire form that is read. Keys may be in camel case, as in the REST interface, or in snake
//! case, as some clients write them.

use std::fmt;

use context_codec_kit::wire;
use context_codec_kit::wire::{Entries, LossyText, TakenText};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Takes the value of a key out of an object, in either spelling.
pub(super) fn take<'a>(map: &mut Entries<'a>, camel: &str) -> Option<&'a RawValue> {
    let value = map.shift_remove(camel).or_else(|| map.shift_remove(snake(camel).as_str()));
    value.filter(|value| value.get() != "null")
}

/// Returns the snake case of a key in camel case.
fn snake(camel: &str) -> String {
    let mut out = String::with_capacity(camel.len() + 4);
    for c in camel.chars() {
        if c.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

/// The content of one message.
#[derive(Deserialize)]
pub(super) struct Content<'a> {
    pub(super) role: Option<LossyText>,
    #[serde(borrow)]
    pub(super) parts: Option<Vec<PartForm<'a>>>,
}

/// The parts of a content as they were written, for those that are kept unchanged.
#[derive(Deserialize)]
pub(super) struct RawParts<'a> {
    #[serde(borrow)]
    pub(super) parts: Vec<&'a RawValue>,
}

/// A part. Its keys decide its kind.
#[derive(Default)]
pub(super) struct PartForm<'a> {
    pub(super) text: Option<TakenText>,
    pub(super) thought: bool,
    /// A string, as it was written.
    pub(super) signature: Option<&'a RawValue>,
    pub(super) inline_data: Option<Blob>,
    pub(super) file_data: Option<File>,
    pub(super) call: Option<Call<'a>>,
    pub(super) response: Option<Response<'a>>,
    /// Keys of other kinds: properties of the part, or a kind that has no field.
    pub(super) others: Entries<'a>,
}

#[derive(Deserialize)]
pub(super) struct Blob {
    #[serde(alias = "mime_type")]
    #[serde(rename = "mimeType")]
    pub(super) mime_type: Option<LossyText>,
    pub(super) data: Option<TakenText>,
    #[serde(rename = "displayName", alias = "display_name")]
    pub(super) name: Option<LossyText>,
}

#[derive(Deserialize)]
pub(super) struct File {
    #[serde(rename = "mimeType", alias = "mime_type")]
    pub(super) mime_type: Option<LossyText>,
    #[serde(rename = "fileUri", alias = "file_uri")]
    pub(super) uri: Option<LossyText>,
    #[serde(rename = "displayName", alias = "display_name")]
    pub(super) name: Option<LossyText>,
}

#[derive(Deserialize)]
pub(super) struct Call<'a> {
    pub(super) id: Option<LossyText>,
    pub(super) name: Option<LossyText>,
    #[serde(borrow)]
    pub(super) args: Option<&'a RawValue>,
    #[serde(rename = "partialArgs", alias = "partial_args")]
    pub(super) partial: Option<Vec<PartialArg<'a>>>,
    #[serde(rename = "willContinue", alias = "will_continue", default)]
    pub(super) will_continue: Option<bool>,
}

/// A piece of a call's input, in streams that send the input while it is written.
#[derive(Deserialize)]
pub(super) struct PartialArg<'a> {
    #[serde(rename = "jsonPath", alias = "json_path")]
    pub(super) path: Option<LossyText>,
    #[serde(rename = "stringValue", alias = "string_value")]
    pub(super) text: Option<LossyText>,
    #[serde(borrow, rename = "numberValue", alias = "number_value")]
    pub(super) number: Option<&'a RawValue>,
    #[serde(rename = "boolValue", alias = "bool_value")]
    pub(super) boolean: Option<bool>,
}

#[derive(Deserialize)]
pub(super) struct Response<'a> {
    pub(super) id: Option<LossyText>,
    pub(super) name: Option<LossyText>,
    #[serde(borrow)]
    pub(super) response: Option<&'a RawValue>,
    pub(super) parts: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "camelCase")]
enum Key {
    Text,
    Thought,
    #[serde(alias = "thought_signature")]
    ThoughtSignature,
    #[serde(alias = "inline_data")]
    InlineData,
    #[serde(alias = "file_data")]
    FileData,
    #[serde(alias = "function_call")]
    FunctionCall,
    #[serde(alias = "function_response")]
    FunctionResponse,
    Other(String),
}

impl<'de: 'a, 'a> Deserialize<'de> for PartForm<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PartVisitor(std::marker::PhantomData))
    }
}

struct PartVisitor<'a>(std::marker::PhantomData<&'a ()>);

impl<'de: 'a, 'a> Visitor<'de> for PartVisitor<'a> {
    type Value = PartForm<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a part")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut part = PartForm::default();
        while let Some(key) = map.next_key()? {
            match key {
                Key::Text => part.text = map.next_value()?,
                Key::Thought => {
                    part.thought = map.next_value::<Option<bool>>()?.unwrap_or_default()
                }
                Key::ThoughtSignature => part.signature = map.next_value()?,
                Key::InlineData => part.inline_data = map.next_value()?,
                Key::FileData => part.file_data = map.next_value()?,
                Key::FunctionCall => part.call = map.next_value()?,
                Key::FunctionResponse => part.response = map.next_value()?,
                Key::Other(key) => {
                    if let Some(value) = map.next_value()? {
                        part.others.insert(wire::Key(key.into()), value);
                    }
                }
            }
        }
        Ok(part)
    }
}

impl PartForm<'_> {
    /// Returns how many kinds of content the part has; one, if it is well formed.
    pub(super) fn contents(&self) -> usize {
        usize::from(self.text.is_some())
            + usize::from(self.inline_data.is_some())
            + usize::from(self.file_data.is_some())
            + usize::from(self.call.is_some())
            + usize::from(self.response.is_some())
    }
}
