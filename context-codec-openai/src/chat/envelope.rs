//! All of a body except its messages: lifting and lowering.

use std::borrow::Cow;

use context_codec_kit::normalize::NormalizedTools;
use context_codec_kit::wire::{
    Entries, Key, raw_text, read_list, read_object, same_settings, truth,
};
use context_core::base::{DiagnosticCode, Severity};
use context_core::message::OpaqueBlock;
use context_core::model::{FunctionTool, OutputSchema, Tool, ToolChoice};
use context_core::{Diagnostic, Json, ModelRequest};
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

use super::form::json;
use super::{BODY_KEY, MAX_TOKENS_KEY, PROVIDER};
use crate::prompt_cache;

/// Keys that mean nothing without tools, and are refused without them.
const NEED_TOOLS: [&str; 3] = ["tool_choice", "parallel_tool_calls", "function_call"];

/// Lifts everything but messages. Keys that no field of a request holds go to its metadata.
pub(super) fn lift(entries: &Entries<'_>) -> ModelRequest {
    let mut request = ModelRequest::default();
    let mut rest = Entries::new();
    for (key, raw) in entries {
        if field(&mut request, entries, &key.0, raw).is_none() {
            rest.insert(key.clone(), raw);
        }
    }
    if !rest.is_empty() {
        let rest = Json::from_serialize(&rest).expect("text keys and valid raw values");
        request.metadata.insert(BODY_KEY, rest);
    }
    request
}

/// Lifts one key into its field. Returns `None` if the key has no field, or its value does not fit
/// the field.
fn field(request: &mut ModelRequest, all: &Entries<'_>, key: &str, raw: &RawValue) -> Option<()> {
    let no_tools = all
        .get("tools")
        .is_none_or(|tools| matches!(read_list(tools, ""), Ok(list) if list.is_empty()));
    match key {
        "model" => request.model = Some(raw_text(raw)?.into_owned()),
        "tools" => {
            let tools = read_list(raw, "").ok()?;
            request.tools.extend(tools.into_iter().map(tool));
        }
        "functions" if no_tools => {
            let functions: Option<Vec<Tool>> =
                read_list(raw, "").ok()?.into_iter().map(function).collect();
            request.tools = functions?;
        }
        "tool_choice" => request.tool_choice = Some(tool_choice(raw)?),
        "function_call" if no_tools && !all.contains_key("tool_choice") => {
            request.tool_choice = Some(match raw_text(raw) {
                Some(word) => word_choice(&word)?,
                None => ToolChoice::Named(
                    raw_text(read_object::<NamedIn<'_>>(raw, "").ok()?.name?)?.into_owned(),
                ),
            });
        }
        "response_format" => request.output = Some(output(raw)?),
        "max_completion_tokens" => request.max_output_tokens = Some(raw.get().parse().ok()?),
        "max_tokens" if !all.contains_key("max_completion_tokens") => {
            request.max_output_tokens = Some(raw.get().parse().ok()?);
            request.metadata.insert(MAX_TOKENS_KEY, truth());
        }
        "temperature" => request.temperature = Some(serde_json::from_str(raw.get()).ok()?),
        "stream" => request.stream = Some(serde_json::from_str(raw.get()).ok()?),
        prompt_cache::KEY => request.cache_key = Some(raw_text(raw)?.into_owned()),
        prompt_cache::RETENTION => {
            request.cache_lifetime = Some(prompt_cache::lifetime(&raw_text(raw)?)?);
        }
        _ => return None,
    }
    Some(())
}

/// Returns whether two requests have the same envelope.
pub(super) fn same_envelope(a: &ModelRequest, b: &ModelRequest) -> bool {
    a.model == b.model && a.stream == b.stream && same_settings(a, b, &[BODY_KEY, MAX_TOKENS_KEY])
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct TypedIn<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    function: Option<&'a RawValue>,
    #[serde(borrow)]
    json_schema: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NamedIn<'a> {
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    description: Option<&'a RawValue>,
    #[serde(borrow)]
    parameters: Option<&'a RawValue>,
    #[serde(borrow)]
    schema: Option<&'a RawValue>,
    strict: Option<bool>,
}

fn typed<'a>(raw: &'a RawValue, kind: &str) -> Option<TypedIn<'a>> {
    let typed: TypedIn<'_> = read_object(raw, "").ok()?;
    (raw_text(typed.kind?)? == kind).then_some(typed)
}

fn tool(raw: &RawValue) -> Tool {
    let known = typed(raw, "function").and_then(|tool| function(tool.function?));
    known.unwrap_or_else(|| {
        Tool::Opaque(OpaqueBlock { provider: PROVIDER.to_owned(), value: json(raw) })
    })
}

fn function(raw: &RawValue) -> Option<Tool> {
    let form: NamedIn<'_> = read_object(raw, "").ok()?;
    let schema = match form.parameters {
        Some(schema) => json(schema),
        // A function without parameters may leave the key out.
        None => serde_json::json!({"type": "object", "properties": {}}).into(),
    };
    let mut tool = FunctionTool::new(raw_text(form.name?)?, schema);
    tool.description = form.description.and_then(raw_text).map(Cow::into_owned);
    tool.strict = form.strict;
    Some(Tool::Function(tool))
}

fn word_choice(word: &str) -> Option<ToolChoice> {
    match word {
        "auto" => Some(ToolChoice::Auto),
        "none" => Some(ToolChoice::None),
        "required" => Some(ToolChoice::Required),
        _ => None,
    }
}

fn tool_choice(raw: &RawValue) -> Option<ToolChoice> {
    if let Some(word) = raw_text(raw) {
        return word_choice(&word);
    }
    let named: NamedIn<'_> = read_object(typed(raw, "function")?.function?, "").ok()?;
    Some(ToolChoice::Named(raw_text(named.name?)?.into_owned()))
}

fn output(raw: &RawValue) -> Option<OutputSchema> {
    let form: NamedIn<'_> = read_object(typed(raw, "json_schema")?.json_schema?, "").ok()?;
    let mut output = OutputSchema::new(raw_text(form.name?)?, json(form.schema?));
    output.description = form.description.and_then(raw_text).map(Cow::into_owned);
    output.strict = form.strict;
    Some(output)
}

/// The envelope in written form.
pub(super) struct Envelope<'a> {
    model: Option<&'a str>,
    tools: Vec<ToolForm<'a>>,
    tool_choice: Option<ChoiceForm<'a>>,
    response_format: Option<FormatForm<'a>>,
    limit: Option<(&'static str, u64)>,
    temperature: Option<f64>,
    stream: Option<bool>,
    cache_key: Option<&'a str>,
    cache_retention: Option<&'static str>,
    rest: Entries<'a>,
}

impl<'a> Envelope<'a> {
    /// Creates the envelope with everything in the request.
    pub(super) fn in_full(request: &'a ModelRequest) -> Self {
        Self::new(request, &request.tools, request.tool_choice.as_ref())
    }

    fn new(request: &'a ModelRequest, tools: &'a [Tool], choice: Option<&'a ToolChoice>) -> Self {
        let limit = match request.metadata.get(MAX_TOKENS_KEY) {
            Some(_) => "max_tokens",
            None => "max_completion_tokens",
        };
        let rest =
            request.metadata.get(BODY_KEY).and_then(|rest| read_object(rest.as_raw(), "").ok());
        Self {
            model: request.model.as_deref(),
            tools: tools.iter().filter_map(tool_form).collect(),
            tool_choice: choice.and_then(choice_form),
            response_format: request.output.as_ref().map(format_form),
            limit: request.max_output_tokens.map(|limit_| (limit, limit_)),
            temperature: request.temperature.filter(|temperature| temperature.is_finite()),
            stream: request.stream,
            cache_key: request.cache_key.as_deref(),
            cache_retention: prompt_cache::retention(request),
            rest: rest.unwrap_or_default(),
        }
    }

    /// Creates the envelope with everything that the provider accepts.
    pub(super) fn to_send(
        request: &'a ModelRequest,
        tools: &'a NormalizedTools<'_>,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Self {
        let mut envelope = Self::new(request, &tools.tools, tools.choice.as_deref());
        envelope.cache_key = prompt_cache::key(request);
        diagnostics.extend(tools.diagnostics.iter().cloned());
        diagnostics.extend(prompt_cache::unsent_key(request));
        let mut left_out = |path: String, why: &str| {
            let reason = format!("left out: {why}");
            diagnostics.push(Diagnostic::new(
                DiagnosticCode::Unrepresentable,
                Severity::Warning,
                path,
                reason,
            ));
        };
        let tools = !envelope.tools.is_empty()
            || ["tools", "functions"].iter().any(|key| envelope.rest.contains_key(*key));
        if !tools {
            for key in NEED_TOOLS {
                if envelope.rest.shift_remove(key).is_some() {
                    left_out(key.to_owned(), "the request has no tools");
                }
            }
        }
        if envelope.stream != Some(true) && envelope.rest.shift_remove("stream_options").is_some() {
            left_out("stream_options".to_owned(), "the answer is not streamed");
        }
        envelope
    }

    /// Writes the envelope, with the messages after the model.
    pub(super) fn serialize_with<S: Serializer>(
        &self,
        serializer: S,
        messages: Option<&impl Serialize>,
    ) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let mut written = vec!["messages"];
        macro_rules! entry {
            ($key:expr, $value:expr) => {
                if let Some(value) = $value {
                    map.serialize_entry($key, value)?;
                    written.push($key);
                }
            };
        }
        entry!("model", &self.model);
        if let Some(messages) = messages {
            map.serialize_entry("messages", messages)?;
        }
        entry!("tools", (!self.tools.is_empty()).then_some(&self.tools));
        entry!("tool_choice", &self.tool_choice);
        entry!("response_format", &self.response_format);
        if let Some((key, limit)) = self.limit {
            map.serialize_entry(key, &limit)?;
            written.push(key);
        }
        entry!("temperature", &self.temperature);
        entry!("stream", &self.stream);
        entry!(prompt_cache::KEY, &self.cache_key);
        entry!(prompt_cache::RETENTION, &self.cache_retention);
        for (Key(key), value) in &self.rest {
            if !written.contains(&&**key) {
                map.serialize_entry(key, value)?;
            }
        }
        map.end()
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum ToolForm<'a> {
    Function {
        #[serde(rename = "type")]
        kind: &'static str,
        function: FunctionForm<'a>,
    },
    Raw(&'a Json),
}

#[derive(Serialize)]
struct FunctionForm<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    parameters: &'a Json,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum ChoiceForm<'a> {
    Word(&'static str),
    Named {
        #[serde(rename = "type")]
        kind: &'static str,
        function: NameForm<'a>,
    },
}

#[derive(Serialize)]
struct NameForm<'a> {
    name: &'a str,
}

#[derive(Serialize)]
struct FormatForm<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    json_schema: SchemaForm<'a>,
}

#[derive(Serialize)]
struct SchemaForm<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    schema: &'a Json,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
}

fn tool_form(tool: &Tool) -> Option<ToolForm<'_>> {
    match tool {
        Tool::Function(tool) => {
            let (name, description) = (tool.name.as_str(), tool.description.as_deref());
            let function = FunctionForm {
                name,
                description,
                parameters: &tool.input_schema,
                strict: tool.strict,
            };
            Some(ToolForm::Function { kind: "function", function })
        }
        Tool::Opaque(block) if block.provider == PROVIDER => Some(ToolForm::Raw(&block.value)),
        _ => None,
    }
}

fn choice_form(choice: &ToolChoice) -> Option<ChoiceForm<'_>> {
    Some(match choice {
        ToolChoice::Auto => ChoiceForm::Word("auto"),
        ToolChoice::None => ChoiceForm::Word("none"),
        ToolChoice::Required => ChoiceForm::Word("required"),
        ToolChoice::Named(name) => {
            ChoiceForm::Named { kind: "function", function: NameForm { name } }
        }
        _ => return None,
    })
}

fn format_form(output: &OutputSchema) -> FormatForm<'_> {
    let (name, description) = (output.name.as_str(), output.description.as_deref());
    let json_schema =
        SchemaForm { name, description, schema: &output.schema, strict: output.strict };
    FormatForm { kind: "json_schema", json_schema }
}
