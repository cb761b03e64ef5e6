//! Streamed answers.

use context_codec_kit::wire::raw_text;
use context_core::base::{DiagnosticCode, Severity};
use context_core::message::{Media, ToolInput};
use context_core::model::{AnswerDelta, AnswerStream, WireError};
use context_core::{Answer, Diagnostic, Json, Message, ModelError, Part, Role};
use serde_json::value::RawValue;

use super::answer::{self, UsageIn};
use super::chunk::{AudioIn, CallDelta, Chunk, Delta, FunctionDelta};
use super::{ANNOTATIONS, lift, media};

/// A call that is being received.
#[derive(Clone, Debug, Default)]
struct Call {
    index: Option<u64>,
    id: String,
    name: String,
    input: String,
    custom: bool,
    reported: bool,
}

/// Sound that is being received.
#[derive(Clone, Debug, Default)]
struct AudioDraft {
    id: String,
    data: Option<String>,
    transcript: Option<String>,
}

/// A streamed answer.
#[derive(Debug, Default)]
pub(super) struct ChatStream {
    id: Option<String>,
    model: Option<String>,
    reasoning: String,
    newer: bool,
    text: String,
    refusal: String,
    audio: Option<AudioDraft>,
    annotations: Vec<Json>,
    calls: Vec<Call>,
    legacy: Option<Call>,
    /// The message of a server that sends it in one event.
    message: Option<Message>,
    finish: Option<String>,
    usage: Option<UsageIn>,
    error: Option<ModelError>,
    /// Whether the answer has ended; later events do not belong to it.
    ended: bool,
    diagnostics: Vec<Diagnostic>,
}

impl AnswerStream for ChatStream {
    fn push(&mut self, event: &str) -> Result<Vec<AnswerDelta>, WireError> {
        let event = event.trim();
        if self.ended || event.is_empty() {
            return Ok(Vec::new());
        }
        if event == "[DONE]" {
            self.ended = true;
            return Ok(Vec::new());
        }
        let chunk = Chunk::read(event)?;
        let mut deltas = Vec::new();
        self.id = self.id.take().or(chunk.id);
        self.model = self.model.take().or(chunk.model);
        // Some servers report running totals: the last report counts.
        self.usage = chunk.usage.or(self.usage);
        if chunk.has_others {
            self.note(answer::several());
        }
        for choice in chunk.choices {
            if choice.is_error {
                self.fail(event);
            }
            if let Some(delta) = choice.delta {
                self.delta(delta, &mut deltas);
            }
            if let Some((message, diagnostics)) = choice.message {
                self.take_message(message, diagnostics, &mut deltas);
            }
            self.finish = choice.finish.or(self.finish.take());
        }
        if chunk.is_error {
            self.fail(event);
        }
        Ok(deltas)
    }

    fn answer(&self) -> Answer {
        let mut answer = Answer::new(self.message());
        answer.id.clone_from(&self.id);
        answer.model.clone_from(&self.model);
        answer.usage = self.usage.map(UsageIn::usage);
        answer.error.clone_from(&self.error);
        answer.diagnostics.clone_from(&self.diagnostics);
        answer.complete = self.error.is_none() && (self.finish.is_some() || self.ended);
        answer::settle(&mut answer, self.finish.as_deref());
        if !answer.complete && answer.error.is_none() {
            let reason = "the answer broke off: only complete parts are kept";
            answer.diagnostics.push(Diagnostic::new(
                DiagnosticCode::CutOff,
                Severity::Warning,
                "answer",
                reason,
            ));
        }
        answer
    }
}

impl ChatStream {
    fn fail(&mut self, event: &str) {
        self.error = Some(answer::error(event));
        self.ended = true;
    }

    /// Adds a diagnostic unless it is already present.
    fn note(&mut self, diagnostic: Diagnostic) {
        if !self.diagnostics.contains(&diagnostic) {
            self.diagnostics.push(diagnostic);
        }
    }

    fn take_message(
        &mut self,
        message: Message,
        diagnostics: Vec<Diagnostic>,
        deltas: &mut Vec<AnswerDelta>,
    ) {
        for part in &message.parts {
            match part {
                Part::Text(text) => deltas.push(AnswerDelta::Text(text.text.to_cow().into_owned())),
                Part::Reasoning(thought) => {
                    deltas.push(AnswerDelta::Reasoning(thought.text.to_cow().into_owned()))
                }
                Part::ToolCall(call) => {
                    deltas.push(AnswerDelta::ToolCall {
                        id: call.id.clone(),
                        name: call.name.clone(),
                    });
                    deltas.push(AnswerDelta::ToolInput(call.input.as_written().to_owned()));
                }
                _ => {}
            }
        }
        self.diagnostics.extend(diagnostics);
        self.message = Some(message);
    }

    fn delta(&mut self, delta: Delta<'_>, deltas: &mut Vec<AnswerDelta>) {
        if let Some(text) = delta.thought {
            self.newer = if self.reasoning.is_empty() { delta.is_newer } else { self.newer };
            self.reasoning.push_str(&text);
            deltas.push(AnswerDelta::Reasoning(text.into_owned()));
        }
        for text in delta.texts.into_iter().filter(|text| !text.is_empty()) {
            self.text.push_str(&text);
            deltas.push(AnswerDelta::Text(text.into_owned()));
        }
        if delta.has_others {
            let reason = "left out: a part that is not text";
            let (code, severity) = (DiagnosticCode::Unrepresentable, Severity::Warning);
            self.note(Diagnostic::new(code, severity, "choices[0].delta.content", reason));
        }
        if let Some(text) = delta.refusal {
            self.refusal.push_str(&text);
            deltas.push(AnswerDelta::Text(text.into_owned()));
        }
        if let Some(audio) = &delta.audio {
            self.push_audio(audio);
        }
        self.annotations.extend(delta.annotations);
        for call in delta.calls {
            self.call(call, deltas);
        }
        if let Some(function) = delta.legacy {
            let call = self.legacy.get_or_insert_default();
            extend(call, None, function, deltas);
        }
    }

    fn push_audio(&mut self, delta: &AudioIn<'_>) {
        let audio = self.audio.get_or_insert_default();
        if let Some(id) = delta.id.and_then(raw_text).filter(|id| !id.is_empty()) {
            audio.id = id.into_owned();
        }
        for (all, more) in
            [(&mut audio.data, delta.data), (&mut audio.transcript, delta.transcript)]
        {
            if let Some(more) = more.and_then(raw_text) {
                all.get_or_insert_default().push_str(&more);
            }
        }
    }

    fn call(&mut self, delta: CallDelta<'_>, deltas: &mut Vec<AnswerDelta>) {
        let CallDelta { index, id, is_custom, function } = delta;
        let at = match self.open(index, &id, &function) {
            Some(at) => at,
            None => {
                self.calls.push(Call { index, ..Call::default() });
                self.calls.len() - 1
            }
        };
        let call = &mut self.calls[at];
        call.custom |= is_custom;
        extend(call, Some(&id), function, deltas);
    }

    /// Returns the index of the call that a delta continues, or `None` if it begins one.
    fn open(&self, index: Option<u64>, id: &str, function: &FunctionDelta<'_>) -> Option<usize> {
        let at = match index {
            Some(_) => self.calls.iter().rposition(|call| call.index == index)?,
            None if id.is_empty() => self.calls.len().checked_sub(1)?,
            None => return self.calls.iter().rposition(|call| call.id == id),
        };
        let call = &self.calls[at];
        // Servers that send whole calls at once may give all of them the same index.
        let other_id = !id.is_empty() && !call.id.is_empty() && call.id != id;
        let named = function.name.as_ref().is_some_and(|name| !name.is_empty());
        let repeats = named && id.is_empty() && is_whole(&call.input) && !function.continues;
        (!other_id && !repeats).then_some(at)
    }

    fn message(&self) -> Message {
        if let Some(message) = &self.message {
            return message.clone();
        }
        let mut message = Message::new(Role::Assistant, []);
        let parts = &mut message.parts;
        if !self.reasoning.is_empty() {
            parts.push(lift::reasoning(self.reasoning.clone(), self.newer));
        }
        if !self.text.is_empty() {
            parts.push(Part::text(self.text.as_str()));
        }
        if !self.refusal.is_empty() {
            parts.push(lift::refused(self.refusal.clone()));
        }
        parts.extend(self.audio.as_ref().and_then(output_audio).map(Part::Audio));
        for call in self.calls.iter().filter(|call| !call.name.is_empty()) {
            let input = ToolInput::from_written(call.input.as_str());
            parts.push(lift::call_part(call.id.clone(), call.name.clone(), input, call.custom));
        }
        if let Some(call) = self.legacy.as_ref().filter(|call| !call.name.is_empty()) {
            parts.push(lift::legacy_call(
                call.name.clone(),
                ToolInput::from_written(call.input.as_str()),
            ));
        }
        if !self.annotations.is_empty() {
            message.metadata.insert(ANNOTATIONS, context_codec_kit::wire::array(&self.annotations));
        }
        message
    }
}

/// Adds a delta to a call. A repeated id or name is that of the same call.
fn extend(
    call: &mut Call,
    id: Option<&str>,
    function: FunctionDelta<'_>,
    deltas: &mut Vec<AnswerDelta>,
) {
    if let Some(id) = id.filter(|_| call.id.is_empty()) {
        id.clone_into(&mut call.id);
    }
    if let Some(name) = function.name
        && call.input.is_empty()
        && call.name != name
    {
        call.name.push_str(&name);
    }
    if !call.reported && !call.name.is_empty() {
        call.reported = true;
        let id = if id.is_some() { call.id.clone() } else { lift::legacy_id(&call.name) };
        deltas.push(AnswerDelta::ToolCall { id, name: call.name.clone() });
    }
    let Some(more) = function.more else { return };
    // A server that sends a whole call a second time means the same call.
    if more.is_empty() || (more.len() > 1 && call.input == more && is_whole(&more)) {
        return;
    }
    call.input.push_str(&more);
    deltas.push(AnswerDelta::ToolInput(more.into_owned()));
}

/// Returns whether a text is one whole object.
fn is_whole(text: &str) -> bool {
    text.starts_with('{')
        && text.trim_end().ends_with('}')
        && serde_json::from_str::<&RawValue>(text).is_ok()
}

/// Returns the received sound. It needs the provider's id.
fn output_audio(audio: &AudioDraft) -> Option<Media> {
    let transcript = audio.transcript.as_deref().map(Json::from);
    (!audio.id.is_empty())
        .then(|| media::output_audio(audio.id.clone(), audio.data.clone(), transcript))
}
