//! Whole answers.

use context_codec_kit::wire::kept;
use context_core::base::JsonMap;
use context_core::model::{ModelCodec, StopReason, Usage, WireError};
use context_core::{Answer, Diagnostic, Json, Message, Part, Role};

use super::fields::{Fields, JsonPath};
use super::{RESPONSE_KEY, json};

/// Lifts the body of an answer or of an error.
pub(super) fn lift(codec: &dyn ModelCodec, body: &Json) -> Result<Answer, WireError> {
    let fields = Fields::read(body.as_raw(), &JsonPath::Root)?;
    let is_error = fields.peek("type").is_some_and(|kind| kind == "error");
    if is_error || (fields.get("error").is_some() && fields.get("role").is_none()) {
        let mut answer = Answer::new(Message::new(Role::Assistant, []));
        answer.complete = false;
        answer.error = Some(codec.lift_error(None, body.as_str()));
        return Ok(answer);
    }
    let read = super::lift::message(body.as_raw(), &JsonPath::Root)?;
    if read.message.role != Role::Assistant {
        let role = read.message.role.as_str().to_owned();
        return Err(WireError::UnknownRole { role, known: "assistant" });
    }
    let is_without_content = fields.get("content").is_none_or(|content| {
        content.get().trim_start_matches(['[', ' ', '\n', '\t', '\r']) == "]"
    });
    let parts = if is_without_content { Vec::new() } else { read.message.parts };
    let facts = fields.iter().map(|(key, json)| (key.to_owned(), kept(json)));
    Ok(answer(parts, facts.collect(), read.diagnostics))
}

/// Creates the answer from its parts and the other keys of the response.
pub(super) fn answer(parts: Vec<Part>, mut facts: JsonMap, diagnostics: Vec<Diagnostic>) -> Answer {
    facts
        .retain(|key, json| !matches!(key.as_str(), "role" | "content") && json.as_str() != "null");
    let text = |key| facts.get(key).and_then(Json::to_text);
    let mut message = Message::new(Role::Assistant, parts);
    let (stop, id, model) = (text("stop_reason").map(stop), text("id"), text("model"));
    let usage = facts.get("usage").and_then(usage);
    if !facts.is_empty() {
        message.metadata.insert(RESPONSE_KEY, json(&facts));
    }
    let mut answer = Answer::new(message);
    (answer.stop, answer.id, answer.model, answer.usage) = (stop, id, model, usage);
    answer.diagnostics = diagnostics;
    answer
}

fn stop(reason: String) -> StopReason {
    match reason.as_str() {
        "end_turn" | "stop_sequence" => StopReason::Stop,
        "max_tokens" => StopReason::Length,
        "tool_use" => StopReason::ToolCalls,
        "refusal" => StopReason::Refusal,
        // After a compaction, too, the answer continues when it is sent back.
        "pause_turn" | "compaction" => StopReason::Paused,
        "model_context_window_exceeded" => StopReason::ContextWindow,
        _ => StopReason::Other(reason),
    }
}

/// Converts the usage report. The provider itself counts cached input separately.
fn usage(json: &Json) -> Option<Usage> {
    let fields = Fields::inspect(json.as_raw())?;
    let number =
        |fields: &Fields<'_>, key| fields.get(key).and_then(|json| json.get().parse::<u64>().ok());
    let details = fields.get("output_tokens_details");
    let details = details.and_then(Fields::inspect);
    let writes = fields.get("cache_creation").and_then(Fields::inspect);
    let mut usage = Usage::default();
    usage.input = number(&fields, "input_tokens").unwrap_or(0);
    usage.output = number(&fields, "output_tokens").unwrap_or(0);
    usage.cache_read = number(&fields, "cache_read_input_tokens").unwrap_or(0);
    usage.cache_write = number(&fields, "cache_creation_input_tokens").unwrap_or(0);
    let long = writes.and_then(|writes| number(&writes, "ephemeral_1h_input_tokens"));
    usage.cache_write_long = long.unwrap_or(0);
    usage.reasoning = details.and_then(|details| number(&details, "thinking_tokens"));
    if usage.total() == 0 {
        // A compaction that was asked for is reported only as a step of the answer.
        let steps =
            fields.get("iterations").and_then(|steps| kept(steps).parse::<Vec<Json>>().ok());
        steps.iter().flatten().filter_map(self::usage).for_each(|step| usage += step);
    }
    Some(usage)
}
