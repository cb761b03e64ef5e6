//! Whole bodies: lifting and lowering.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

use context_core::message::OpaqueBlock;

use context_codec_kit::normalize::{HistoryRules, Normalized};
use context_codec_kit::wire::Entries;
use context_codec_kit::{JsonPatch, wire};
use context_core::base::{DiagnosticCode, JsonMap, Severity};
use context_core::model::{
    CachedContent, FunctionTool, LiftedRequest, LoweredRequest, OutputSchema, Tool, ToolChoice,
    WireError,
};
use context_core::{Diagnostic, Json, Message, ModelRequest, Part, Role};
use serde::ser::{Serialize, SerializeSeq, Serializer};
use serde_json::value::RawValue;

use super::body::Body;
use super::cached;
use super::content_out::{ContentOut, Kind};
use super::form::take;
use super::lift::{Reader, empty, json_of};
use super::lower::{Mode, Writer};
use super::{
    BODY_KEY, DECLARATION_KEY, OPENAPI_KEY, PROVIDER, RULES, SCHEMA_KEY, SKIP_SIGNATURE,
    SOURCE_KEY, UNSIGNED_KEY, json,
};

/// The name of an output schema that has none.
const OUTPUT_NAME: &str = "response";

/// Lifts a body.
pub(super) fn lift(body: &Json) -> Result<LiftedRequest, WireError> {
    if wire::kind(body) != "an object" {
        return Err(wire::wrong_type(body, "", "an object"));
    }
    let mut map: Entries<'_> = wire::read(body.as_str(), "")?;
    let contents = map.shift_remove("contents").filter(|contents| contents.get() != "null");
    let contents = contents.ok_or_else(|| WireError::Missing { path: "contents".to_owned() })?;
    let contents: Vec<&RawValue> = wire::read(contents.get(), "contents")?;
    let mut reader = Reader::default();
    let mut messages = Vec::with_capacity(contents.len());
    for (i, content) in contents.into_iter().enumerate() {
        reader.position = Some(i);
        let message = super::content(&mut reader, content.get(), &|| format!("contents[{i}]"))?;
        messages.push(Arc::new(message));
    }
    let envelope = json(&map);
    let mut request = envelope_of(map, &mut reader.diagnostics)?;
    let plain = json(&Body::envelope(&request));
    if let Some(patch) = JsonPatch::between(&plain, &envelope) {
        request.metadata.insert(SOURCE_KEY, patch.into_json());
    }
    request.messages = messages.into();
    Ok(LiftedRequest::new(request, reader.diagnostics))
}

/// Lifts everything of a body except its contents.
fn envelope_of(
    mut map: Entries<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<ModelRequest, WireError> {
    let mut request = ModelRequest::default();
    let mut rest = JsonMap::new();
    if let Some(system) = take(&mut map, "systemInstruction") {
        let message =
            Reader::default().content(system.get(), &|| "systemInstruction".to_owned())?;
        for (i, part) in message.parts.into_iter().enumerate() {
            match part {
                Part::Text(text) => request.system.push(text),
                _ => {
                    let path = format!("systemInstruction.parts[{i}]");
                    let message =
                        "a system prompt holds only text: the rest is kept for its source";
                    let (code, severity) = (DiagnosticCode::Unrepresentable, Severity::Warning);
                    diagnostics.push(Diagnostic::new(code, severity, path, message));
                }
            }
        }
    }
    if let Some(tools) = take(&mut map, "tools") {
        for (i, tool) in
            wire::read::<Vec<Entries<'_>>>(tools.get(), "tools")?.into_iter().enumerate()
        {
            self::tools(tool, i, &mut request.tools)?;
        }
    }
    if let Some(config) = take(&mut map, "toolConfig") {
        let (choice, left) = choice(config)?;
        request.tool_choice = choice;
        rest.extend(left.map(|left| ("toolConfig".to_owned(), left)));
    }
    if let Some(config) = take(&mut map, "generationConfig") {
        let left = generation(config, &mut request)?;
        rest.extend(left.map(|left| ("generationConfig".to_owned(), left)));
    }
    if let Some(name) = map.get("cachedContent").and_then(|name| wire::text(&json_of(name))) {
        map.shift_remove("cachedContent");
        request.cached_content = Some(Arc::new(CachedContent::new(name)));
    }
    for (key, value) in map {
        rest.entry(key.0.into_owned()).or_insert_with(|| json_of(value));
    }
    if !rest.is_empty() {
        request.metadata.insert(BODY_KEY, wire::from_map(&rest));
    }
    Ok(request)
}

/// Adds the functions of an entry of the list of tools, and its other keys as an opaque tool.
fn tools(mut tool: Entries<'_>, index: usize, out: &mut Vec<Tool>) -> Result<(), WireError> {
    let functions = take(&mut tool, "functionDeclarations");
    if !tool.is_empty() || functions.is_none() {
        out.push(Tool::Opaque(OpaqueBlock {
            provider: PROVIDER.to_owned(),
            value: json(&tool).compact(),
        }));
    }
    let Some(functions) = functions else { return Ok(()) };
    let path = format!("tools[{index}].functionDeclarations");
    for (i, mut map) in
        wire::read::<Vec<Entries<'_>>>(functions.get(), &path)?.into_iter().enumerate()
    {
        let path = |key: &str| format!("{path}[{i}].{key}");
        let text = |value: Option<&RawValue>, key: &str| {
            let read = |json: Json| {
                wire::text(&json).ok_or_else(|| wire::wrong_type(&json, &path(key), "a string"))
            };
            value.map(json_of).map(read).transpose()
        };
        let name = text(take(&mut map, "name"), "name")?;
        let name = name.ok_or_else(|| WireError::Missing { path: path("name") })?;
        let (schema, form) = match take(&mut map, "parametersJsonSchema") {
            Some(schema) => (json_of(schema), None),
            None => match take(&mut map, "parameters") {
                Some(schema) => (json_of(schema), Some("parameters")),
                None => (no_parameters(), Some("none")),
            },
        };
        let mut function = FunctionTool::new(name, schema);
        function.description = text(take(&mut map, "description"), "description")?;
        if let Some(form) = form {
            function.metadata.insert(SCHEMA_KEY, form);
        }
        if !map.is_empty() {
            function.metadata.insert(DECLARATION_KEY, json(&map).compact());
        }
        out.push(function.into());
    }
    Ok(())
}

fn no_parameters() -> Json {
    wire::object([("type", "object".into()), ("properties", empty())])
}

/// Returns the tool choice, and the rest of the configuration.
fn choice(config: &RawValue) -> Result<(Option<ToolChoice>, Option<Json>), WireError> {
    let mut config: Entries<'_> = wire::read(config.get(), "toolConfig")?;
    let Some(calling) = take(&mut config, "functionCallingConfig") else {
        return Ok((None, Some(json(&config).compact())));
    };
    let mut calling: Entries<'_> = wire::read(calling.get(), "toolConfig.functionCallingConfig")?;
    let mode = calling.get("mode").and_then(|mode| wire::text(&json_of(mode)));
    let names = take(&mut calling, "allowedFunctionNames");
    let only = names.and_then(|names| match serde_json::from_str::<Vec<String>>(names.get()) {
        Ok(names) => <[String; 1]>::try_from(names).ok(),
        Err(_) => None,
    });
    let choice = match (mode.as_deref(), only) {
        (Some("AUTO"), _) => Some(ToolChoice::Auto),
        (Some("NONE"), _) => Some(ToolChoice::None),
        (Some("ANY"), Some([name])) => Some(ToolChoice::Named(name)),
        (Some("ANY"), None) => Some(ToolChoice::Required),
        _ => None,
    };
    if choice.is_some() {
        calling.shift_remove("mode");
    }
    if let Some(names) = names
        && !matches!(choice, Some(ToolChoice::Named(_)))
    {
        calling.insert(wire::Key("allowedFunctionNames".into()), names);
    }
    let calling = (choice.is_none() || !calling.is_empty()).then(|| json(&calling).compact());
    let mut left: JsonMap =
        config.iter().map(|(key, value)| (key.0.to_string(), json_of(value))).collect();
    left.extend(calling.map(|calling| ("functionCallingConfig".to_owned(), calling)));
    Ok((choice, (!left.is_empty()).then(|| wire::from_map(&left))))
}

/// Lifts the generation settings, and returns the rest of the configuration.
fn generation(config: &RawValue, request: &mut ModelRequest) -> Result<Option<Json>, WireError> {
    let mut config: Entries<'_> = wire::read(config.get(), "generationConfig")?;
    if config.is_empty() {
        return Ok(Some(empty()));
    }
    let max = take(&mut config, "maxOutputTokens");
    request.max_output_tokens = max.and_then(|max| max.get().parse().ok());
    let temperature = take(&mut config, "temperature");
    request.temperature = temperature.and_then(|temperature| temperature.get().parse().ok());
    // Values that are not such numbers are kept unchanged.
    let odd = [
        ("maxOutputTokens", max.filter(|_| request.max_output_tokens.is_none())),
        ("temperature", temperature.filter(|_| request.temperature.is_none())),
    ];
    let media_type = take(&mut config, "responseMimeType");
    let schema = take(&mut config, "responseJsonSchema");
    let openapi = if schema.is_none() { take(&mut config, "responseSchema") } else { None };
    let is_json = media_type.is_none_or(|kind| kind.get() == r#""application/json""#);
    let mut back = Vec::new();
    match schema.or(openapi) {
        Some(schema) if is_json => {
            let mut output = OutputSchema::new(OUTPUT_NAME, json_of(schema));
            output.strict = None;
            request.output = Some(output);
            if openapi.is_some() {
                request.metadata.insert(OPENAPI_KEY, wire::truth());
            }
        }
        _ => {
            back = vec![
                ("responseMimeType", media_type),
                ("responseJsonSchema", schema),
                ("responseSchema", openapi),
            ];
        }
    }
    for (key, value) in odd.into_iter().chain(back) {
        if let Some(value) = value {
            config.insert(wire::Key(key.into()), value);
        }
    }
    Ok((!config.is_empty()).then(|| json(&config).compact()))
}

/// Writes a body for sending.
pub(super) fn lower(request: &ModelRequest) -> Result<LoweredRequest, WireError> {
    let (lowered, contents) = whole(request, &RULES);
    if contents == 0 {
        return Err(WireError::NothingToSend);
    }
    match &request.cached_content {
        Some(content) => cached::without(content, request, lowered),
        None => Ok(lowered),
    }
}

/// Writes a body for sending, with everything that is stored as cached content, and returns it with
/// the number of its contents.
pub(super) fn whole(request: &ModelRequest, rules: &HistoryRules) -> (LoweredRequest, usize) {
    let normalized = context_codec_kit::normalize::normalize_request(request, rules);
    let messages: &[Arc<Message>] = &normalized.messages;
    let leading = messages.iter().take_while(|message| message.role == Role::System).count();
    let leading_texts = messages[..leading].iter().flat_map(|message| &message.parts);
    let leading_texts = leading_texts.filter_map(|part| match part {
        Part::Text(text) => Some(text).filter(|text| !text.text.is_blank()),
        _ => None,
    });
    let system = request.system_texts().chain(leading_texts).map(|text| &text.text);
    let generation = request.model.as_deref().and_then(generation_of).unwrap_or_default();
    let mut writer = Writer::new(Mode::Send);
    writer.nests_media = generation >= 3;
    let signs = match request.metadata.get(UNSIGNED_KEY) {
        Some(json) => json.as_str() == "true",
        None => generation >= 3,
    };
    let contents = Contents {
        normalized: &normalized,
        leading,
        signs,
        writer: RefCell::new(writer),
        written: Cell::new(0),
    };
    let mut tools = context_codec_kit::normalize::normalize_tools(request, &RULES, PROVIDER);
    let body = json(&Body::sent(request, system, &contents, &tools));
    let written = contents.written.get();
    let mut diagnostics = normalized.diagnostics.clone();
    diagnostics.append(&mut contents.writer.into_inner().diagnostics);
    diagnostics.append(&mut tools.diagnostics);
    (LoweredRequest::new(body, diagnostics), written)
}

/// The contents of messages for sending. Each is created when it is serialised, so there is never
/// more than one in memory.
struct Contents<'a> {
    normalized: &'a Normalized<'a>,
    /// The number of system messages in front.
    leading: usize,
    signs: bool,
    writer: RefCell<Writer<'a>>,
    written: Cell<usize>,
}

impl Serialize for Contents<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        let mut writer = self.writer.borrow_mut();
        for (i, message) in self.normalized.messages.iter().enumerate().skip(self.leading) {
            writer.position = Some(self.normalized.origin(i));
            let mut content = writer.content(message);
            if content.parts.is_empty() {
                continue;
            }
            if self.signs {
                sign(&mut content);
            }
            list.serialize_element(&content)?;
            self.written.set(self.written.get() + 1);
        }
        list.end()
    }
}

/// Signs the first call of a step, if it has no signature.
fn sign(content: &mut ContentOut<'_>) {
    let call = content.parts.iter_mut().find(|part| matches!(part.kind, Kind::Call { .. }));
    if let Some(call) = call.filter(|call| call.signature.is_none()) {
        call.signature = Some(Cow::Owned(SKIP_SIGNATURE.into()));
    }
}

/// Returns the generation of a model, from its name: `gemini-3-pro-preview` is of generation 3.
fn generation_of(model: &str) -> Option<u32> {
    let (_, version) = model.split_once("gemini-")?;
    let digits = version.find(|c: char| !c.is_ascii_digit()).unwrap_or(version.len());
    version[..digits].parse().ok()
}

/// Writes a body in the form of its source.
pub(super) fn lower_source(request: &ModelRequest) -> LoweredRequest {
    let mut diagnostics = Vec::new();
    let sources = request.messages.iter().enumerate();
    let contents: Vec<Json> = sources
        .map(|(i, message)| {
            let before = diagnostics.len();
            let source = super::source(message, &mut diagnostics);
            for diagnostic in &mut diagnostics[before..] {
                diagnostic.path = format!("messages[{i}].metadata");
            }
            source
        })
        .collect();
    let plain = || json(&Body::source(request, Some(contents.as_slice())));
    let Some(patch) = request.metadata.get(SOURCE_KEY) else {
        return LoweredRequest::new(plain(), diagnostics);
    };
    if let Some(source) = JsonPatch::from(patch.clone()).apply(&json(&Body::envelope(request)))
        && let Ok(map) = wire::read::<Entries<'_>>(source.as_str(), "")
        && let Ok(mut again) = envelope_of(map, &mut Vec::new())
        && let Ok(mut entries) = source.parse::<JsonMap>()
    {
        again.metadata.insert(SOURCE_KEY, patch.clone());
        if same_envelope(&again, request) {
            entries.insert("contents".to_owned(), json(&contents));
            return LoweredRequest::new(wire::from_map(&entries), diagnostics);
        }
    }
    diagnostics.push(wire::outdated(SOURCE_KEY));
    LoweredRequest::new(plain(), diagnostics)
}

/// Returns whether two requests are equal apart from their messages, as far as a body holds their
/// fields.
fn same_envelope(a: &ModelRequest, b: &ModelRequest) -> bool {
    a.system == b.system && wire::same_settings(a, b, &[BODY_KEY, OPENAPI_KEY])
}
