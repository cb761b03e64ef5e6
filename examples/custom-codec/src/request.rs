//! Bodies of requests, both directions.

use context_codec_kit::JsonPatch;
use context_codec_kit::normalize::{HistoryRules, normalize_request, normalize_tools};
use context_codec_kit::wire::{outdated, read};
use context_core::model::{FunctionTool, LiftedRequest, LoweredRequest, Tool, WireError};
use context_core::{Diagnostic, Json, ModelRequest, Part, Role};

use crate::form::{Body, MessageForm, ToolForm, left_out};
use crate::{NAME, SOURCE_KEY};

/// The requirements of the provider: the user speaks last, and names are short.
const RULES: HistoryRules = {
    let mut rules = HistoryRules::new();
    rules.assistant_last = false;
    rules.prefill = false;
    rules.any_id = false;
    rules.max_id_len = 40;
    rules.max_name_len = 64;
    rules.carries =
        |_, part| matches!(part, Part::Text(_) | Part::ToolCall(_) | Part::ToolResult(_));
    rules
};

pub(crate) fn lower(request: &ModelRequest) -> Result<LoweredRequest, WireError> {
    let normalized = normalize_request(request, &RULES);
    let tools = normalize_tools(request, &RULES, NAME);
    let mut diagnostics = [normalized.diagnostics.clone(), tools.diagnostics].concat();
    let mut messages = Vec::new();
    for (i, message) in normalized.messages.iter().enumerate() {
        let path = format!("messages[{}]", normalized.origin(i));
        messages.extend(MessageForm::write(message, &path, &mut diagnostics));
    }
    if messages.iter().all(|message| message.role == Role::System) {
        return Err(WireError::NothingToSend);
    }
    let settings = [
        ("tool_choice", tools.choice.is_some()),
        ("output", request.output.is_some()),
        ("temperature", request.temperature.is_some()),
    ];
    let lost = settings.into_iter().filter(|(_, is_set)| *is_set);
    diagnostics.extend(lost.map(|(path, _)| left_out(path)));
    Ok(LoweredRequest::new(body(request, &tools.tools, messages), diagnostics))
}

pub(crate) fn lower_source(request: &ModelRequest) -> LoweredRequest {
    let mut diagnostics = Vec::new();
    let plain = plain(request, &mut diagnostics);
    let Some(source) = request.metadata.get(SOURCE_KEY) else {
        return LoweredRequest::new(plain, diagnostics);
    };
    if lift(source).is_ok_and(|again| again.request == *request) {
        return LoweredRequest::new(source.clone(), Vec::new());
    }
    diagnostics.push(outdated(SOURCE_KEY));
    LoweredRequest::new(plain, diagnostics)
}

pub(crate) fn lift(json: &Json) -> Result<LiftedRequest, WireError> {
    let body: Body = read(json.as_str(), "body")?;
    let messages = body.messages.into_iter().map(MessageForm::read);
    let mut request = ModelRequest::new(messages).system(body.system.unwrap_or_default());
    request.model = body.model;
    request.max_output_tokens = body.limit;
    request.stream = body.stream;
    request.tools.extend(body.tools.into_iter().map(|form| {
        let mut tool = FunctionTool::new(form.name, form.schema);
        tool.description = form.description;
        Tool::Function(tool)
    }));
    // Keys that the form does not have, or a value that is written in another way.
    if JsonPatch::between(&plain(&request, &mut Vec::new()), json).is_some() {
        request.metadata.insert(SOURCE_KEY, json.clone());
    }
    Ok(LiftedRequest::new(request, Vec::new()))
}

/// Writes a request as it is, without repairs.
fn plain(request: &ModelRequest, diagnostics: &mut Vec<Diagnostic>) -> Json {
    let mut messages = Vec::new();
    for (i, message) in request.messages.iter().enumerate() {
        messages.extend(MessageForm::write(message, &format!("messages[{i}]"), diagnostics));
    }
    body(request, &request.tools, messages)
}

fn body(request: &ModelRequest, tools: &[Tool], messages: Vec<MessageForm>) -> Json {
    let system: Vec<_> = request.system_texts().map(|text| text.text.as_str()).collect();
    let tool = |tool: &Tool| match tool {
        Tool::Function(tool) => Some(ToolForm {
            name: tool.name.clone(),
            description: tool.description.clone(),
            schema: tool.input_schema.clone(),
        }),
        _ => None,
    };
    let body = Body {
        model: request.model.clone(),
        system: (!system.is_empty()).then(|| system.join("\n\n")),
        limit: request.max_output_tokens,
        stream: request.stream,
        tools: tools.iter().filter_map(tool).collect(),
        messages,
    };
    Json::from_serialize(&body).expect("text keys and JSON values")
}
