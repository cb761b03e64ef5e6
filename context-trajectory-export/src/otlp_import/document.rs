//! The JSON of OTLP.

use context_core::Timestamp;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::attributes::{KeyValue, plain};
use super::error::OtlpError;

/// The most spans that are read.
const MOST_SPANS: usize = 1 << 20;
/// The longest id of a span or a trace, in bytes.
const LONGEST_ID: usize = 64;

#[derive(Deserialize)]
#[serde(untagged)]
enum Documents {
    One(Document),
    Several(Vec<Document>),
}

#[derive(Deserialize)]
struct Document {
    #[serde(alias = "resource_spans", rename = "resourceSpans")]
    resource_spans: Vec<ResourceSpans>,
}

#[derive(Deserialize)]
struct ResourceSpans {
    #[serde(
        alias = "scope_spans",
        alias = "instrumentationLibrarySpans",
        rename = "scopeSpans",
        default
    )]
    scope_spans: Vec<ScopeSpans>,
}

#[derive(Deserialize)]
struct ScopeSpans {
    #[serde(default)]
    spans: Vec<SpanIn>,
}

#[derive(Deserialize)]
struct SpanIn {
    #[serde(alias = "trace_id", rename = "traceId", default)]
    trace_id: String,
    #[serde(alias = "span_id", rename = "spanId", default)]
    span_id: String,
    #[serde(alias = "parent_span_id", rename = "parentSpanId", default)]
    parent_span_id: String,
    #[serde(default)]
    name: String,
    #[serde(alias = "start_time_unix_nano", rename = "startTimeUnixNano", default)]
    start: Nanos,
    #[serde(alias = "end_time_unix_nano", rename = "endTimeUnixNano", default)]
    end: Nanos,
    #[serde(default)]
    attributes: Vec<KeyValue>,
    #[serde(default)]
    events: Vec<EventIn>,
    #[serde(default)]
    status: Option<Status>,
}

#[derive(Deserialize)]
struct EventIn {
    #[serde(default)]
    name: String,
    #[serde(default)]
    attributes: Vec<KeyValue>,
}

#[derive(Default, Deserialize)]
struct Status {
    #[serde(default)]
    code: Value,
}

/// Nanoseconds since 1970, written as a string or as a number.
#[derive(Clone, Copy, Default)]
struct Nanos(Option<u64>);

impl<'de> Deserialize<'de> for Nanos {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(from)?;
        let number = value.as_u64().or_else(|| value.as_str()?.parse().ok());
        Ok(Self(number.filter(|nanos| *nanos > 0)))
    }
}

impl Nanos {
    fn time(self) -> Option<Timestamp> {
        let micros = i64::try_from(self.0? / 1_000).ok()?;
        Some(Timestamp::from_micros(micros))
    }
}

/// A span as it is in the file.
pub(super) struct RawSpan {
    pub(super) trace: String,
    pub(super) id: String,
    pub(super) parent: Option<String>,
    pub(super) name: String,
    pub(super) start: Timestamp,
    pub(super) end: Option<Timestamp>,
    pub(super) attributes: Map<String, Value>,
    pub(super) events: Vec<(String, Map<String, Value>)>,
    pub(super) has_failed: bool,
}

/// Returns whether a text begins with an object that has resource spans.
pub fn is_otlp_json(text: &str) -> bool {
    #[derive(Deserialize)]
    struct Probe {
        #[serde(alias = "resource_spans", rename = "resourceSpans")]
        _spans: Vec<IgnoredAny>,
    }
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Probes {
        One(#[allow(dead_code, reason = "only its form is of interest")] Probe),
        Several(Vec<Probe>),
    }
    match serde_json::Deserializer::from_str(text).into_iter::<Probes>().next() {
        Some(Ok(Probes::One(_))) => true,
        Some(Ok(Probes::Several(list))) => !list.is_empty(),
        _ => false,
    }
}

/// Reads all spans of a text, in its order.
pub(super) fn read(text: &str) -> Result<Vec<RawSpan>, OtlpError> {
    let mut spans = Vec::new();
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let mut is_empty = true;
    while let Some(value) = values.next() {
        let at = values.byte_offset();
        let form = || {
            let line = text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
            OtlpError::Form { line, column: 1 }
        };
        let documents = serde_json::from_value(value?).map_err(|_| form())?;
        is_empty = false;
        let documents = match documents {
            Documents::One(one) => vec![one],
            Documents::Several(several) => several,
        };
        let resources = documents.into_iter().flat_map(|document| document.resource_spans);
        let scopes = resources.flat_map(|resource| resource.scope_spans);
        for span in scopes.flat_map(|scope| scope.spans) {
            if spans.len() >= MOST_SPANS {
                return Err(OtlpError::TooMany { limit: MOST_SPANS });
            }
            spans.push(checked(span, spans.len() + 1)?);
        }
    }
    if is_empty {
        return Err(OtlpError::Form { line: 1, column: 1 });
    }
    Ok(spans)
}

fn checked(span: SpanIn, number: usize) -> Result<RawSpan, OtlpError> {
    let part = |part| OtlpError::Span { span: number, part };
    let is_id = |id: &str| !id.is_empty() && id.len() <= LONGEST_ID;
    if !is_id(&span.trace_id) {
        return Err(part("the id of its trace"));
    }
    if !is_id(&span.span_id) {
        return Err(part("its id"));
    }
    let has_failed = span.status.is_some_and(|status| {
        status.code.as_u64() == Some(2) || status.code.as_str() == Some("STATUS_CODE_ERROR")
    });
    let events = span.events.into_iter().map(|event| (event.name, plain(event.attributes)));
    Ok(RawSpan {
        parent: is_id(&span.parent_span_id).then_some(span.parent_span_id),
        start: span.start.time().ok_or_else(|| part("its start"))?,
        end: span.end.time(),
        trace: span.trace_id,
        id: span.span_id,
        name: span.name,
        attributes: plain(span.attributes),
        events: events.collect(),
        has_failed,
    })
}
