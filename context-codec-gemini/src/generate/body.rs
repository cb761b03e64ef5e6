//! A body as it is written.

use context_codec_kit::normalize::NormalizedTools;
use context_codec_kit::wire;
use context_core::base::JsonMap;
use context_core::model::{Tool, ToolChoice};
use context_core::{Json, JsonString, ModelRequest};
use serde::Serialize;

use super::content_out::{Kind, PartOut};
use super::{BODY_KEY, DECLARATION_KEY, OPENAPI_KEY, RULES, SCHEMA_KEY, json};

/// A body with contents of type `C`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Body<'a, C> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<Instruction<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    contents: Option<C>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ToolOut<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_config: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    generation_config: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cached_content: Option<&'a str>,
    #[serde(flatten)]
    rest: JsonMap,
}

#[derive(Serialize)]
struct Instruction<'a> {
    parts: Vec<PartOut<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum ToolOut<'a> {
    Functions {
        #[serde(rename = "functionDeclarations")]
        functions: Vec<Declaration<'a>>,
    },
    Opaque(&'a Json),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Declaration<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters_json_schema: Option<&'a Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<&'a Json>,
    #[serde(flatten)]
    rest: JsonMap,
}

impl<'a> Body<'a, &'a [Json]> {
    /// Creates a body without contents, in full.
    pub(super) fn envelope(request: &'a ModelRequest) -> Self {
        Self::source(request, None)
    }
}

impl<'a, C> Body<'a, C> {
    /// Creates a body in full.
    pub(super) fn source(request: &'a ModelRequest, contents: Option<C>) -> Self {
        let texts = request.system.iter().map(|text| &text.text);
        let choice = request.tool_choice.as_ref();
        Self::new(request, texts, contents, &request.tools, |remaining| {
            configure_tools(remaining, choice)
        })
    }

    /// Creates a body for sending.
    pub(super) fn sent(
        request: &'a ModelRequest,
        system: impl Iterator<Item = &'a JsonString>,
        contents: C,
        tools: &'a NormalizedTools<'_>,
    ) -> Self {
        Self::new(request, system, Some(contents), &tools.tools, |remaining| {
            configure_tools(only_declared(remaining, &tools.tools), tools.choice.as_deref())
        })
    }

    fn new(
        request: &'a ModelRequest,
        system: impl Iterator<Item = &'a JsonString>,
        contents: Option<C>,
        tools: &'a [Tool],
        tool_config: impl FnOnce(Option<Json>) -> Option<Json>,
    ) -> Self {
        let mut rest = object(request.metadata.get(BODY_KEY));
        let parts: Vec<_> = system.map(|text| PartOut::new(Kind::Text(text.into()))).collect();
        let config = rest.shift_remove("toolConfig");
        let generation_config = rest.shift_remove("generationConfig");
        let cached_content = request.cached_content.as_ref().map(|content| content.name.as_str());
        if cached_content.is_some() {
            rest.shift_remove("cachedContent");
        }
        Self {
            system_instruction: (!parts.is_empty()).then_some(Instruction { parts }),
            contents,
            tools: tools_out(tools),
            tool_config: tool_config(config),
            generation_config: configure_generation(generation_config, request),
            cached_content,
            rest,
        }
    }
}

/// Returns the entries of the list of tools. All functions are in one entry, because some models
/// accept only one.
fn tools_out(tools: &[Tool]) -> Vec<ToolOut<'_>> {
    let (mut out, mut at) = (Vec::new(), None);
    for tool in tools {
        match tool {
            Tool::Function(function) => {
                let form = function.metadata.get(SCHEMA_KEY).and_then(Json::to_text);
                let schema = Some(&function.input_schema);
                let declaration = Declaration {
                    name: &function.name,
                    description: function.description.as_deref(),
                    parameters_json_schema: schema.filter(|_| form.is_none()),
                    parameters: schema.filter(|_| form.as_deref() == Some("parameters")),
                    rest: object(function.metadata.get(DECLARATION_KEY)),
                };
                let at = *at.get_or_insert_with(|| {
                    out.push(ToolOut::Functions { functions: Vec::new() });
                    out.len() - 1
                });
                if let Some(ToolOut::Functions { functions }) = out.get_mut(at) {
                    functions.push(declaration);
                }
            }
            Tool::Opaque(block) => out.push(ToolOut::Opaque(&block.value)),
            _ => {}
        }
    }
    out
}

/// Returns the tool configuration of a body, with only the names of declared functions.
fn only_declared(remaining: Option<Json>, tools: &[Tool]) -> Option<Json> {
    let (calling_key, names_key) = ("functionCallingConfig", "allowedFunctionNames");
    let mut config = object(remaining.as_ref());
    let mut calling = object(config.get(calling_key));
    let Some(names) = calling.get(names_key).and_then(|names| names.parse::<Vec<String>>().ok())
    else {
        return remaining;
    };
    let is_declared = |name: &str| {
        tools.iter().any(|tool| matches!(tool, Tool::Function(function) if function.name == name))
    };
    let mut names: Vec<_> = names.iter().map(|name| RULES.tool_name(name)).collect();
    names.retain(|name| is_declared(name));
    if names.is_empty() {
        calling.shift_remove(names_key);
    } else {
        calling.insert(names_key.to_owned(), json(&names));
    }
    config.insert(calling_key.to_owned(), wire::from_map(&calling));
    Some(wire::from_map(&config))
}

fn configure_tools(remaining: Option<Json>, choice: Option<&ToolChoice>) -> Option<Json> {
    let Some(choice) = choice else { return remaining };
    let mut config = object(remaining.as_ref());
    let mut calling = object(config.get("functionCallingConfig"));
    let (how, only) = match choice {
        ToolChoice::Auto => ("AUTO", None),
        ToolChoice::None => ("NONE", None),
        ToolChoice::Required => ("ANY", None),
        ToolChoice::Named(name) => ("ANY", Some(name)),
        _ => return remaining,
    };
    calling.insert("mode".to_owned(), how.into());
    match only {
        Some(name) => {
            calling.insert("allowedFunctionNames".to_owned(), wire::array(&[name.as_str().into()]));
        }
        None if how != "ANY" => {
            calling.shift_remove("allowedFunctionNames");
        }
        None => {}
    }
    config.insert("functionCallingConfig".to_owned(), wire::from_map(&calling));
    Some(wire::from_map(&config))
}

fn configure_generation(remaining: Option<Json>, request: &ModelRequest) -> Option<Json> {
    let temperature = request.temperature.filter(|temperature| temperature.is_finite());
    if request.max_output_tokens.is_none() && temperature.is_none() && request.output.is_none() {
        return remaining;
    }
    let mut config = object(remaining.as_ref());
    let mut set = |key: &str, value: Json| config.insert(key.to_owned(), value);
    if let Some(tokens) = request.max_output_tokens {
        set("maxOutputTokens", json(&tokens));
    }
    if let Some(temperature) = temperature {
        set("temperature", json(&temperature));
    }
    if let Some(output) = &request.output {
        let is_openapi = request.metadata.get(OPENAPI_KEY).is_some();
        set("responseMimeType", "application/json".into());
        set(
            if is_openapi { "responseSchema" } else { "responseJsonSchema" },
            output.schema.clone(),
        );
    }
    Some(wire::from_map(&config))
}

/// Returns the entries of an object, or no entries for anything else.
fn object(json: Option<&Json>) -> JsonMap {
    json.and_then(|json| json.parse().ok()).unwrap_or_default()
}
