//! Streamed answers. An item counts once an event reports it as done. Pieces are passed on as they
//! arrive, and count only if the rest never arrives.

use std::collections::BTreeMap;

use context_codec_kit::wire;
use context_codec_kit::wire::truth;
use context_core::message::{Text, ToolInput};
use context_core::model::{AnswerDelta, AnswerStream, WireError};
use context_core::{Answer, Diagnostic, Json, Message, Metadata, ModelError, Part, Role, ToolCall};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::answer::{self, Body, cut_off};
use super::form::{Item, Raw, keep, list, object, peek, remember, text};
use super::keys::{PHASE, REFUSAL};

/// An event, of any type.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Raw<'a>,
    output_index: Option<u64>,
    content_index: Option<u64>,
    #[serde(borrow)]
    item: Raw<'a>,
    #[serde(borrow)]
    delta: Raw<'a>,
    #[serde(borrow)]
    text: Raw<'a>,
    #[serde(borrow)]
    refusal: Raw<'a>,
    #[serde(borrow)]
    arguments: Raw<'a>,
    #[serde(borrow)]
    input: Raw<'a>,
    #[serde(borrow)]
    response: Raw<'a>,
    #[serde(borrow)]
    error: Raw<'a>,
}

/// An item that is being received.
#[derive(Debug)]
enum Slot {
    /// The announced item, with the pieces received since.
    Open(OpenItem),
    /// The whole item.
    Done(Json),
}

#[derive(Debug)]
struct OpenItem {
    announced: Json,
    texts: BTreeMap<u64, TextPiece>,
    input: String,
    /// Whether the input is whole.
    is_whole: bool,
}

#[derive(Debug, Default)]
struct TextPiece {
    text: String,
    is_refusal: bool,
}

/// Classifies the body of an error.
type Classify = fn(&str) -> ModelError;

/// A streamed answer of the Responses API.
#[derive(Debug)]
pub(super) struct Stream {
    id: Option<String>,
    model: Option<String>,
    slots: BTreeMap<u64, Slot>,
    error: Option<ModelError>,
    /// The answer, once it has ended.
    ended: Option<Answer>,
    classify: Classify,
}

impl Stream {
    pub(super) fn new(classify: Classify) -> Self {
        Self { id: None, model: None, slots: BTreeMap::new(), error: None, ended: None, classify }
    }

    fn open(&mut self, index: Option<u64>) -> Option<&mut OpenItem> {
        match self.slots.get_mut(&index.unwrap_or_default()) {
            Some(Slot::Open(open)) => Some(open),
            _ => None,
        }
    }

    fn started(&mut self, event: &Event<'_>) -> Result<(), WireError> {
        let Some(response) = event.response else { return Ok(()) };
        let body: Body<'_> = object(response, || "response".to_owned())?;
        (self.id, self.model) = body.names();
        Ok(())
    }

    fn added(&mut self, event: &Event<'_>) -> Result<Vec<AnswerDelta>, WireError> {
        let raw = event.item.ok_or_else(|| WireError::Missing { path: "item".to_owned() })?;
        let item: Item<'_> = object(raw, || "item".to_owned())?;
        let open = OpenItem {
            announced: keep(raw),
            texts: BTreeMap::new(),
            input: String::new(),
            is_whole: false,
        };
        let index = event.output_index.unwrap_or_default();
        // An item that is done is not opened again.
        if !matches!(self.slots.get(&index), Some(Slot::Done(_))) {
            self.slots.insert(index, Slot::Open(open));
        }
        Ok(call_delta(&item).into_iter().collect())
    }

    fn done(&mut self, event: &Event<'_>) -> Result<Vec<AnswerDelta>, WireError> {
        let raw = event.item.ok_or_else(|| WireError::Missing { path: "item".to_owned() })?;
        let item: Item<'_> = object(raw, || "item".to_owned())?;
        // An item that cannot be read is refused here, so that it does not make the whole answer
        // fail later.
        let (message, _) = answer::message(vec![raw], false)?;
        let before =
            self.slots.insert(event.output_index.unwrap_or_default(), Slot::Done(keep(raw)));
        if before.is_some() {
            return Ok(Vec::new());
        }
        // The item was never announced: all of it is new.
        let mut deltas: Vec<_> = call_delta(&item).into_iter().collect();
        for part in message.parts {
            match part {
                Part::Text(text) => deltas.push(AnswerDelta::Text(text.text.to_cow().into_owned())),
                Part::Reasoning(thought) => {
                    deltas.push(AnswerDelta::Reasoning(thought.text.to_cow().into_owned()))
                }
                Part::ToolCall(call) => {
                    deltas.push(AnswerDelta::ToolInput(call.input.as_written().to_owned()))
                }
                _ => {}
            }
        }
        Ok(deltas)
    }

    /// Adds a piece of a text or, if it is `whole`, all of it. Returns the new text.
    fn push_text(
        &mut self,
        event: &Event<'_>,
        more: Raw<'_>,
        is_refusal: bool,
        whole: bool,
    ) -> Result<Option<String>, WireError> {
        let Some(more) = more.map(|more| text(more, || "delta".to_owned())).transpose()? else {
            return Ok(None);
        };
        let index = event.content_index.unwrap_or_default();
        let Some(open) = self.open(event.output_index) else { return Ok(None) };
        let piece = open.texts.entry(index).or_default();
        piece.is_refusal = is_refusal;
        Ok(grow(&mut piece.text, &more, whole))
    }

    fn push_input(
        &mut self,
        event: &Event<'_>,
        more: Raw<'_>,
        whole: bool,
    ) -> Result<Option<String>, WireError> {
        let Some(more) = more.map(|more| text(more, || "delta".to_owned())).transpose()? else {
            return Ok(None);
        };
        let Some(open) = self.open(event.output_index) else { return Ok(None) };
        open.is_whole |= whole;
        Ok(grow(&mut open.input, &more, whole))
    }

    fn ended(&mut self, event: &Event<'_>) -> Result<(), WireError> {
        let raw =
            event.response.ok_or_else(|| WireError::Missing { path: "response".to_owned() })?;
        let body: Body<'_> = object(raw, || "response".to_owned())?;
        let mut items = match body.output {
            Some(output) => list(output, || "response.output".to_owned())?,
            None => Vec::new(),
        };
        // Some servers end without repeating all items.
        let known: Vec<&RawValue> = self.whole_items();
        if items.len() < known.len() {
            items = known;
        }
        let classify = self.classify;
        let answer = answer::read(&body, items, raw.get(), classify)?;
        self.ended = Some(answer);
        Ok(())
    }

    fn whole_items(&self) -> Vec<&RawValue> {
        let done = self.slots.values().filter_map(|slot| match slot {
            Slot::Done(item) => serde_json::from_str(item.as_str()).ok(),
            Slot::Open(_) => None,
        });
        done.collect()
    }

    /// Returns the answer as far as it was received.
    fn partial_answer(&self) -> Answer {
        let (mut parts, mut diagnostics) = (Vec::new(), Vec::new());
        for (index, slot) in &self.slots {
            match slot {
                Slot::Done(item) => {
                    let raw = serde_json::from_str(item.as_str())
                        .map(|raw| answer::message(vec![raw], true));
                    if let Ok(Ok((message, mut notes))) = raw {
                        parts.extend(message.parts);
                        diagnostics.append(&mut notes);
                    }
                }
                Slot::Open(open) => open.close(*index, &mut parts, &mut diagnostics),
            }
        }
        let mut answer = Answer::new(Message::new(Role::Assistant, parts));
        (answer.id, answer.model) = (self.id.clone(), self.model.clone());
        (answer.complete, answer.error) = (false, self.error.clone());
        answer.diagnostics = diagnostics;
        answer
            .diagnostics
            .push(cut_off(String::new(), "the rest of the answer: the stream broke off"));
        answer
    }
}

impl OpenItem {
    /// Adds the parts of the item that can be sent back: text as far as it was received, a call
    /// whose input is whole. The provider does not have the item, so its id is not kept.
    fn close(&self, index: u64, parts: &mut Vec<Part>, diagnostics: &mut Vec<Diagnostic>) {
        let item: Item<'_> = serde_json::from_str(self.announced.as_str()).unwrap_or_default();
        let mut metadata = Metadata::default();
        let before = parts.len();
        match item.kind.and_then(peek).as_deref() {
            Some("message") => {
                remember(&mut metadata, PHASE, item.phase);
                let texts = self.texts.values().filter(|piece| !piece.text.is_empty());
                parts.extend(texts.map(|piece| {
                    let metadata = match piece.is_refusal {
                        true => metadata.clone().with(REFUSAL, truth()),
                        false => metadata.clone(),
                    };
                    Part::Text(Text { text: piece.text.as_str().into(), metadata })
                }));
                return;
            }
            Some("function_call") if self.is_whole => {
                let input = ToolInput::from_written(self.input.as_str());
                let (id, name) = (item.call_id.and_then(peek), item.name.and_then(peek));
                if let (ToolInput::Json(_), Some(id), Some(name)) = (&input, id, name) {
                    let (id, name) = (id.into_owned(), name.into_owned());
                    parts.push(Part::ToolCall(ToolCall { id, name, input, metadata }));
                }
            }
            _ => {}
        }
        if parts.len() == before {
            diagnostics.push(cut_off(format!("output[{index}]"), "an incomplete item"));
        }
    }
}

/// Appends a piece, or the part of the whole text that is still missing.
fn grow(text: &mut String, more: &str, whole: bool) -> Option<String> {
    let new = match whole {
        false => more,
        true => match more.strip_prefix(text.as_str()) {
            Some(rest) => rest,
            None => {
                more.clone_into(text);
                return None;
            }
        },
    };
    text.push_str(new);
    (!new.is_empty()).then(|| new.to_owned())
}

/// Returns the delta for the begin of a call.
fn call_delta(item: &Item<'_>) -> Option<AnswerDelta> {
    let kind = item.kind.and_then(peek)?;
    let owned = |raw: Raw<'_>| raw.and_then(peek).unwrap_or_default().into_owned();
    matches!(kind.as_ref(), "function_call" | "custom_tool_call")
        .then(|| AnswerDelta::ToolCall { id: owned(item.call_id), name: owned(item.name) })
}

impl AnswerStream for Stream {
    fn push(&mut self, data: &str) -> Result<Vec<AnswerDelta>, WireError> {
        if self.ended.is_some() || self.error.is_some() || data.trim() == "[DONE]" {
            return Ok(Vec::new());
        }
        let raw: &RawValue = wire::read(data, "")?;
        let event: Event<'_> = object(raw, String::new)?;
        let kind = event.kind.and_then(peek);
        let text = |text: Option<String>| text.map(AnswerDelta::Text).into_iter().collect();
        let thought = |text: Option<String>| text.map(AnswerDelta::Reasoning).into_iter().collect();
        let input = |text: Option<String>| text.map(AnswerDelta::ToolInput).into_iter().collect();
        Ok(match kind.as_deref() {
            Some("response.created" | "response.in_progress" | "response.queued") => {
                self.started(&event)?;
                Vec::new()
            }
            Some("response.output_item.added") => self.added(&event)?,
            Some("response.output_item.done") => self.done(&event)?,
            Some("response.output_text.delta") => {
                text(self.push_text(&event, event.delta, false, false)?)
            }
            Some("response.output_text.done") => {
                text(self.push_text(&event, event.text, false, true)?)
            }
            Some("response.refusal.delta") => {
                text(self.push_text(&event, event.delta, true, false)?)
            }
            Some("response.refusal.done") => {
                text(self.push_text(&event, event.refusal, true, true)?)
            }
            // A thought counts only when it is whole, so its pieces are only passed on.
            Some("response.reasoning_summary_text.delta" | "response.reasoning_text.delta") => {
                thought(event.delta.and_then(peek).map(std::borrow::Cow::into_owned))
            }
            Some(
                "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta",
            ) => input(self.push_input(&event, event.delta, false)?),
            Some("response.function_call_arguments.done") => {
                input(self.push_input(&event, event.arguments, true)?)
            }
            Some("response.custom_tool_call_input.done") => {
                input(self.push_input(&event, event.input, true)?)
            }
            Some("response.completed" | "response.incomplete" | "response.failed") => {
                self.ended(&event)?;
                Vec::new()
            }
            Some("error") => {
                self.error = Some((self.classify)(data));
                Vec::new()
            }
            // A proxy writes an error without an event type.
            None if event.error.is_some() => {
                self.error = Some((self.classify)(data));
                Vec::new()
            }
            _ => Vec::new(),
        })
    }

    fn answer(&self) -> Answer {
        self.ended.clone().unwrap_or_else(|| self.partial_answer())
    }
}
