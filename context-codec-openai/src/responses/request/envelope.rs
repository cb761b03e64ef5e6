//! All of a body except its input.

use std::borrow::Cow;

use context_codec_kit::normalize::NormalizedTools;
use context_codec_kit::wire::{Entries, Key, same_settings};
use context_core::message::{OpaqueBlock, Text};
use context_core::model::{FunctionTool, OutputSchema, Tool, ToolChoice, WireError};
use context_core::{Json, JsonString, Metadata, ModelRequest};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use super::Input;
use crate::prompt_cache;
use crate::responses::BODY_KEY;
use crate::responses::form::{keep, list, object, peek, read, text};
use crate::responses::keys::PROVIDER;

/// The keys for which a request has fields.
const FIELD_KEYS: [&str; 9] = [
    "model",
    "instructions",
    "input",
    "tools",
    "tool_choice",
    "text",
    "max_output_tokens",
    "temperature",
    "stream",
];
/// Other keys of a tool, kept and sent again.
const TOOL_KEYS: [&str; 4] = ["defer_loading", "allowed_callers", "output_schema", "async"];
/// The prefix of a tool's metadata keys.
const PREFIX: &str = "openai.";

/// Lifts everything except the input.
pub(super) fn lift(entries: &Entries<'_>) -> Result<ModelRequest, WireError> {
    let get = |key: &str| entries.get(key).copied().filter(|raw| raw.get() != "null");
    let mut request = ModelRequest::default();
    request.model =
        get("model").map(|raw| text(raw, || "model".into())).transpose()?.map(Cow::into_owned);
    if let Some(instructions) = get("instructions") {
        request = request.system(text(instructions, || "instructions".into())?);
    }
    request.max_output_tokens = number(get("max_output_tokens"), "max_output_tokens")?;
    request.temperature = number(get("temperature"), "temperature")?;
    request.stream = number(get("stream"), "stream")?;
    if let Some(tools) = get("tools") {
        for (i, raw) in list(tools, || "tools".into())?.into_iter().enumerate() {
            request.tools.push(tool(raw, i)?);
        }
    }
    let others;
    let mut rest: Entries<'_> = entries
        .iter()
        .filter(|(key, _)| !FIELD_KEYS.contains(&&*key.0))
        .map(|(key, raw)| (key.clone(), *raw))
        .collect();
    if let Some(raw) = get("tool_choice") {
        request.tool_choice = choice(raw);
        if request.tool_choice.is_none() {
            rest.insert(Key("tool_choice".into()), raw);
        }
    }
    if let Some(key) = get(prompt_cache::KEY).and_then(peek) {
        request.cache_key = Some(key.into_owned());
        rest.shift_remove(prompt_cache::KEY);
    }
    if let Some(retention) = get(prompt_cache::RETENTION).and_then(peek)
        && let Some(lifetime) = prompt_cache::lifetime(&retention)
    {
        request.cache_lifetime = Some(lifetime);
        rest.shift_remove(prompt_cache::RETENTION);
    }
    if let Some(raw) = get("text") {
        let mut entries: Entries<'_> = object(raw, || "text".into())?;
        request.output = entries.get("format").and_then(|format| output(format));
        if request.output.is_some() {
            entries.shift_remove("format");
        }
        if !entries.is_empty() {
            others = serde_json::value::to_raw_value(&entries).expect("text keys and JSON values");
            rest.insert(Key("text".into()), &others);
        }
    }
    if !rest.is_empty() {
        request
            .metadata
            .insert(BODY_KEY, Json::from_serialize(&rest).expect("text keys and JSON values"));
    }
    Ok(request)
}

/// Returns whether two requests are equal apart from their messages.
pub(super) fn same_envelope(a: &ModelRequest, b: &ModelRequest) -> bool {
    a.model == b.model
        && a.system == b.system
        && a.stream == b.stream
        && same_settings(a, b, &[BODY_KEY])
}

fn number<'a, T: serde::Deserialize<'a>>(
    raw: Option<&'a RawValue>,
    key: &str,
) -> Result<Option<T>, WireError> {
    raw.map(|raw| read(raw, || key.to_owned())).transpose()
}

fn tool(raw: &RawValue, index: usize) -> Result<Tool, WireError> {
    let at = |key: &str| format!("tools[{index}].{key}");
    let entries: Entries<'_> = object(raw, || format!("tools[{index}]"))?;
    let get = |key: &str| entries.get(key).copied().filter(|raw| raw.get() != "null");
    let kind = get("type").and_then(peek);
    let (Some("function"), Some(name)) = (kind.as_deref(), get("name")) else {
        return Ok(Tool::Opaque(OpaqueBlock { provider: PROVIDER.to_owned(), value: keep(raw) }));
    };
    let parameters = entries.get("parameters").map_or_else(no_input, |raw| keep(raw));
    let mut tool = FunctionTool::new(text(name, || at("name"))?, parameters);
    tool.description = get("description")
        .map(|raw| text(raw, || at("description")))
        .transpose()?
        .map(Cow::into_owned);
    tool.strict = get("strict").map(|raw| read(raw, || at("strict"))).transpose()?;
    for key in TOOL_KEYS {
        if let Some(raw) = get(key) {
            tool.metadata.insert(format!("{PREFIX}{key}"), keep(raw));
        }
    }
    Ok(Tool::Function(tool))
}

/// Returns the schema of a tool that takes no input.
fn no_input() -> Json {
    serde_json::json!({"type": "object", "properties": {}}).into()
}

/// Lifts a choice, if it is one that every provider has.
fn choice(raw: &RawValue) -> Option<ToolChoice> {
    if let Some(word) = peek(raw) {
        return match word.as_ref() {
            "auto" => Some(ToolChoice::Auto),
            "none" => Some(ToolChoice::None),
            "required" => Some(ToolChoice::Required),
            _ => None,
        };
    }
    let entries: Entries<'_> = serde_json::from_str(raw.get()).ok()?;
    let get = |key: &str| peek(entries.get(key)?);
    (get("type")? == "function")
        .then(|| get("name"))
        .flatten()
        .map(|name| ToolChoice::Named(name.into_owned()))
}

/// Lifts the form of the answer, if it is a schema.
fn output(raw: &RawValue) -> Option<OutputSchema> {
    let entries: Entries<'_> = serde_json::from_str(raw.get()).ok()?;
    let get = |key: &str| entries.get(key).copied().filter(|raw| raw.get() != "null");
    if peek(get("type")?)? != "json_schema" {
        return None;
    }
    let mut output = OutputSchema::new(peek(get("name")?)?, keep(get("schema")?));
    output.description = get("description").and_then(peek).map(Cow::into_owned);
    output.strict = get("strict").and_then(|raw| serde_json::from_str(raw.get()).ok());
    Some(output)
}

/// The keys of a body that have no field, kept from a source or set for this codec.
#[derive(Debug, Default)]
pub(super) struct Extra<'a>(Entries<'a>);

impl<'a> Extra<'a> {
    pub(super) fn of(request: &'a ModelRequest) -> Self {
        let body = request.metadata.get(BODY_KEY).map(Json::as_str);
        Self(body.and_then(|body| serde_json::from_str(body).ok()).unwrap_or_default())
    }

    pub(super) fn is_set(&self, key: &str) -> bool {
        self.0.get(key).is_some_and(|raw| raw.get() != "null")
    }

    pub(super) fn is_false(&self, key: &str) -> bool {
        self.0.get(key).is_some_and(|raw| raw.get() == "false")
    }

    /// Returns whether the conversation begins at the provider.
    pub(super) fn continues(&self) -> bool {
        self.is_set("previous_response_id") || self.is_set("conversation")
    }
}

/// Everything of a body, and its input if the body is to be sent.
pub(super) struct Envelope<'a> {
    request: &'a ModelRequest,
    extra: Extra<'a>,
    instructions: Option<Cow<'a, JsonString>>,
    tools: Vec<OutTool<'a>>,
    choice: Option<&'a ToolChoice>,
    cache_key: Option<&'a str>,
    input: Option<&'a Input<'a>>,
}

impl<'a> Envelope<'a> {
    /// Creates the envelope with everything in the request.
    pub(super) fn in_full(request: &'a ModelRequest) -> Self {
        Self {
            request,
            extra: Extra::of(request),
            instructions: joined(request.system.iter()),
            tools: request.tools.iter().filter(|tool| is_ours(tool)).map(OutTool::InFull).collect(),
            choice: request.tool_choice.as_ref(),
            cache_key: request.cache_key.as_deref(),
            input: None,
        }
    }

    /// Creates the envelope with everything that the provider accepts.
    pub(super) fn to_send(
        request: &'a ModelRequest,
        extra: Extra<'a>,
        tools: &'a NormalizedTools<'_>,
        input: &'a Input<'a>,
    ) -> Self {
        Self {
            request,
            extra,
            instructions: joined(request.system_texts()),
            tools: tools.tools.iter().map(OutTool::Sent).collect(),
            choice: tools.choice.as_deref(),
            cache_key: prompt_cache::key(request),
            input: Some(input),
        }
    }
}

fn joined<'a>(texts: impl Iterator<Item = &'a Text>) -> Option<Cow<'a, JsonString>> {
    JsonString::join(texts.map(|text| &text.text), "\n\n")
}

fn is_ours(tool: &Tool) -> bool {
    match tool {
        Tool::Function(_) => true,
        Tool::Opaque(block) => block.provider == PROVIDER,
        _ => false,
    }
}

impl Serialize for Envelope<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let request = self.request;
        let mut map = serializer.serialize_map(None)?;
        entry(&mut map, "model", request.model.as_deref())?;
        entry(&mut map, "instructions", self.instructions.as_deref())?;
        entry(&mut map, "input", self.input)?;
        if !self.tools.is_empty() {
            map.serialize_entry("tools", &self.tools)?;
        }
        entry(&mut map, "tool_choice", self.choice.map(OutChoice))?;
        if request.output.is_some() || self.extra.is_set("text") {
            map.serialize_entry(
                "text",
                &OutText { output: request.output.as_ref(), extra: &self.extra },
            )?;
        }
        entry(&mut map, "max_output_tokens", request.max_output_tokens)?;
        entry(&mut map, "temperature", request.temperature)?;
        entry(&mut map, "stream", request.stream)?;
        entry(&mut map, prompt_cache::KEY, self.cache_key)?;
        let retention = prompt_cache::retention(request);
        entry(&mut map, prompt_cache::RETENTION, retention)?;
        for (key, raw) in &self.extra.0 {
            let is_replaced = match &*key.0 {
                prompt_cache::KEY => self.cache_key.is_some(),
                prompt_cache::RETENTION => retention.is_some(),
                _ => false,
            };
            let chosen = key.0 == "tool_choice" && request.tool_choice.is_none();
            if is_replaced {
                continue;
            }
            if chosen || !FIELD_KEYS.contains(&&*key.0) {
                map.serialize_entry(key, raw)?;
            }
        }
        map.end()
    }
}

fn entry<M: SerializeMap>(
    map: &mut M,
    key: &str,
    value: Option<impl Serialize>,
) -> Result<(), M::Error> {
    value.map_or(Ok(()), |value| map.serialize_entry(key, &value))
}

/// A tool in full, or with the keys that the provider wants.
enum OutTool<'a> {
    InFull(&'a Tool),
    Sent(&'a Tool),
}

impl Serialize for OutTool<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (Self::InFull(tool) | Self::Sent(tool)) = self;
        let tool = match tool {
            Tool::Function(tool) => tool,
            Tool::Opaque(block) => return block.value.serialize(serializer),
            _ => return serializer.serialize_unit(),
        };
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", "function")?;
        map.serialize_entry("name", &tool.name)?;
        entry(&mut map, "description", tool.description.as_deref())?;
        map.serialize_entry("parameters", &tool.input_schema)?;
        // The form requires null if it is not known whether the schema is to be followed.
        if matches!(self, Self::Sent(_)) || tool.strict.is_some() {
            map.serialize_entry("strict", &tool.strict)?;
        }
        write_tool_keys(&mut map, &tool.metadata)?;
        map.end()
    }
}

fn write_tool_keys<M: SerializeMap>(map: &mut M, metadata: &Metadata) -> Result<(), M::Error> {
    for (key, value) in metadata.iter() {
        if let Some(key) = key.strip_prefix(PREFIX).filter(|key| TOOL_KEYS.contains(key)) {
            map.serialize_entry(key, value)?;
        }
    }
    Ok(())
}

struct OutChoice<'a>(&'a ToolChoice);

impl Serialize for OutChoice<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let word = match self.0 {
            ToolChoice::None => "none",
            ToolChoice::Required => "required",
            ToolChoice::Named(name) => {
                let mut map = serializer.serialize_map(Some(2))?;
                map.serialize_entry("type", "function")?;
                map.serialize_entry("name", name)?;
                return map.end();
            }
            _ => "auto",
        };
        serializer.serialize_str(word)
    }
}

struct OutText<'a> {
    output: Option<&'a OutputSchema>,
    extra: &'a Extra<'a>,
}

impl Serialize for OutText<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        entry(&mut map, "format", self.output.map(OutFormat))?;
        let others: Entries<'_> = self
            .extra
            .0
            .get("text")
            .and_then(|raw| serde_json::from_str(raw.get()).ok())
            .unwrap_or_default();
        for (key, raw) in &others {
            if self.output.is_none() || key.0 != "format" {
                map.serialize_entry(key, raw)?;
            }
        }
        map.end()
    }
}

struct OutFormat<'a>(&'a OutputSchema);

impl Serialize for OutFormat<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", "json_schema")?;
        map.serialize_entry("name", &self.0.name)?;
        entry(&mut map, "description", self.0.description.as_deref())?;
        map.serialize_entry("schema", &self.0.schema)?;
        entry(&mut map, "strict", self.0.strict)?;
        map.end()
    }
}
