//! From a body to a request.

use context_codec_kit::JsonPatch;
use context_codec_kit::wire::{kept, raw_kind, read_list, read_text, wrong_type_of};
use context_core::base::JsonMap;
use context_core::message::Text;
use context_core::model::{CacheMarks, LiftedRequest, OutputSchema, ToolChoice, WireError};
use context_core::{Json, Metadata, ModelRequest, Role};
use serde_json::value::RawValue;

use super::super::fields::{Fields, JsonPath};
use super::super::lift::Reader;
use super::super::{AS_BLOCKS, BODY_KEY, PARALLEL_KEY, SOURCE_KEY, json, lift_at};
use super::envelope::written;
use super::tool;

/// Lifts a body.
pub(super) fn body(body: &Json) -> Result<LiftedRequest, WireError> {
    let fields = Fields::read(body.as_raw(), &JsonPath::Root)?;
    let path = JsonPath::Key(&JsonPath::Root, "messages");
    let messages =
        fields.get("messages").ok_or_else(|| WireError::Missing { path: path.to_string() })?;
    let mut diagnostics = Vec::new();
    let items = read_list(messages, &path)?;
    let mut request = read_envelope(&fields)?;
    for (i, item) in items.iter().enumerate() {
        let lifted = lift_at(item, &JsonPath::Item(&path, i))?;
        diagnostics.extend(lifted.diagnostics);
        request.messages.push(lifted.message.into());
    }
    request.cache = CacheMarks::Existing;
    request.prefill =
        request.messages.last().is_some_and(|message| message.role == Role::Assistant);
    let original: JsonMap = fields
        .iter()
        .filter(|(key, _)| *key != "messages")
        .map(|(key, json)| (key.to_owned(), kept(json)))
        .collect();
    if let Some(patch) = JsonPatch::between(&written(&request), &json(&original)) {
        request.metadata.insert(SOURCE_KEY, patch.into_json());
    }
    Ok(LiftedRequest::new(request, diagnostics))
}

/// Lifts a body without its messages.
pub(super) fn envelope(body: &RawValue) -> Result<ModelRequest, WireError> {
    read_envelope(&Fields::read(body, &JsonPath::Root)?)
}

fn read_envelope(fields: &Fields<'_>) -> Result<ModelRequest, WireError> {
    let root = JsonPath::Root;
    let mut request = ModelRequest::default();
    request.model = fields.text("model", &root)?.map(Into::into);
    request.max_output_tokens = number(fields, "max_tokens", "a number of tokens")?;
    request.temperature = number(fields, "temperature", "a number")?;
    request.stream = number(fields, "stream", "a boolean")?;
    let mut aside: Vec<&str> = Vec::new();
    if let Some(written) = fields.get("system") {
        match system(written)? {
            Some(system) => request.system = system,
            None => aside.push("system"),
        }
    }
    if let Some(written) = fields.get("tools") {
        let path = JsonPath::Key(&root, "tools");
        let items = read_list(written, &path)?;
        let tool = |(i, item): (usize, &&RawValue)| tool::lift(item, &JsonPath::Item(&path, i));
        request.tools = items.iter().enumerate().map(tool).collect::<Result<_, _>>()?;
    }
    let mut body = JsonMap::new();
    if let Some(written) = fields.get("tool_choice") {
        match choice(written) {
            Some((choice, parallel)) => {
                request.tool_choice = Some(choice);
                if let Some(parallel) = parallel {
                    request.metadata.insert(PARALLEL_KEY, serde_json::Value::Bool(parallel));
                }
            }
            None => aside.push("tool_choice"),
        }
    }
    if let Some(written) = fields.get("output_config") {
        let (schema, extra) = output_config(written);
        request.output = schema;
        body.extend(extra.map(|extra| ("output_config".to_owned(), extra)));
    }
    if let Some(written) = fields.get("output_format") {
        match format(written).filter(|_| request.output.is_none()) {
            Some(schema) => request.output = Some(schema),
            None => aside.push("output_format"),
        }
    }
    fields.any("messages");
    let aside = aside.into_iter().filter_map(|key| Some((key.to_owned(), kept(fields.any(key)?))));
    body.extend(aside.collect::<Vec<_>>());
    body.extend(others(fields));
    if !body.is_empty() {
        request.metadata.insert(BODY_KEY, json(&body));
    }
    Ok(request)
}

/// Returns the entries of a body that have no place in a request.
fn others(fields: &Fields<'_>) -> Vec<(String, Json)> {
    const FIELD_KEYS: [&str; 10] = [
        "model",
        "max_tokens",
        "temperature",
        "stream",
        "system",
        "tools",
        "tool_choice",
        "output_config",
        "output_format",
        "messages",
    ];
    let others =
        fields.iter().filter(|(key, json)| !FIELD_KEYS.contains(key) && json.get() != "null");
    others.map(|(key, json)| (key.to_owned(), kept(json))).collect()
}

/// Returns a number or a boolean, if there is one.
fn number<T: serde::de::DeserializeOwned>(
    fields: &Fields<'_>,
    key: &str,
    expected: &'static str,
) -> Result<Option<T>, WireError> {
    let Some(written) = fields.get(key) else { return Ok(None) };
    let read = serde_json::from_str(written.get());
    read.map(Some)
        .map_err(|_| wrong_type_of(written, &JsonPath::Key(&JsonPath::Root, key), expected))
}

/// Returns the system prompt, if it is text.
fn system(written: &RawValue) -> Result<Option<Vec<Text>>, WireError> {
    let path = JsonPath::Key(&JsonPath::Root, "system");
    match raw_kind(written) {
        "a string" => {
            let text = read_text(written, &path)?;
            let text = Text { text: text.into(), metadata: Metadata::default() };
            Ok(Some(if text.text.is_empty() { Vec::new() } else { vec![text] }))
        }
        "a list" => {
            let items = read_list(written, &path)?;
            let mut reader = Reader::default();
            let block =
                |(i, item): (usize, &&RawValue)| reader.text(item, &JsonPath::Item(&path, i));
            let texts: Result<Option<Vec<_>>, _> = items.iter().enumerate().map(block).collect();
            let Some(mut texts) = texts? else { return Ok(None) };
            if let [text] = texts.as_mut_slice() {
                text.metadata.insert(AS_BLOCKS, serde_json::Value::Bool(true));
            }
            Ok(Some(texts))
        }
        _ => Err(wrong_type_of(written, &path, "a string or a list of blocks")),
    }
}

/// Returns the tool choice, and whether parallel calls are disabled, if it has no other keys.
fn choice(written: &RawValue) -> Option<(ToolChoice, Option<bool>)> {
    let fields = Fields::inspect(written)?;
    let choice = match &*fields.text("type", &JsonPath::Root).ok()?? {
        "auto" => ToolChoice::Auto,
        "none" => ToolChoice::None,
        "any" => ToolChoice::Required,
        "tool" => ToolChoice::Named(fields.text("name", &JsonPath::Root).ok()??.into_owned()),
        _ => return None,
    };
    let parallel = match fields.get("disable_parallel_tool_use") {
        None => None,
        Some(json) => {
            Some(serde_json::from_str(json.get()).ok().filter(|_| choice != ToolChoice::None)?)
        }
    };
    fields.is_plain().then_some((choice, parallel))
}

/// Returns the form of the answer, and the other keys of the output configuration.
fn output_config(written: &RawValue) -> (Option<OutputSchema>, Option<Json>) {
    let Some(fields) = Fields::inspect(written) else { return (None, Some(kept(written))) };
    let Some(schema) = fields.get("format").and_then(format) else {
        return (None, Some(kept(written)));
    };
    let extra: JsonMap = fields
        .iter()
        .filter(|(key, _)| *key != "format")
        .map(|(key, json)| (key.to_owned(), kept(json)))
        .collect();
    (Some(schema), (!extra.is_empty()).then(|| json(&extra)))
}

/// Returns a form of the answer, if it is only a schema.
fn format(written: &RawValue) -> Option<OutputSchema> {
    let fields = Fields::inspect(written)?;
    let is_schema = fields.text("type", &JsonPath::Root).ok()?? == "json_schema";
    let schema =
        fields.get("schema").filter(|schema| is_schema && raw_kind(schema) == "an object")?;
    fields.is_plain().then(|| OutputSchema::new("answer", kept(schema)))
}
