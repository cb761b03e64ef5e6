//! Lowering of messages to items. Never fails: content that the form cannot hold is left out, with
//! a diagnostic.

pub(super) mod media;
pub(super) mod opaque;
mod part_metadata;
mod result;
mod thought;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use context_core::base::{DiagnosticCode, Severity};
use context_core::message::{OpaqueBlock, Text};
use context_core::{Diagnostic, Json, JsonString, Message, Part, Role, ToolCall};

pub(super) use self::opaque::in_pairs;
use self::part_metadata::PartMetadata;
use super::form::{Annotations, ItemOut, OutCall, OutContent, OutMessage, OutPart, ValueOut};
use super::keys::ROLE;

/// The target of written items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// For the provider.
    Send {
        /// Whether the provider may know items by their id alone: it stores answers unless it is
        /// told not to.
        stored: bool,
    },
    /// For the source: nothing is checked or left out.
    Source,
}

/// Writes messages, in order.
#[derive(Debug)]
pub(super) struct Writer<'a> {
    mode: Mode,
    /// The calls that are not plain function calls; their results are written like them.
    special: HashMap<&'a str, PartMetadata<'a>>,
    /// The ids of items that were written. The provider accepts each id once.
    ids: HashSet<&'a str>,
    position: [usize; 2],
    pub(super) out: Vec<ItemOut<'a>>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(mode: Mode) -> Self {
        Self {
            mode,
            special: HashMap::new(),
            ids: HashSet::new(),
            position: [0; 2],
            out: Vec::new(),
            diagnostics: Vec::new(),
        }
    }

    fn is_for_sending(&self) -> bool {
        self.mode != Mode::Source
    }

    fn report_omitted(&mut self, why: &str) {
        let [message, part] = self.position;
        let (code, severity) = (DiagnosticCode::Unrepresentable, Severity::Warning);
        let path = format!("messages[{message}].parts[{part}]");
        self.diagnostics.push(Diagnostic::new(code, severity, path, why));
    }

    /// Returns the id if it may be written: the provider accepts each id once.
    fn fresh(&mut self, id: Option<&'a Json>) -> Option<&'a Json> {
        id.filter(|id| !self.is_for_sending() || self.ids.insert(id.as_str()))
    }

    /// Writes the message at this position.
    pub(super) fn message(&mut self, message: &'a Message, index: usize) {
        self.position = [index, 0];
        match message.role {
            Role::Assistant => self.assistant(message),
            Role::User | Role::Tool => self.application_message(message, "user"),
            Role::System
                if message.metadata.get(ROLE).and_then(Json::to_text).as_deref()
                    == Some("developer") =>
            {
                self.application_message(message, "developer");
            }
            Role::System => self.application_message(message, "system"),
        }
    }

    /// Writes a message of the application: content in messages of its own, results as items before
    /// it.
    fn application_message(&mut self, message: &'a Message, role: &'static str) {
        let mut content = Vec::new();
        for (i, part) in message.parts.iter().enumerate() {
            self.position[1] = i;
            match part {
                Part::ToolResult(result) => self.result(result),
                Part::Opaque(block) if self.may_send(block) => {
                    self.write_message(role, &mut content);
                    self.out.push(ItemOut::Opaque(&block.value));
                }
                _ => content.extend(self.content(part)),
            }
        }
        self.write_message(role, &mut content);
    }

    /// Writes the collected content as a message.
    fn write_message(&mut self, role: &'static str, content: &mut Vec<OutPart<'a>>) {
        if !content.is_empty() {
            let content = simplest_content(std::mem::take(content));
            self.out.push(ItemOut::Message(OutMessage {
                kind: None,
                id: None,
                role,
                status: None,
                phase: None,
                content,
            }));
        }
    }

    fn assistant(&mut self, message: &'a Message) {
        let mut turn = Turn { thoughts: Vec::new(), open: None };
        for (i, part) in message.parts.iter().enumerate() {
            self.position[1] = i;
            match part {
                Part::Text(text) => self.assistant_text(text, &mut turn),
                Part::Reasoning(thought) => {
                    turn.thoughts.extend(self.thought(thought).map(|out| (i, out)))
                }
                Part::ToolCall(call) => {
                    turn.flush(&mut self.out);
                    self.call(call);
                }
                Part::ToolResult(result) => self.result(result),
                Part::Opaque(block) if opaque::is_content(block) && turn.open.is_some() => {
                    if let Some(parts) = self.open_parts() {
                        parts.push(OutPart::Opaque(&block.value));
                    }
                }
                Part::Opaque(block) if self.may_send(block) => {
                    turn.flush(&mut self.out);
                    self.out.push(ItemOut::Opaque(&block.value));
                }
                _ => self.report_omitted(omission_reason(
                    part,
                    "an assistant message holds no media here",
                )),
            }
        }
        if !self.is_for_sending() {
            turn.flush(&mut self.out);
        }
        for (i, _) in turn.thoughts {
            self.position[1] = i;
            self.report_omitted(
                "a thought is sent only with the item that follows it, and none does",
            );
        }
    }

    /// Returns the content of the message item that was written last.
    fn open_parts(&mut self) -> Option<&mut Vec<OutPart<'a>>> {
        match self.out.last_mut() {
            Some(ItemOut::Message(OutMessage { content: OutContent::Parts(parts), .. })) => {
                Some(parts)
            }
            _ => None,
        }
    }

    fn assistant_text(&mut self, text: &'a Text, turn: &mut Turn<'a>) {
        let metadata = PartMetadata::of(&text.metadata);
        let id = metadata.id;
        let output = output(text, &metadata, self.is_for_sending());
        if id.is_some()
            && turn.open == id
            && turn.thoughts.is_empty()
            && let Some(parts) = self.open_parts()
        {
            parts.push(output);
            return;
        }
        let id = self.fresh(id);
        if id.is_none() && self.is_for_sending() && text.text.is_blank() {
            return;
        }
        turn.flush(&mut self.out);
        turn.open = id;
        let phase = metadata.phase;
        let role = "assistant";
        // The provider wants the whole form of an item that it knows. Any other text is written as
        // a plain text of the assistant.
        self.out.push(ItemOut::Message(match id {
            Some(id) => OutMessage {
                kind: Some("message"),
                id: Some(id),
                role,
                status: Some(
                    metadata.status.map_or(ValueOut::Fixed("completed"), ValueOut::Source),
                ),
                phase,
                content: OutContent::Parts(vec![output]),
            },
            None => {
                let content = OutContent::Text(Cow::Borrowed(&text.text));
                OutMessage { kind: None, id: None, role, status: None, phase, content }
            }
        }));
    }

    fn call(&mut self, call: &'a ToolCall) {
        let metadata = PartMetadata::of(&call.metadata);
        let custom = metadata.is_custom;
        if custom || metadata.caller.is_some() {
            self.special.insert(&call.id, metadata);
        }
        let written = match call.input.as_written() {
            "" if self.is_for_sending() && !custom => "{}",
            written => written,
        };
        let id = self.fresh(metadata.id);
        self.out.push(ItemOut::Call(OutCall {
            kind: if custom { "custom_tool_call" } else { "function_call" },
            id,
            call_id: &call.id,
            namespace: metadata.namespace,
            name: &call.name,
            arguments: (!custom).then_some(written),
            input: custom.then_some(written),
            caller: metadata.caller,
            // When sending, only function calls have a status.
            status: metadata.status.filter(|_| !(custom && self.is_for_sending())),
        }));
    }

    /// Writes a part of the application's content or of a tool result.
    fn content(&mut self, part: &'a Part) -> Option<OutPart<'a>> {
        let why = match part {
            Part::Text(text) if self.is_for_sending() && text.text.is_blank() => return None,
            Part::Text(text) => {
                return Some(input_text(
                    Cow::Borrowed(&text.text),
                    PartMetadata::of(&text.metadata).breakpoint,
                ));
            }
            Part::Opaque(block) if opaque::is_content(block) => {
                return Some(OutPart::Opaque(&block.value));
            }
            Part::Image(image) => match media::image(image, self.is_for_sending()) {
                Ok(image) => return Some(image),
                Err(why) => why,
            },
            Part::Document(file) => match media::file(file, self.is_for_sending()) {
                Ok(file) => return Some(file),
                Err(why) => why,
            },
            Part::Audio(audio) => match media::audio(audio).filter(|_| !self.is_for_sending()) {
                Some(audio) => return Some(audio),
                None => "the provider takes no audio",
            },
            _ => omission_reason(part, "the form has no such part"),
        };
        self.report_omitted(why);
        None
    }

    /// Returns whether an item of Responses is written. When sending, an item is left out if it is
    /// already there, or has neither type nor id.
    fn may_send(&mut self, block: &'a OpaqueBlock) -> bool {
        let is_new = |ids: &mut HashSet<&'a str>| opaque::id(block).is_none_or(|id| ids.insert(id));
        opaque::is_item(block)
            && (!self.is_for_sending() || (opaque::is_named(block) && is_new(&mut self.ids)))
    }
}

/// The state of writing one assistant message.
struct Turn<'a> {
    /// Thoughts that wait for the item they belong to.
    thoughts: Vec<(usize, ItemOut<'a>)>,
    /// The id of the message item that was written last.
    open: Option<&'a Json>,
}

impl<'a> Turn<'a> {
    /// Writes the pending thoughts, in front of their item.
    fn flush(&mut self, out: &mut Vec<ItemOut<'a>>) {
        self.open = None;
        out.extend(self.thoughts.drain(..).map(|(_, thought)| thought));
    }
}

fn omission_reason(part: &Part, otherwise: &'static str) -> &'static str {
    match part {
        Part::Opaque(block) => opaque::omission_reason(block),
        Part::Reasoning(_) => "only an assistant message holds thoughts",
        Part::Data(_) => "data of the application",
        _ => otherwise,
    }
}

/// Returns the content: a text if there is only one, otherwise a list.
fn simplest_content(mut parts: Vec<OutPart<'_>>) -> OutContent<'_> {
    match parts.pop() {
        Some(OutPart::Text { text, prompt_cache_breakpoint: None, .. }) if parts.is_empty() => {
            OutContent::Text(text)
        }
        last => {
            parts.extend(last);
            OutContent::Parts(parts)
        }
    }
}

fn input_text<'a>(
    text: Cow<'a, JsonString>,
    prompt_cache_breakpoint: Option<&'a Json>,
) -> OutPart<'a> {
    OutPart::Text { kind: "input_text", text, prompt_cache_breakpoint }
}

/// Writes a text part of the assistant.
fn output<'a>(text: &'a Text, metadata: &PartMetadata<'a>, is_for_sending: bool) -> OutPart<'a> {
    if metadata.is_refusal {
        return OutPart::Refusal { kind: "refusal", refusal: &text.text };
    }
    OutPart::Output {
        kind: "output_text",
        annotations: metadata.annotations.map_or(Annotations::None([]), Annotations::Source),
        logprobs: metadata.logprobs.filter(|_| !is_for_sending),
        text: &text.text,
    }
}
