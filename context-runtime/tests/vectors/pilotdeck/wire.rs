//! Groups `wire_*`: bodies written by codecs.
//!
//! The request is a prefill, because the recorded builders append nothing. Cache breakpoints are
//! only where the case has them. Only the body fields that the case names are compared, in a form
//! in which different spellings of one thing are equal: see [`canon`].

mod body_content;
mod canon;
mod pictures;
mod soundness;

use context_runtime::anthropic::messages::MessagesCodec;
use context_runtime::gemini::generate::GenerateCodec;
use context_runtime::openai::chat::ChatCodec;
use context_runtime::openai::responses::ResponsesCodec;
use context_runtime::{
    FragmentData, FunctionTool, Json, Tool,
    model::{CacheMarks, ModelCodec, ModelRequest, ToolChoice, Unanswered},
};
use serde_json::Value;

use self::canon::{canonical, without_media_in_errors};
use super::messages::{Inexpressible, decode};
use super::{Case, json, symbols};
use crate::encoding::{entry, items, text};
use crate::judge::{Difference, Outcome};

/// Returns the codec of a recorded provider, if supported.
fn codec(provider: &str) -> Option<Box<dyn ModelCodec>> {
    Some(match provider {
        "anthropic" => Box::new(MessagesCodec),
        "openai" => Box::new(ChatCodec),
        "openai-responses" => Box::new(ResponsesCodec),
        "google" => Box::new(GenerateCodec),
        _ => return None,
    })
}

pub(super) fn judge(case: &Case, provider: &str) -> Outcome {
    let Some(codec) = codec(provider) else {
        return Outcome::Skipped(format!("there is no codec for {provider}"));
    };
    let mut request = match request(case.input()) {
        Ok(request) => request,
        Err(Inexpressible(what)) => {
            return Outcome::Skipped(format!("our requests do not say {what}"));
        }
    };
    let letters = if case.is_suspect() {
        Vec::new()
    } else {
        let recorded = request.clone();
        let letters = pictures::develop(&mut request);
        if let Err(left) = pictures::are_left_out(&letters, &*codec, &recorded) {
            return Outcome::Failed(Difference::new(
                "letters are no picture",
                "none of them",
                left,
            ));
        }
        letters
    };
    let body = match codec.lower(&request) {
        Ok(lowered) => lowered.body,
        Err(error) => {
            return Outcome::Failed(Difference::new(
                "lowers",
                written(&json(case.output())),
                error,
            ));
        }
    };
    let checked = if case.is_suspect() {
        soundness::check(provider, &*codec, &request, &body)
    } else {
        let mut expected = json(case.output());
        pictures::develop_body(&mut expected, &letters);
        let rule = equal(expected, provider, &request, &body);
        let developed =
            |rule| format!("{rule}, with a picture where letters are recorded, which are left out");
        if letters.is_empty() { rule } else { rule.map(developed) }
    };
    Outcome::of(checked)
}

fn request(input: &FragmentData) -> Result<ModelRequest, Inexpressible> {
    let decoded = decode(items(input, "messages"))?;
    let mut request = ModelRequest::new(decoded.messages);
    request.prefill = true;
    request.cache = CacheMarks::Existing;
    let FragmentData::Map(map) = input else { return Err(Inexpressible("no request".to_owned())) };
    for (key, value) in map.iter() {
        let number = json(value).as_u64();
        match key.as_str() {
            "messages" => {}
            "model" => request.model = value.as_text().map(str::to_owned),
            "systemPrompt" => request = request.system(value.as_text().unwrap_or_default()),
            "maxOutputTokens" => request.max_output_tokens = number,
            "temperature" => request.temperature = json(value).as_f64(),
            "stream" => request.stream = json(value).as_bool(),
            "tools" => {
                request = request
                    .tools(items(input, key).iter().map(tool).collect::<Result<Vec<_>, _>>()?)
            }
            "toolChoice" => request.tool_choice = Some(choice(value)?),
            "cacheBreakpoints" => {
                let at = items(input, key).iter().filter_map(|at| json(at).as_u64());
                let at = at.filter_map(|at| decoded.last.get(usize::try_from(at).ok()?).copied());
                request.cache = CacheMarks::At(at.collect());
            }
            other => return Err(Inexpressible(format!("{other:?}"))),
        }
    }
    Ok(request)
}

fn tool(data: &FragmentData) -> Result<Tool, Inexpressible> {
    let schema = entry(data, "inputSchema").unwrap_or(&FragmentData::Null);
    let schema = Json::from_serialize(schema).map_err(|error| Inexpressible(error.to_string()))?;
    let tool = FunctionTool::new(text(data, "name").unwrap_or_default(), schema);
    Ok(match text(data, "description") {
        Some(description) => tool.description(description),
        None => tool,
    }
    .into())
}

fn choice(data: &FragmentData) -> Result<ToolChoice, Inexpressible> {
    match (data.as_text(), text(data, "name")) {
        (Some("auto"), _) => Ok(ToolChoice::Auto),
        (Some("none"), _) => Ok(ToolChoice::None),
        (Some("required"), _) => Ok(ToolChoice::Required),
        (None, Some(name)) => Ok(ToolChoice::Named(name.to_owned())),
        _ => Err(Inexpressible("such a choice of tools".to_owned())),
    }
}

/// Compares the fields that the case has in its output.
fn equal(
    expected: Value,
    provider: &str,
    request: &ModelRequest,
    body: &Json,
) -> Result<String, Difference> {
    let ours = body.parse::<Value>().unwrap_or_default();
    let Value::Object(fields) = &expected else {
        return Err(Difference::new("a body", written(&expected), body));
    };
    let picked = |from: &Value| {
        let fields =
            fields.keys().map(|key| (key.clone(), from.get(key).cloned().unwrap_or_default()));
        canonical(provider, &Value::Object(fields.collect()))
    };
    let (expected, ours) = (picked(&expected), picked(&ours));
    let names = fields.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
    if same(&expected, &ours) {
        return Ok(format!("equal {names}"));
    }
    // The provider refuses media in the result of a failed call, which the recorded builder writes.
    if provider == "anthropic" && same(&without_media_in_errors(&expected), &ours) {
        return Ok(format!("equal {names}, media of errors behind the results"));
    }
    if body_content::applies(provider, request)
        && body_content::content(&expected, request) == body_content::content(&ours, request)
    {
        return Ok(format!(
            "{names} say the same: the history holds what this provider does not take"
        ));
    }
    Err(Difference::new("equal up to spellings", written(&expected), written(&ours)))
}

/// Whether values are equal, where the symbol for any text matches any text, and where a form
/// without an error flag has it as a prefix of a placeholder.
fn same(expected: &Value, ours: &Value) -> bool {
    match (expected, ours) {
        (Value::String(symbol), Value::String(text)) if symbol == symbols::VISUAL_INTRO => {
            !text.trim().is_empty()
        }
        (Value::String(expected), Value::String(ours)) if expected == Unanswered::TEXT => {
            ours.ends_with(expected)
        }
        (Value::Array(expected), Value::Array(ours)) => {
            expected.len() == ours.len()
                && expected.iter().zip(ours).all(|(expected, ours)| same(expected, ours))
        }
        (Value::Object(expected), Value::Object(ours)) => {
            expected.len() == ours.len()
                && expected
                    .iter()
                    .all(|(key, value)| ours.get(key).is_some_and(|ours| same(value, ours)))
        }
        _ => expected == ours,
    }
}

fn written(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}
