//! Entries of the list of tools.

use std::borrow::Cow;

use context_codec_kit::wire::{kept, raw_kind};
use context_core::base::JsonMap;
use context_core::message::OpaqueBlock;
use context_core::model::{FunctionTool, Tool, WireError};
use context_core::{Json, Metadata};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use super::super::fields::{Fields, JsonPath};
use super::super::form::Mark;
use super::super::{CACHE_KEY, PROVIDER};

/// The prefix of the metadata keys for other keys of a tool.
const PREFIX: &str = "anthropic.";

/// A tool in wire form.
#[derive(Debug)]
pub(in super::super) enum WireTool<'a> {
    Function {
        tool: &'a FunctionTool,
        input_schema: Cow<'a, Json>,
        /// Keys that were read and are written again.
        extras: Vec<(&'a str, &'a Json)>,
        mark: Option<Mark<'a>>,
    },
    /// A tool that only the provider understands.
    Opaque(Cow<'a, Json>),
}

impl<'a> WireTool<'a> {
    /// Returns the form of a tool, unless it is another provider's.
    pub(super) fn of(tool: &'a Tool) -> Option<Self> {
        match tool {
            Tool::Function(tool) => {
                let own = tool.metadata.iter().filter(|(key, _)| *key != CACHE_KEY);
                let extras =
                    own.filter_map(|(key, value)| Some((key.strip_prefix(PREFIX)?, value)));
                Some(Self::Function {
                    tool,
                    input_schema: Cow::Borrowed(&tool.input_schema),
                    extras: extras.filter(|(key, _)| !KNOWN.contains(key)).collect(),
                    mark: tool.metadata.get(CACHE_KEY).map(Mark::Kept),
                })
            }
            Tool::Opaque(block) if block.provider == PROVIDER => {
                Some(Self::Opaque(Cow::Borrowed(&block.value)))
            }
            _ => None,
        }
    }

    /// Returns the name under which the tool is called.
    pub(super) fn name(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Function { tool, .. } => Some(Cow::Borrowed(&tool.name)),
            Self::Opaque(value) => Fields::inspect(value.as_raw())?.peek("name"),
        }
    }

    /// Makes the input schema one of an object, which the provider requires. Returns a description
    /// of the change, if there was one.
    pub(super) fn make_sendable(&mut self) -> Option<&'static str> {
        let Self::Function { input_schema, .. } = self else { return None };
        let schema: Result<JsonMap, _> = input_schema.parse();
        let (mut schema, why) = match schema {
            Ok(schema) if schema.get("type").is_some_and(|json| json.as_str() == "\"object\"") => {
                return None;
            }
            Ok(schema) if !schema.contains_key("type") => (schema, None),
            _ => (
                JsonMap::new(),
                Some("the schema of the input is not that of an object: any object is accepted"),
            ),
        };
        schema.shift_insert(0, "type".to_owned(), Json::from("object"));
        *input_schema = Cow::Owned(super::super::json(&schema));
        why
    }
}

/// The keys of a function that have a field of their own.
const KNOWN: [&str; 5] = ["name", "description", "input_schema", "strict", "cache_control"];

/// Lifts the tool at `path`.
pub(super) fn lift(json: &RawValue, path: &JsonPath<'_>) -> Result<Tool, WireError> {
    let fields = Fields::read(json, path)?;
    Ok(function(&fields).map_or_else(
        || Tool::Opaque(OpaqueBlock { provider: PROVIDER.to_owned(), value: kept(json) }),
        Tool::Function,
    ))
}

/// Returns a function of the application, if all its keys fit one.
fn function(fields: &Fields<'_>) -> Option<FunctionTool> {
    let has_type = fields.peek("type").is_some_and(|kind| kind != "custom");
    let name = fields.text("name", &JsonPath::Root).ok()??;
    let schema =
        fields.get("input_schema").filter(|schema| raw_kind(schema) == "an object" && !has_type)?;
    let mut tool = FunctionTool::new(name, kept(schema));
    tool.description = fields.text("description", &JsonPath::Root).ok()?.map(Cow::into_owned);
    tool.strict = match fields.get("strict").map(RawValue::get) {
        None => None,
        Some("true") => Some(true),
        Some("false") => Some(false),
        Some(_) => return None,
    };
    let rest =
        fields.rest().filter(|(key, value)| value.get() != "null" && !KNOWN[..4].contains(key));
    tool.metadata =
        rest.map(|(key, value)| (format!("{PREFIX}{key}"), kept(value))).collect::<Metadata>();
    Some(tool)
}

impl Serialize for WireTool<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (tool, input_schema, extras, mark) = match self {
            Self::Opaque(value) => return value.serialize(serializer),
            Self::Function { tool, input_schema, extras, mark } => {
                (tool, input_schema, extras, mark)
            }
        };
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &tool.name)?;
        if let Some(description) = &tool.description {
            map.serialize_entry("description", description)?;
        }
        map.serialize_entry("input_schema", input_schema)?;
        if let Some(strict) = tool.strict {
            map.serialize_entry("strict", &strict)?;
        }
        for (key, value) in extras {
            map.serialize_entry(key, value)?;
        }
        if let Some(mark) = mark {
            map.serialize_entry("cache_control", mark)?;
        }
        map.end()
    }
}
