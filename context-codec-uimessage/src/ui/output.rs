//! Tool outputs: any JSON value, and the parts that a model gets of it.

use context_codec_kit::wire::truth;
use context_core::message::Text;
use context_core::{Metadata, Part, ToolResult};
use serde::Serialize;
use serde::ser::{SerializeMap, SerializeSeq, Serializer};
use serde_json::value::RawValue;

use super::form::{Entries, JsonPath, json, text};
use super::media::{self, File};
use super::part_entries::others;
use super::{JSON_KEY, PART_KEY};

/// Lifts the parts of an output: one text for a text, the parts of a list of parts, otherwise the
/// text of the JSON. Null has none.
pub(super) fn lift(raw: &RawValue) -> Vec<Part> {
    if raw.get() == "null" {
        return Vec::new();
    }
    if let Some(text) = text(raw) {
        return vec![Part::text(text)];
    }
    if let Some(parts) = parts(raw) {
        return parts;
    }
    let text = json(raw).as_str().to_owned();
    vec![Part::Text(Text {
        text: text.into(),
        metadata: Metadata::default().with(JSON_KEY, truth()),
    })]
}

/// Returns the parts of a list of text and file parts. A single text stays JSON, because parts of
/// one text are written as a text.
fn parts(raw: &RawValue) -> Option<Vec<Part>> {
    let list = raw.get();
    // Most lists are not parts and need not be parsed.
    if !list.starts_with('[') || !list.contains("\"type\"") {
        return None;
    }
    let items: Vec<&RawValue> = serde_json::from_str(list).ok()?;
    let parts: Vec<_> = items.into_iter().map(part).collect::<Option<_>>()?;
    let is_text = matches!(parts.as_slice(), [] | [Part::Text(_)]);
    (!is_text).then_some(parts)
}

fn part(raw: &RawValue) -> Option<Part> {
    let part = Entries::maybe(raw)?;
    match &*part.maybe_text("type")? {
        "text" => {
            let mut text = Text { text: part.maybe_text("text")?.into(), ..Text::default() };
            if let Some(rest) = part.rest(&["type", "text"]) {
                text.metadata.insert(PART_KEY, rest);
            }
            Some(Part::Text(text))
        }
        "file" if part.get("url").is_some() && part.get("mediaType").is_some() => {
            media::lift(&part, &JsonPath::Top).ok()
        }
        _ => None,
    }
}

/// The `output` of a result.
pub(super) struct Output<'a>(pub(super) &'a ToolResult);

impl Serialize for Output<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.output.as_slice() {
            [] => serializer.serialize_unit(),
            [Part::Text(text)] => {
                let written = text
                    .metadata
                    .get(JSON_KEY)
                    .and(serde_json::from_str::<&RawValue>(&text.text).ok());
                match written {
                    Some(json) => json.serialize(serializer),
                    None => text.text.serialize(serializer),
                }
            }
            [Part::Data(data)] => data.value.serialize(serializer),
            parts => {
                let items: Vec<_> = parts.iter().filter_map(Item::of).collect();
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                for item in &items {
                    list.serialize_element(item)?;
                }
                list.end()
            }
        }
    }
}

/// Returns whether a part of a result can be written.
pub(super) fn is_writable(result: &ToolResult, part: &Part) -> bool {
    let plain_form = result.output.len() == 1;
    matches!(part, Part::Data(_)) && plain_form || Item::of(part).is_some()
}

/// Returns the text of a failed result: its texts, joined by line feeds.
pub(super) fn error_text(result: &ToolResult) -> String {
    let texts = result.output.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// One of several parts of an output.
enum Item<'a> {
    Text(&'a Text),
    File(File<'a>),
}

impl<'a> Item<'a> {
    fn of(part: &'a Part) -> Option<Self> {
        match part {
            Part::Text(text) => Some(Self::Text(text)),
            _ => File::of(part).map(Self::File),
        }
    }
}

impl Serialize for Item<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self {
            Self::Text(text) => {
                map.serialize_entry("type", "text")?;
                map.serialize_entry("text", &text.text)?;
                others::<S>(&mut map, &text.metadata, &["type", "text"])?;
            }
            Self::File(file) => file.write::<S>(&mut map)?,
        }
        map.end()
    }
}
