//! Answers, whole and streamed.

use context_codec_kit::wire::read;
use context_core::base::{DiagnosticCode, Severity};
use context_core::message::ToolInput;
use context_core::model::{AnswerDelta, AnswerStream, StopReason, Usage, WireError};
use context_core::{Answer, Diagnostic, Json, Message, ModelError, Part, Role};
use serde::Deserialize;

use crate::NAME;
use crate::form::{MessageForm, call};

#[derive(Deserialize)]
struct AnswerForm {
    #[serde(default)]
    message: Option<MessageForm>,
    #[serde(default)]
    stop: Option<String>,
    #[serde(default)]
    usage: Option<UsageForm>,
    #[serde(default)]
    error: Option<Json>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct UsageForm {
    input: u64,
    output: u64,
}

pub(crate) fn lift(body: &Json) -> Result<Answer, WireError> {
    let form: AnswerForm = read(body.as_str(), "answer")?;
    let missing = || WireError::Missing { path: "message".to_owned() };
    let mut answer = match (form.error, form.message) {
        (Some(_), _) => {
            let mut answer = Answer::new(Message::new(Role::Assistant, []));
            answer.error = Some(error(body.as_str()));
            answer.complete = false;
            answer
        }
        (None, Some(message)) => Answer::new(message.read().with_role(Role::Assistant)),
        (None, None) => return Err(missing()),
    };
    answer.stop = form.stop.map(stop);
    answer.usage = form.usage.map(|usage| Usage::new(usage.input, usage.output));
    Ok(answer)
}

/// The parser of a streamed answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct AcmeStream {
    text: String,
    /// Id, name, and the text of the input so far.
    calls: Vec<(String, String, String)>,
    stop: Option<String>,
    usage: Option<UsageForm>,
    error: Option<ModelError>,
}

/// An event of a streamed answer. Keys that it lacks are `None`.
#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct Event {
    text: Option<String>,
    call: Option<CallStart>,
    input: Option<String>,
    stop: Option<String>,
    usage: Option<UsageForm>,
    error: Option<Json>,
}

#[derive(Deserialize)]
struct CallStart {
    id: String,
    name: String,
}

impl AnswerStream for AcmeStream {
    fn push(&mut self, event: &str) -> Result<Vec<AnswerDelta>, WireError> {
        let event_form: Event = read(event, "event")?;
        let mut deltas = Vec::new();
        if let Some(text) = event_form.text {
            self.text.push_str(&text);
            deltas.push(AnswerDelta::Text(text));
        }
        if let Some(CallStart { id, name }) = event_form.call {
            self.calls.push((id.clone(), name.clone(), String::new()));
            deltas.push(AnswerDelta::ToolCall { id, name });
        }
        if let (Some(input), Some((.., written))) = (event_form.input, self.calls.last_mut()) {
            written.push_str(&input);
            deltas.push(AnswerDelta::ToolInput(input));
        }
        if event_form.error.is_some() {
            self.error = Some(error(event));
        }
        self.stop = event_form.stop.or(self.stop.take());
        self.usage = event_form.usage.or(self.usage);
        Ok(deltas)
    }

    fn answer(&self) -> Answer {
        let text = (!self.text.is_empty()).then(|| Part::text(&self.text));
        let mut answer = Answer::new(Message::new(Role::Assistant, text));
        // The input of the last call may be cut off, unless the model says that it is done.
        let done = self.error.is_none() && matches!(self.stop.as_deref(), Some("end" | "calls"));
        let whole = if done { self.calls.len() } else { self.calls.len().saturating_sub(1) };
        for (id, name, written) in &self.calls[..whole] {
            let written = if written.trim().is_empty() { "{}" } else { written };
            let input = ToolInput::from_written(written);
            answer.message.parts.push(call(id.clone(), name.clone(), input));
        }
        for (id, ..) in &self.calls[whole..] {
            let (path, said) = (format!("call {id}"), "a call was cut off and left out");
            let diagnostic = Diagnostic::new(DiagnosticCode::CutOff, Severity::Warning, path, said);
            answer.diagnostics.push(diagnostic);
        }
        answer.stop = self.stop.clone().map(stop);
        answer.usage = self.usage.map(|usage| Usage::new(usage.input, usage.output));
        answer.complete = self.stop.is_some() && self.error.is_none();
        answer.error = self.error.clone();
        answer
    }
}

fn stop(reason: String) -> StopReason {
    match reason.as_str() {
        "end" => StopReason::Stop,
        "calls" => StopReason::ToolCalls,
        "limit" => StopReason::Length,
        _ => StopReason::Other(reason),
    }
}

fn error(body: &str) -> ModelError {
    context_codec_kit::classify(NAME, None, body)
}
