//! OTLP in JSON: ids in hexadecimal, names in camel case, enums as numbers, 64-bit numbers as
//! strings.

use context_core::Timestamp;
use serde::{Serialize, Serializer};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Traces<'a> {
    pub(super) resource_spans: [ResourceSpans<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResourceSpans<'a> {
    pub(super) resource: Resource,
    pub(super) scope_spans: [ScopeSpans<'a>; 1],
}

#[derive(Serialize)]
pub(super) struct Resource {
    pub(super) attributes: Attributes,
}

#[derive(Serialize)]
pub(super) struct ScopeSpans<'a> {
    pub(super) scope: Scope,
    pub(super) spans: &'a [Span],
}

#[derive(Serialize)]
pub(super) struct Scope {
    pub(super) name: &'static str,
    pub(super) version: &'static str,
}

/// A span.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Span {
    pub(super) trace_id: TraceId,
    pub(super) span_id: SpanId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) parent_span_id: Option<SpanId>,
    pub(super) name: String,
    pub(super) kind: SpanKind,
    pub(super) start_time_unix_nano: Nanos,
    pub(super) end_time_unix_nano: Nanos,
    pub(super) attributes: Attributes,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) events: Vec<Event>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) links: Vec<SpanLink>,
    pub(super) status: Status,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Event {
    pub(super) time_unix_nano: Nanos,
    pub(super) name: &'static str,
    pub(super) attributes: Attributes,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SpanLink {
    pub(super) trace_id: TraceId,
    pub(super) span_id: SpanId,
    pub(super) attributes: Attributes,
}

/// The status of a span. Code 2 is an error; no code means unset.
#[derive(Default, Serialize)]
pub(super) struct Status {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) code: Option<u8>,
}

impl Status {
    pub(super) const ERROR: Self = Self { code: Some(2) };
}

#[derive(Clone, Copy)]
pub(super) enum SpanKind {
    Internal = 1,
    Client = 3,
}

impl Serialize for SpanKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(*self as u8)
    }
}

/// Nanoseconds since 1970. Earlier times become 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Nanos(u64);

impl From<Timestamp> for Nanos {
    fn from(at: Timestamp) -> Self {
        Self(u64::try_from(at.as_micros()).unwrap_or(0).saturating_mul(1000))
    }
}

impl Serialize for Nanos {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// The id of a trace.
#[derive(Clone, Copy)]
pub(super) struct TraceId(pub(super) [u8; 16]);

/// The id of a span.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct SpanId(pub(super) [u8; 8]);

fn hexadecimal(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    let halves = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    halves.map(|half| DIGITS[usize::from(half)]).collect()
}

impl Serialize for TraceId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hexadecimal(&self.0))
    }
}

impl Serialize for SpanId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hexadecimal(&self.0))
    }
}

#[derive(Serialize)]
struct Attribute {
    key: &'static str,
    value: Value,
}

#[derive(Serialize)]
enum Value {
    #[serde(rename = "stringValue")]
    Text(String),
    #[serde(rename = "boolValue")]
    Flag(bool),
    #[serde(rename = "intValue")]
    Number(String),
    #[serde(rename = "doubleValue")]
    Fraction(f64),
}

/// Attributes in the order in which they were set.
#[derive(Default, Serialize)]
#[serde(transparent)]
pub(super) struct Attributes(Vec<Attribute>);

impl Attributes {
    fn with(mut self, key: &'static str, value: Value) -> Self {
        self.0.push(Attribute { key, value });
        self
    }

    pub(super) fn text(self, key: &'static str, value: impl Into<String>) -> Self {
        self.with(key, Value::Text(value.into()))
    }

    /// Adds a text unless it is missing or empty.
    pub(super) fn some_text(self, key: &'static str, value: Option<&str>) -> Self {
        match value.filter(|value| !value.is_empty()) {
            Some(value) => self.text(key, value),
            None => self,
        }
    }

    pub(super) fn flag(self, key: &'static str, value: bool) -> Self {
        self.with(key, Value::Flag(value))
    }

    /// Adds a number if there is one.
    pub(super) fn number(self, key: &'static str, value: Option<u64>) -> Self {
        match value {
            Some(value) => {
                self.with(key, Value::Number(i64::try_from(value).unwrap_or(i64::MAX).to_string()))
            }
            None => self,
        }
    }

    /// Adds a fractional number if there is one and it is finite.
    pub(super) fn fraction(self, key: &'static str, value: Option<f64>) -> Self {
        match value.filter(|value| value.is_finite()) {
            Some(value) => self.with(key, Value::Fraction(value)),
            None => self,
        }
    }
}
