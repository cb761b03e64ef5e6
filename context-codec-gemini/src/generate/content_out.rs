//! The wire form that is written: borrowed from the messages, serialised in one pass.

use std::borrow::Cow;

use context_core::base::JsonMap;
use context_core::{Json, JsonString};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// The order in which keys are written. Source text nearly always uses one of these orders, and is
/// compared with the written text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Order {
    /// The order that people use: a role before its parts, a name before its arguments.
    #[default]
    Usual,
    /// Alphabetical order, as programs write that sort keys.
    Alphabet,
}

/// The content of one message.
pub(super) struct ContentOut<'a> {
    pub(super) role: &'static str,
    pub(super) parts: Vec<PartOut<'a>>,
    pub(super) order: Order,
}

/// A value and the order of its keys.
struct Ordered<'a, T: ?Sized>(&'a T, Order);

impl Serialize for ContentOut<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        let parts = Ordered(self.parts.as_slice(), self.order);
        if self.order == Order::Usual {
            map.serialize_entry("role", self.role)?;
        }
        map.serialize_entry("parts", &parts)?;
        if self.order == Order::Alphabet {
            map.serialize_entry("role", self.role)?;
        }
        map.end()
    }
}

impl Serialize for Ordered<'_, [PartOut<'_>]> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|part| Ordered(part, self.1)))
    }
}

/// A part.
pub(super) struct PartOut<'a> {
    pub(super) kind: Kind<'a>,
    pub(super) thought: bool,
    /// A string.
    pub(super) signature: Option<Cow<'a, Json>>,
    /// Other keys of the part.
    pub(super) others: Option<Box<JsonMap>>,
}

impl<'a> PartOut<'a> {
    pub(super) fn new(kind: Kind<'a>) -> Self {
        Self { kind, thought: false, signature: None, others: None }
    }
}

/// The kind of a part.
pub(super) enum Kind<'a> {
    Text(Cow<'a, JsonString>),
    Inline { media_type: &'a str, data: Cow<'a, JsonString>, name: Option<&'a str> },
    File { media_type: Option<&'a str>, uri: &'a str, name: Option<&'a str> },
    Call { id: Option<&'a str>, name: &'a str, args: Cow<'a, Json> },
    Response(Box<Response<'a>>),
    Opaque(&'a Json),
}

/// A tool result.
pub(super) struct Response<'a> {
    pub(super) id: Option<&'a str>,
    pub(super) name: Option<&'a str>,
    /// The key of the value; `None` if the value is the response, or if there is no value.
    pub(super) key: Option<Cow<'a, str>>,
    pub(super) value: Option<Cow<'a, JsonString>>,
    /// The value if it is not text.
    pub(super) json: Option<Json>,
    pub(super) parts: Vec<PartOut<'a>>,
    /// Its position among responses that are distinguished by their order.
    pub(super) order: usize,
}

/// Writes a part outside of a content in the usual order.
impl Serialize for PartOut<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Ordered(self, Order::Usual).serialize(serializer)
    }
}

impl Serialize for Ordered<'_, PartOut<'_>> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(part, order) = *self;
        if let Kind::Opaque(json) = part.kind {
            return json.serialize(serializer);
        }
        let mut map = serializer.serialize_map(None)?;
        match &part.kind {
            Kind::Text(text) => map.serialize_entry("text", text)?,
            Kind::Inline { .. } => {
                map.serialize_entry("inlineData", &Ordered(&part.kind, order))?
            }
            Kind::File { .. } => map.serialize_entry("fileData", &Ordered(&part.kind, order))?,
            Kind::Call { .. } => {
                map.serialize_entry("functionCall", &Ordered(&part.kind, order))?
            }
            Kind::Response(response) => {
                map.serialize_entry("functionResponse", &Ordered(&**response, order))?;
            }
            Kind::Opaque(_) => {}
        }
        if part.thought {
            map.serialize_entry("thought", &true)?;
        }
        if let Some(signature) = &part.signature {
            map.serialize_entry("thoughtSignature", &**signature)?;
        }
        for (key, value) in part.others.iter().flat_map(|others| others.iter()) {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// Media and calls.
impl Serialize for Ordered<'_, Kind<'_>> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let by_alphabet = self.1 == Order::Alphabet;
        match self.0 {
            Kind::Inline { media_type, data, name } => {
                if by_alphabet {
                    map.serialize_entry("data", data)?;
                    optional(&mut map, "displayName", *name)?;
                }
                map.serialize_entry("mimeType", media_type)?;
                if !by_alphabet {
                    map.serialize_entry("data", data)?;
                    optional(&mut map, "displayName", *name)?;
                }
            }
            Kind::File { media_type, uri, name } => {
                if !by_alphabet {
                    optional(&mut map, "mimeType", *media_type)?;
                }
                optional(&mut map, "displayName", name.filter(|_| by_alphabet))?;
                map.serialize_entry("fileUri", uri)?;
                optional(&mut map, "displayName", name.filter(|_| !by_alphabet))?;
                if by_alphabet {
                    optional(&mut map, "mimeType", *media_type)?;
                }
            }
            Kind::Call { id, name, args } => {
                if by_alphabet {
                    map.serialize_entry("args", &**args)?;
                }
                optional(&mut map, "id", *id)?;
                map.serialize_entry("name", name)?;
                if !by_alphabet {
                    map.serialize_entry("args", &**args)?;
                }
            }
            Kind::Text(_) | Kind::Response(_) | Kind::Opaque(_) => {}
        }
        map.end()
    }
}

fn optional<M: SerializeMap>(map: &mut M, key: &str, value: Option<&str>) -> Result<(), M::Error> {
    match value {
        Some(value) => map.serialize_entry(key, value),
        None => Ok(()),
    }
}

impl Serialize for Ordered<'_, Response<'_>> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(response, order) = *self;
        let mut map = serializer.serialize_map(None)?;
        optional(&mut map, "id", response.id)?;
        optional(&mut map, "name", response.name)?;
        if order == Order::Usual {
            map.serialize_entry("response", &ResponseObject(response))?;
        }
        if !response.parts.is_empty() {
            map.serialize_entry("parts", &Ordered(response.parts.as_slice(), order))?;
        }
        if order == Order::Alphabet {
            map.serialize_entry("response", &ResponseObject(response))?;
        }
        map.end()
    }
}

/// The object of a response.
struct ResponseObject<'a>(&'a Response<'a>);

impl Serialize for ResponseObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Response { key, value, json, .. } = self.0;
        if let (None, Some(json)) = (key, json) {
            return json.serialize(serializer);
        }
        let mut map = serializer.serialize_map(None)?;
        if let Some(key) = key {
            match json {
                Some(json) => map.serialize_entry(key, json)?,
                None => map.serialize_entry(key, value)?,
            }
        }
        map.end()
    }
}
