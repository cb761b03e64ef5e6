//! An answer that is being received: what one event adds to it. A whole answer is one event, so
//! whole and streamed answers give the same parts.

use context_codec_kit::wire;
use context_codec_kit::wire::LossyText;
use context_core::base::{DiagnosticCode, JsonMap, Severity};
use context_core::message::{Reasoning, Text, ToolInput};
use context_core::model::{AnswerDelta, StopReason, WireError};
use context_core::{Answer, Diagnostic, Json, Message, Metadata, ModelError, Part, Role, ToolCall};

use crate::continued::Continued;

use super::event::{Event, Piece};
use super::form::{Call, PartForm};
use super::lift::{id_text, json_of};
use super::partial::Input;
use super::usage::UsageForm;
use super::{ANSWER_KEY, NO_ID, SIGNATURE_KEY, server_parts};

/// The indexes of the spoken parts that later events continue, although other parts follow them.
#[derive(Debug, Default)]
pub(super) struct SpeechParts {
    pub(super) words: Option<usize>,
    pub(super) sound: Option<usize>,
}

/// The state of an answer.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    pub(super) parts: Vec<Part>,
    pub(super) continued: Continued,
    /// The spoken parts.
    pub(super) speech: SpeechParts,
    /// The call whose input is still being received; it is not a part yet.
    open: Option<OpenCall>,
    /// The number of calls without an id.
    unnamed: usize,
    pub(super) finish: Option<String>,
    blocked: Option<String>,
    usage: Option<UsageForm>,
    model: Option<String>,
    id: Option<String>,
    facts: JsonMap,
    error: Option<ModelError>,
    diagnostics: Vec<Diagnostic>,
}

#[derive(Debug)]
struct OpenCall {
    call: ToolCall,
    input: Input,
}

impl Assembly {
    /// Reads and applies an event, and returns what it added. An event that cannot be read, or
    /// comes after the last one, changes nothing.
    pub(super) fn push(&mut self, event: &str, path: &str) -> Result<Vec<AnswerDelta>, WireError> {
        if self.is_over() {
            return Ok(Vec::new());
        }
        let event = Event::read(event, path)?;
        Ok(self.take(event))
    }

    /// Applies an event, and returns what it added.
    pub(super) fn take(&mut self, event: Event<'_>) -> Vec<AnswerDelta> {
        let mut deltas = Vec::new();
        if event.error.is_some() {
            self.error = event.error;
            return deltas;
        }
        // Id and model first: ids of calls are derived from them.
        self.id = event.id.or(self.id.take());
        self.model = event.model.or(self.model.take());
        if let Some(counted) = event.usage {
            let usage = self.usage.get_or_insert_default();
            if event.live.is_some() { usage.add(&counted) } else { usage.update(counted) }
        }
        self.facts.extend(event.feedback.map(|feedback| ("promptFeedback".to_owned(), feedback)));
        self.blocked = event.blocked;
        self.diagnostics.extend(event.notes);
        if let Some(live) = event.live {
            self.live(live, &mut deltas);
        }
        if let Some(candidate) = event.candidate {
            self.content(candidate.pieces, &mut deltas);
            self.finish = candidate.finish.or(self.finish.take());
            for (key, value) in candidate.facts {
                // A stream may first report an empty object and the content later.
                if value.as_str() != "{}" || !self.facts.contains_key(&key) {
                    self.facts.insert(key, value);
                }
            }
        }
        if self.finish.is_some() {
            self.close(true, &mut deltas);
        }
        deltas
    }

    /// Returns whether the provider ended the answer.
    pub(super) fn is_over(&self) -> bool {
        self.finish.is_some() || self.blocked.is_some() || self.error.is_some()
    }

    fn note(&mut self, reason: &str) {
        self.diagnostics.push(Diagnostic::new(
            DiagnosticCode::BrokenInput,
            Severity::Warning,
            "",
            reason,
        ));
    }

    pub(super) fn content(&mut self, pieces: Vec<Piece<'_>>, deltas: &mut Vec<AnswerDelta>) {
        for piece in pieces {
            match piece {
                Piece::OfCall(form) => self.piece(*form, deltas),
                Piece::Part(part, mut diagnostics) => {
                    self.diagnostics.append(&mut diagnostics);
                    self.add(part, deltas);
                }
            }
        }
    }

    /// Adds a part, or extends the previous part if it continues it.
    pub(super) fn add(&mut self, part: Part, deltas: &mut Vec<AnswerDelta>) {
        match part {
            Part::Text(text) => {
                if !text.text.is_empty() {
                    self.close(true, deltas);
                    deltas.push(AnswerDelta::Text(text.text.to_cow().into_owned()));
                    self.add_text(text);
                }
            }
            Part::Reasoning(thought) => {
                if !thought.text.is_empty() {
                    deltas.push(AnswerDelta::Reasoning(thought.text.to_cow().into_owned()));
                }
                self.add_thought(thought);
            }
            Part::ToolCall(mut call) => {
                self.close(true, deltas);
                if call.metadata.get(NO_ID).is_some() {
                    call.id = self.derived_id(&call.name);
                }
                deltas.push(AnswerDelta::ToolCall { id: call.id.clone(), name: call.name.clone() });
                deltas.push(AnswerDelta::ToolInput(call.input.as_written().to_owned()));
                self.parts.push(Part::ToolCall(call));
            }
            other => {
                self.close(true, deltas);
                self.parts.push(other);
            }
        }
    }

    fn add_text(&mut self, text: Text) {
        if let Some(Part::Text(last)) = self.parts.last_mut()
            && last.metadata.is_empty()
        {
            last.metadata = text.metadata;
            self.continued.push(self.parts.len() - 1, &text.text.to_cow());
            return;
        }
        self.parts.push(Part::Text(text));
    }

    fn add_thought(&mut self, thought: Reasoning) {
        match self.parts.last_mut() {
            Some(Part::Reasoning(last)) if last.signature.is_none() => {
                last.signature = thought.signature;
                self.continued.push(self.parts.len() - 1, &thought.text.to_cow());
            }
            // A signature alone belongs to the text before it.
            Some(Part::Text(last)) if thought.text.is_empty() && last.metadata.is_empty() => {
                if let Some(signature) = &thought.signature {
                    last.metadata.insert(SIGNATURE_KEY, signature.as_str());
                }
            }
            _ => {
                if !thought.text.is_empty() || thought.signature.is_some() {
                    self.parts.push(Part::Reasoning(thought));
                }
            }
        }
    }

    /// Adds a piece of a call.
    fn piece(&mut self, form: PartForm<'_>, deltas: &mut Vec<AnswerDelta>) {
        let Some(Call { id, name, args, partial, will_continue }) = form.call else { return };
        if let Some(LossyText(name)) = name {
            self.close(true, deltas);
            let mut metadata = Metadata::default();
            if let Some(signature) =
                form.signature.filter(|signature| signature.get().starts_with('"'))
            {
                metadata.insert(SIGNATURE_KEY, json_of(signature));
            }
            let id = match id.map(|id| id.0).filter(|id| !id.is_empty()) {
                Some(id) => id,
                None => {
                    metadata.insert(NO_ID, wire::truth());
                    self.derived_id(&name)
                }
            };
            deltas.push(AnswerDelta::ToolCall { id: id.clone(), name: name.clone() });
            let input = ToolInput::Json(args.map_or_else(super::lift::empty, json_of));
            self.open = Some(OpenCall {
                call: ToolCall { id, name, input, metadata },
                input: Input::default(),
            });
        }
        let Some(open) = &mut self.open else {
            self.note("left out: a piece of a call without a beginning");
            return;
        };
        for piece in partial.unwrap_or_default() {
            open.input.add(piece);
        }
        if will_continue != Some(true) {
            self.close(true, deltas);
        }
    }

    /// Ends the open call.
    pub(super) fn close(&mut self, whole: bool, deltas: &mut Vec<AnswerDelta>) {
        let Some(OpenCall { mut call, input }) = self.open.take() else { return };
        match input.finish().filter(|_| whole) {
            Some(json) => {
                if json.as_str() != "{}" {
                    call.input = ToolInput::Json(json);
                }
                deltas.push(AnswerDelta::ToolInput(call.input.as_written().to_owned()));
                self.parts.push(Part::ToolCall(call));
            }
            None => {
                self.note("left out: the pieces of a call's input do not fit together");
            }
        }
    }

    /// Returns an id for a call that has none, from the answer's id and the call's position among
    /// those.
    fn derived_id(&mut self, name: &str) -> String {
        self.unnamed += 1;
        let of = id_text(self.id.as_deref().unwrap_or(name));
        format!("call_{of}_{}", self.unnamed)
    }

    /// Returns the answer as far as it was received.
    pub(super) fn answer(&self) -> Answer {
        let complete = self.finish.is_some() || self.blocked.is_some();
        let mut diagnostics = self.diagnostics.clone();
        let mut parts = self.continued.join(&self.parts);
        if !complete {
            let cut = usize::from(self.open.is_some()) + server_parts::drop_from(&mut parts);
            if self.error.is_none() {
                let reason = match cut {
                    0 => "the answer broke off".to_owned(),
                    n => {
                        format!("the answer broke off: {n} incomplete parts are left out")
                    }
                };
                let code = DiagnosticCode::CutOff;
                diagnostics.push(Diagnostic::new(code, Severity::Warning, "", reason));
            }
        }
        let has_calls = parts.iter().any(|part| matches!(part, Part::ToolCall(_)));
        let mut message = Message::new(Role::Assistant, parts);
        if let Some(facts) = self.facts() {
            message.metadata.insert(ANSWER_KEY, facts);
        }
        let mut answer = Answer::new(message);
        answer.stop = match (&self.blocked, &self.finish) {
            (Some(_), _) => Some(StopReason::ContentFilter),
            (None, Some(reason)) => Some(stop(reason, has_calls)),
            (None, None) => None,
        };
        answer.usage = self.usage.as_ref().map(UsageForm::usage);
        answer.model.clone_from(&self.model);
        answer.id.clone_from(&self.id);
        answer.complete = complete;
        answer.error.clone_from(&self.error);
        answer.diagnostics = diagnostics;
        answer
    }

    fn facts(&self) -> Option<Json> {
        let named = [
            ("responseId", &self.id),
            ("modelVersion", &self.model),
            ("finishReason", &self.finish),
        ];
        let named = named
            .into_iter()
            .filter_map(|(key, text)| Some((key.to_owned(), text.as_deref()?.into())));
        let facts: JsonMap = named.chain(self.facts.clone()).collect();
        (!facts.is_empty()).then(|| wire::from_map(&facts))
    }
}

fn stop(reason: &str, has_calls: bool) -> StopReason {
    match reason {
        "STOP" if has_calls => StopReason::ToolCalls,
        "STOP" => StopReason::Stop,
        "MAX_TOKENS" => StopReason::Length,
        "SAFETY"
        | "RECITATION"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION"
        | "MODEL_ARMOR" => StopReason::ContentFilter,
        other => StopReason::Other(other.to_owned()),
    }
}
