//! Whole answers.

use std::borrow::Cow;

use context_codec_kit::wire;
use context_core::base::{DiagnosticCode, Severity};
use context_core::message::ToolInput;
use context_core::model::{StopReason, Usage, WireError};
use context_core::{Answer, Diagnostic, Json, Message, ModelError, Part, Role};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::form::{Item, ItemPath, Raw, list, object, peek, text};
use super::keys::REFUSAL;
use super::lift::ItemReader;

/// A response that is read.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Body<'a> {
    #[serde(borrow)]
    id: Raw<'a>,
    #[serde(borrow)]
    model: Raw<'a>,
    #[serde(borrow)]
    status: Raw<'a>,
    #[serde(borrow)]
    pub(super) output: Raw<'a>,
    #[serde(borrow)]
    usage: Raw<'a>,
    #[serde(borrow)]
    error: Raw<'a>,
    #[serde(borrow)]
    incomplete_details: Raw<'a>,
}

impl Body<'_> {
    /// Returns the id and the model.
    pub(super) fn names(&self) -> (Option<String>, Option<String>) {
        let owned = |raw: Raw<'_>| raw.and_then(peek).map(Cow::into_owned);
        (owned(self.id), owned(self.model))
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Counts {
    input_tokens: Option<u64>,
    input_tokens_details: Option<InputDetails>,
    output_tokens: Option<u64>,
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct InputDetails {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OutputDetails {
    reasoning_tokens: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Incomplete<'a> {
    #[serde(borrow)]
    reason: Raw<'a>,
}

/// Lifts a whole answer. `error` classifies a body that stands in place of an answer.
pub(super) fn lift(body: &Json, error: impl Fn(&str) -> ModelError) -> Result<Answer, WireError> {
    if wire::kind(body) != "an object" {
        return Err(wire::wrong_type(body, "", "an object"));
    }
    let response: Body<'_> = wire::read(body.as_str(), "")?;
    match response.output {
        Some(output) => {
            let items = list(output, || "output".to_owned())?;
            read(&response, items, body.as_str(), error)
        }
        None if response.error.is_some() => {
            let mut answer = Answer::new(Message::new(Role::Assistant, []));
            answer.complete = false;
            answer.error = Some(error(body.as_str()));
            Ok(answer)
        }
        None => Err(WireError::Missing { path: "output".to_owned() }),
    }
}

/// Lifts a response with these items.
pub(super) fn read(
    response: &Body<'_>,
    items: Vec<&RawValue>,
    body: &str,
    error: impl Fn(&str) -> ModelError,
) -> Result<Answer, WireError> {
    let key = |key: &str| key.to_owned();
    let read_text = |raw: Raw<'_>, name: &str| {
        raw.map(|raw| text(raw, || key(name)).map(Cow::into_owned)).transpose()
    };
    let status = response.status.and_then(peek);
    let cut = status.as_deref() == Some("incomplete");
    let (message, diagnostics) = message(items, cut)?;
    let mut answer = Answer::new(message);
    answer.diagnostics = diagnostics;
    answer.id = read_text(response.id, "id")?;
    answer.model = read_text(response.model, "model")?;
    answer.usage = response.usage.map(usage).transpose()?;
    answer.error = response.error.map(|_| error(body));
    answer.complete = answer.error.is_none();
    answer.stop = match status.as_deref() {
        None | Some("completed") => Some(stop(&answer.message)),
        Some("incomplete") => Some(incomplete(response.incomplete_details)?),
        Some("failed") => {
            answer.complete = false;
            None
        }
        // The response is not finished.
        Some("in_progress" | "queued") => {
            answer.complete = false;
            None
        }
        Some(other) => Some(StopReason::Other(other.to_owned())),
    };
    Ok(answer)
}

/// Returns one message of all items. Calls that were cut off are left out.
pub(super) fn message(
    items: Vec<&RawValue>,
    cut: bool,
) -> Result<(Message, Vec<Diagnostic>), WireError> {
    let (mut lift, mut parts) = (ItemReader::default(), Vec::new());
    for (index, raw) in items.into_iter().enumerate() {
        let at = ItemPath { list: "output", index };
        let item: Item<'_> = object(raw, || at.item())?;
        let is_cut = cut || item.status.and_then(peek).as_deref() == Some("incomplete");
        let before = parts.len();
        lift.item(&item, raw, at, &mut parts)?;
        if is_cut
            && matches!(parts.last(),
                Some(Part::ToolCall(call)) if matches!(call.input, ToolInput::Invalid(_)))
        {
            parts.truncate(before);
            lift.diagnostics.push(cut_off(at.item(), "a call whose input breaks off"));
        }
    }
    Ok((Message::new(Role::Assistant, parts), lift.diagnostics))
}

/// Returns the diagnostic for an incomplete item.
pub(super) fn cut_off(path: String, content: &str) -> Diagnostic {
    let message = format!("left out: {content}");
    Diagnostic::new(DiagnosticCode::CutOff, Severity::Warning, path, message)
}

/// Returns why a complete answer ended.
fn stop(message: &Message) -> StopReason {
    let has = |is: fn(&Part) -> bool| message.parts.iter().any(is);
    if has(|part| matches!(part, Part::ToolCall(_))) {
        StopReason::ToolCalls
    } else if has(|part| matches!(part, Part::Text(text) if text.metadata.get(REFUSAL).is_some())) {
        StopReason::Refusal
    } else {
        StopReason::Stop
    }
}

fn incomplete(details: Raw<'_>) -> Result<StopReason, WireError> {
    let details: Incomplete<'_> = details
        .map(|raw| object(raw, || "incomplete_details".to_owned()))
        .transpose()?
        .unwrap_or_default();
    Ok(match details.reason.and_then(peek).as_deref() {
        Some("max_output_tokens" | "max_tokens") => StopReason::Length,
        Some("content_filter") => StopReason::ContentFilter,
        Some(other) => StopReason::Other(other.to_owned()),
        None => StopReason::Other("incomplete".to_owned()),
    })
}

fn usage(raw: &RawValue) -> Result<Usage, WireError> {
    let counts: Counts = object(raw, || "usage".to_owned())?;
    let details = counts.input_tokens_details.unwrap_or_default();
    let mut usage = Usage::default();
    usage.cache_read = details.cached_tokens.unwrap_or_default();
    usage.cache_write = details.cache_write_tokens.unwrap_or_default();
    let cached = usage.cache_read.saturating_add(usage.cache_write);
    usage.input = counts.input_tokens.unwrap_or_default().saturating_sub(cached);
    usage.output = counts.output_tokens.unwrap_or_default();
    usage.reasoning = counts.output_tokens_details.and_then(|details| details.reasoning_tokens);
    Ok(usage)
}
