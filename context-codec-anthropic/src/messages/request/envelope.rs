//! All of a body except its messages.

use std::borrow::Cow;

use context_core::base::JsonMap;
use context_core::model::{OutputSchema, Tool, ToolChoice};
use context_core::{Json, ModelRequest};
use serde::Serialize;

use super::super::form::{Block, Body, Content, ExtraEntries, Mode};
use super::super::lower::Writer;
use super::super::{AS_BLOCKS, BODY_KEY, PARALLEL_KEY, json};
use super::tool::WireTool;

/// A body, except for the keys that are kept in metadata.
#[derive(Debug, Default, Serialize)]
pub(super) struct Envelope<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stream: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) system: Option<Content<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tools: Vec<WireTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_choice: Option<Choice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) output_config: Option<OutputConfig<'a>>,
    #[serde(flatten)]
    pub(super) extra: ExtraEntries<'a>,
}

#[derive(Serialize)]
pub(super) struct FullBody<'b, E, M> {
    #[serde(flatten)]
    pub(super) envelope: &'b E,
    pub(super) messages: &'b [M],
}

#[derive(Debug, Serialize)]
pub(super) struct Choice<'a> {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) disable_parallel_tool_use: Option<bool>,
}

#[derive(Debug, Serialize)]
pub(super) struct OutputConfig<'a> {
    #[serde(flatten)]
    pub(super) extra: ExtraEntries<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) format: Option<Format<'a>>,
}

#[derive(Debug, Serialize)]
pub(super) struct Format<'a> {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) schema: &'a Json,
}

impl<'a> Envelope<'a> {
    /// Creates the envelope of a request. Nothing is repaired.
    pub(super) fn of(
        request: &'a ModelRequest,
        tools: &'a [Tool],
        chosen: Option<&'a ToolChoice>,
    ) -> Self {
        let mut extra = body_keys(request);
        let output_config = extra.shift_remove("output_config");
        let choice_is_ours =
            request.tool_choice.is_some() || request.metadata.get(PARALLEL_KEY).is_some();
        let ours = ["model", "max_tokens", "temperature", "stream", "system", "tools", "messages"];
        let has = [
            request.model.is_some(),
            request.max_output_tokens.is_some(),
            request.temperature.is_some(),
            request.stream.is_some(),
            !request.system.is_empty(),
            !request.tools.is_empty(),
            true,
        ];
        for (key, _) in ours.iter().zip(has).filter(|(_, has)| *has) {
            extra.shift_remove(*key);
        }
        if choice_is_ours {
            extra.shift_remove("tool_choice");
        }
        Self {
            model: request.model.as_deref(),
            max_tokens: request.max_output_tokens,
            temperature: request.temperature.filter(|temperature| temperature.is_finite()),
            stream: request.stream,
            system: None,
            tools: tools.iter().filter_map(WireTool::of).collect(),
            tool_choice: choice(request, chosen),
            output_config: output(request.output.as_ref(), output_config),
            extra: ExtraEntries(
                extra.into_iter().map(|(key, value)| (Cow::Owned(key), value)).collect(),
            ),
        }
    }

    /// Returns whether the body has tools that no list of the request names.
    pub(super) fn has_more_tools(&self) -> bool {
        has_key(&self.extra, "tools") || has_key(&self.extra, "mcp_servers")
    }
}

/// Returns whether there is such a key.
pub(super) fn has_key(entries: &ExtraEntries<'_>, key: &str) -> bool {
    entries.0.iter().any(|(other, _)| other == key)
}

/// Returns the other keys of the body that a request carries.
pub(super) fn body_keys(request: &ModelRequest) -> JsonMap {
    request.metadata.get(BODY_KEY).and_then(|body| body.parse().ok()).unwrap_or_default()
}

pub(super) fn choice<'a>(
    request: &'a ModelRequest,
    chosen: Option<&'a ToolChoice>,
) -> Option<Choice<'a>> {
    let parallel = request.metadata.get(PARALLEL_KEY);
    let (kind, name) = match chosen {
        None if parallel.is_none() => return None,
        None | Some(ToolChoice::Auto) => ("auto", None),
        Some(ToolChoice::None) => ("none", None),
        Some(ToolChoice::Required) => ("any", None),
        Some(ToolChoice::Named(name)) => ("tool", Some(name.as_str())),
        Some(_) => return None,
    };
    let disable_parallel_tool_use =
        parallel.filter(|_| kind != "none").and_then(|json| json.parse().ok());
    Some(Choice { kind, name, disable_parallel_tool_use })
}

/// Returns the form of the answer, together with the other keys of the output configuration.
fn output<'a>(schema: Option<&'a OutputSchema>, config: Option<Json>) -> Option<OutputConfig<'a>> {
    let format = schema.map(|output| Format { kind: "json_schema", schema: &output.schema });
    let mut extra =
        config.as_ref().and_then(|config| config.parse::<JsonMap>().ok()).unwrap_or_default();
    if format.is_some() {
        extra.shift_remove("format");
    } else if config.is_none() {
        return None;
    }
    let extra =
        ExtraEntries(extra.into_iter().map(|(key, value)| (Cow::Owned(key), value)).collect());
    Some(OutputConfig { extra, format })
}

/// Returns the system prompt: a text if there is only one and it was not a block, nothing if there
/// is none.
pub(super) fn written_system<'a>(
    blocks: &mut Vec<Block<'a>>,
    request: &ModelRequest,
) -> Option<Content<'a>> {
    let was_block =
        request.system.first().is_some_and(|text| text.metadata.get(AS_BLOCKS).is_some());
    if let [block] = blocks.as_mut_slice()
        && block.is_bare_text()
        && !was_block
        && let Body::Text(text) = &mut block.body
    {
        return Some(Content::Text(std::mem::take(text)));
    }
    (!blocks.is_empty()).then(|| Content::Blocks(std::mem::take(blocks)))
}

/// Returns the envelope of a request in the plain form.
pub(super) fn plain(request: &ModelRequest) -> Envelope<'_> {
    let mut envelope = Envelope::of(request, &request.tools, request.tool_choice.as_ref());
    let mut blocks = Writer::new(Mode::Source).system(&request.system);
    envelope.system = written_system(&mut blocks, request);
    envelope
}

/// Returns the plain form, to which the difference applies.
pub(super) fn written(request: &ModelRequest) -> Json {
    json(&plain(request))
}
