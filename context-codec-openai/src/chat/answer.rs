//! Whole answers, and the parts that whole and streamed answers have in common.

use context_codec_kit::wire::read_object;
use context_core::base::{DiagnosticCode, Severity};
use context_core::message::ToolInput;
use context_core::model::{ModelCodec, StopReason, Usage, WireError};
use context_core::{Answer, Diagnostic, Json, Message, ModelError, Part, Role};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{ChatCodec, REFUSAL, TYPE, lift as message};

#[derive(Deserialize)]
struct AnswerIn<'a> {
    id: Option<String>,
    model: Option<String>,
    #[serde(borrow, default)]
    choices: Option<Vec<ChoiceIn<'a>>>,
    usage: Option<UsageIn>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ChoiceIn<'a> {
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    finish_reason: Option<String>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// The usage report of an answer.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(super) struct UsageIn {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptIn>,
    completion_tokens_details: Option<CompletionIn>,
    /// The name of one compatible server for its cached tokens.
    prompt_cache_hit_tokens: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
struct PromptIn {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
struct CompletionIn {
    reasoning_tokens: Option<u64>,
}

impl UsageIn {
    /// Converts the report. The provider counts cached tokens as input; they are subtracted from
    /// the input.
    pub(super) fn usage(self) -> Usage {
        let prompt = self.prompt_tokens_details.unwrap_or_default();
        let mut usage = Usage::default();
        usage.cache_read =
            prompt.cached_tokens.or(self.prompt_cache_hit_tokens).unwrap_or_default();
        usage.cache_write = prompt.cache_write_tokens.unwrap_or_default();
        let cached = usage.cache_read.saturating_add(usage.cache_write);
        usage.input = self.prompt_tokens.unwrap_or_default().saturating_sub(cached);
        usage.output = self.completion_tokens.unwrap_or_default();
        usage.reasoning =
            self.completion_tokens_details.and_then(|details| details.reasoning_tokens);
        usage
    }
}

pub(super) fn lift(body: &Json) -> Result<Answer, WireError> {
    let form: AnswerIn<'_> = read_object(body.as_raw(), "answer")?;
    let choices = form.choices.unwrap_or_default();
    let mut answer = Answer::new(Message::new(Role::Assistant, []));
    (answer.id, answer.model) = (form.id, form.model.filter(|model| !model.is_empty()));
    answer.usage = form.usage.map(UsageIn::usage);
    if choices.len() > 1 {
        answer.diagnostics.push(several());
    }
    let choice = choices.into_iter().next();
    if form.error.or(choice.as_ref().and_then(|choice| choice.error)).is_some() {
        answer.error = Some(error(body.as_str()));
        answer.complete = false;
    }
    let finish = match choice {
        Some(ChoiceIn { message: Some(raw), finish_reason, .. }) => {
            let lifted =
                message::answer(raw).map_err(|error| error.within("choices[0].message"))?;
            answer.message = lifted.message;
            answer.diagnostics.extend(lifted.diagnostics.into_iter().map(|mut diagnostic| {
                diagnostic.path = format!("choices[0].message.{}", diagnostic.path);
                diagnostic
            }));
            finish_reason
        }
        None | Some(_) if answer.error.is_some() => None,
        None => return Err(WireError::Missing { path: "choices[0]".to_owned() }),
        Some(_) => return Err(WireError::Missing { path: "choices[0].message".to_owned() }),
    };
    settle(&mut answer, finish.as_deref());
    Ok(answer)
}

pub(super) fn error(body: &str) -> ModelError {
    ChatCodec.lift_error(None, body)
}

/// Returns the diagnostic for answers after the first.
pub(super) fn several() -> Diagnostic {
    let reason = "more than one answer: the first is taken";
    Diagnostic::new(DiagnosticCode::Unrepresentable, Severity::Warning, "choices", reason)
}

/// Removes everything from an answer that cannot be sent back: empty parts, and calls that were cut
/// off.
pub(super) fn settle(answer: &mut Answer, finish: Option<&str>) {
    answer.message.parts.retain(|part| match part {
        Part::Text(text) => !text.text.is_empty(),
        Part::Reasoning(thought) => !thought.text.is_empty(),
        _ => true,
    });
    let cut = !answer.complete || matches!(finish, Some("length" | "content_filter"));
    let mut left_out = Vec::new();
    let last = answer.message.parts.len().saturating_sub(1);
    let mut index = 0;
    answer.message.parts.retain_mut(|part| {
        index += 1;
        let Part::ToolCall(call) = part else { return true };
        let free = call.metadata.get(TYPE).is_some();
        let blank = call.input.as_written().trim().is_empty();
        let whole = match &call.input {
            // Free text has no end mark: it is whole if another part follows.
            _ if free => index <= last,
            ToolInput::Json(json) => json.as_str().starts_with('{'),
            ToolInput::Invalid(_) => false,
        };
        if cut && !whole {
            left_out.push(call.id.clone());
            return false;
        }
        if blank && !free {
            call.input = ToolInput::Json(serde_json::json!({}).into());
        }
        true
    });
    answer.diagnostics.extend(left_out.into_iter().map(|id| {
        let reason = "a call was cut off and left out";
        Diagnostic::new(DiagnosticCode::CutOff, Severity::Warning, format!("call {id}"), reason)
    }));
    answer.stop = finish.map(|finish| stop(finish, &answer.message));
}

/// Returns why the answer ended. An answer whose tool choice left only one tool ends with `stop`,
/// and so does a refusal.
fn stop(finish: &str, message: &Message) -> StopReason {
    let any = |is: fn(&Part) -> bool| message.parts.iter().any(is);
    match finish {
        "stop" if any(|part| matches!(part, Part::ToolCall(_))) => StopReason::ToolCalls,
        "stop"
            if any(
                |part| matches!(part, Part::Text(text) if text.metadata.get(REFUSAL).is_some()),
            ) =>
        {
            StopReason::Refusal
        }
        "stop" => StopReason::Stop,
        "length" => StopReason::Length,
        "tool_calls" | "function_call" => StopReason::ToolCalls,
        "content_filter" => StopReason::ContentFilter,
        other => StopReason::Other(other.to_owned()),
    }
}
