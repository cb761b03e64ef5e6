//! Lowering of messages. Never fails: content that the form cannot hold is left out, with a
//! diagnostic.

use std::borrow::Cow;

use context_core::message::{Media, Text};

use context_codec_kit::wire::{MediaFault, media_kind, truth};
use context_core::base::{DiagnosticCode, Severity};
use context_core::{
    Diagnostic, Json, JsonString, Message, Metadata, Part, Role, ToolCall, ToolResult,
};

use super::form::{CallForm, Content, CustomForm, FunctionForm, KnownPart, MessageForm, PartForm};
use super::part_kinds::PartKinds;
use super::result_media::{ResultMedia, result_media};
use super::{
    ANNOTATIONS, BREAKPOINT, LEGACY, NAME, PROVIDER, REASONING, REFUSAL, ROLE, TYPE, media,
    result_media,
};
use crate::shared::{PartOut, mark_failed, note_omitted};

/// The target of a written message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// For the provider: current keys only.
    Send,
    /// For the source: legacy calls, names of tools and reasoning as well.
    Source {
        /// Whether a single text is written as a list of parts.
        as_parts: bool,
    },
}

/// Writes messages in order.
pub(super) struct Writer<'a> {
    mode: Mode,
    /// The position of the current message, if it is one of a list.
    position: Option<usize>,
    /// Media of results, to be written before the next message that is not a result.
    result_media: Vec<ResultMedia<'a>>,
    pub(super) written: Vec<MessageForm<'a>>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(mode: Mode) -> Self {
        Self {
            mode,
            position: None,
            result_media: Vec::new(),
            written: Vec::new(),
            diagnostics: Vec::new(),
        }
    }

    /// Writes the message at a position of a list.
    pub(super) fn message_at(&mut self, position: usize, message: &'a Message) {
        self.position = Some(position);
        self.message(message);
    }

    pub(super) fn message(&mut self, message: &'a Message) {
        // Results first: they answer calls before this message.
        if message.role == Role::Tool
            || message.parts.iter().any(|part| matches!(part, Part::ToolResult(_)))
        {
            for (i, part) in message.parts.iter().enumerate() {
                match part {
                    Part::ToolResult(result) => self.result(result, i),
                    _ if message.role == Role::Tool => {
                        self.report_omitted(i, "a tool message holds only results")
                    }
                    _ => {}
                }
            }
        }
        let form = match message.role {
            Role::System => self.content_message(message, system_role(&message.metadata)),
            Role::User => self.content_message(message, "user"),
            Role::Assistant => self.assistant(message),
            Role::Tool => None,
        };
        if let Some(form) = form {
            self.write_result_media();
            self.written.push(form);
        }
    }

    /// Writes the system prompt, in front of everything.
    pub(super) fn system(&mut self, texts: impl Iterator<Item = &'a Text>) {
        let texts: Vec<_> = texts.collect();
        let Some(first) = texts.first() else { return };
        let role = system_role(&first.metadata);
        let part = |text: &&'a Text| {
            let (text, mark) = (Cow::Borrowed(&text.text), text.metadata.get(BREAKPOINT));
            KnownPart {
                kind: "text",
                text: Some(text),
                prompt_cache_breakpoint: mark,
                ..KnownPart::default()
            }
        };
        let content = Some(self.content(texts.iter().map(part).map(PartForm::Known).collect()));
        self.written.push(MessageForm { role, content, ..MessageForm::default() });
    }

    /// Writes the media that are still pending, at the end of the list.
    pub(super) fn end(&mut self) {
        self.write_result_media();
    }

    /// Writes the media of results after all results of the turn: no message may stand between
    /// results.
    fn write_result_media(&mut self) {
        if !self.result_media.is_empty() {
            let content =
                Some(Content::Parts(result_media::content(std::mem::take(&mut self.result_media))));
            self.written.push(MessageForm { role: "user", content, ..MessageForm::default() });
        }
    }

    fn report_omitted(&mut self, index: usize, why: &str) {
        let path = match self.position {
            Some(position) => format!("messages[{position}].parts[{index}]"),
            None => format!("parts[{index}]"),
        };
        let code = DiagnosticCode::Unrepresentable;
        self.diagnostics.push(Diagnostic::new(
            code,
            Severity::Warning,
            path,
            format!("left out: {why}"),
        ));
    }

    fn for_source(&self) -> bool {
        self.mode != Mode::Send
    }

    fn as_parts(&self) -> bool {
        self.mode == Mode::Source { as_parts: true }
    }

    /// Writes a message of a role that has content and nothing else.
    fn content_message(
        &mut self,
        message: &'a Message,
        role: &'static str,
    ) -> Option<MessageForm<'a>> {
        if let Some(content) = self.one_text(&message.parts) {
            let (name, content) = (self.name(message), Some(content));
            return Some(MessageForm { role, name, content, ..MessageForm::default() });
        }
        let mut parts = Vec::new();
        for (i, part) in message.parts.iter().enumerate() {
            match part {
                Part::ToolResult(_) => {}
                Part::ToolCall(_) => self.report_omitted(i, "only an assistant calls tools"),
                _ => parts.extend(self.part(part, i, PartKinds::of(role, self.for_source()))),
            }
        }
        if parts.is_empty() && !message.parts.is_empty() {
            return None;
        }
        let content = Some(self.content(parts));
        Some(MessageForm { role, name: self.name(message), content, ..MessageForm::default() })
    }

    /// Returns the name of a participant, if the provider accepts it.
    fn name(&mut self, message: &'a Message) -> Option<Cow<'a, str>> {
        let name = message.metadata.get(NAME)?.to_text()?;
        let allowed = |c: char| !c.is_whitespace() && !matches!(c, '<' | '|' | '\\' | '/' | '>');
        let taken = !name.is_empty() && name.chars().count() <= 64 && name.chars().all(allowed);
        if taken || self.for_source() {
            return Some(name.into());
        }
        let path =
            self.position.map_or_else(String::new, |position| format!("messages[{position}]."));
        let (code, reason) = (DiagnosticCode::Unrepresentable, "left out: not a valid name");
        self.diagnostics.push(Diagnostic::new(
            code,
            Severity::Info,
            format!("{path}metadata.{NAME}"),
            reason,
        ));
        None
    }

    fn assistant(&mut self, message: &'a Message) -> Option<MessageForm<'a>> {
        let mut out = MessageForm { role: "assistant", ..MessageForm::default() };
        if let Some(content) = self.one_text(&message.parts) {
            out.content = Some(content);
            out.annotations = message.metadata.get(ANNOTATIONS).filter(|_| self.for_source());
            out.name = self.name(message);
            return Some(out);
        }
        let mut parts = Vec::new();
        let kinds = PartKinds::of("assistant", self.for_source());
        // There is only one `refusal` key. It is read after the content, so the last refusal is
        // written there, and others stay in their places.
        let is_refusal =
            |part: &Part| matches!(part, Part::Text(text) if is_marked(&text.metadata, REFUSAL));
        let last_refusal = message.parts.iter().rposition(is_refusal).filter(|_| !self.as_parts());
        for (i, part) in message.parts.iter().enumerate() {
            match part {
                Part::ToolResult(_) => {}
                Part::ToolCall(call) if self.for_source() && is_marked(&call.metadata, LEGACY) => {
                    out.function_call =
                        Some(FunctionForm { name: &call.name, arguments: call.input.as_written() });
                }
                Part::ToolCall(call) => out.tool_calls.push(self.tool_call(call)),
                Part::Text(text) if last_refusal == Some(i) => out.refusal = Some(&text.text),
                Part::Audio(audio) if out.audio.is_none() => {
                    out.audio = media::output_audio_form(audio, self.for_source());
                    if out.audio.is_none() {
                        parts.extend(self.part(part, i, kinds));
                    }
                }
                Part::Reasoning(thought) if self.for_source() => {
                    let newer = thought.metadata.get(REASONING).is_some();
                    *(if newer { &mut out.reasoning } else { &mut out.reasoning_content }) =
                        Some(&thought.text);
                }
                _ => parts.extend(self.part(part, i, kinds)),
            }
        }
        let calls = out.function_call.is_some() || !out.tool_calls.is_empty();
        let acts = calls || out.refusal.is_some() || out.audio.is_some();
        let thinks = out.reasoning.is_some() || out.reasoning_content.is_some();
        if parts.is_empty() && !acts && !thinks && !message.parts.is_empty() {
            return None;
        }
        out.content = match parts.is_empty() {
            // Some servers refuse null; no server needs a content besides calls.
            true if calls && !self.for_source() => None,
            true if acts => Some(Content::Null),
            _ => Some(self.content(parts)),
        };
        out.annotations = message.metadata.get(ANNOTATIONS).filter(|_| self.for_source());
        out.name = self.name(message);
        Some(out)
    }

    fn tool_call(&self, call: &'a ToolCall) -> CallForm<'a> {
        let written = call.input.as_written();
        if call.metadata.get(TYPE).is_some_and(|kind| kind.as_str() == "\"custom\"") {
            let custom = Some(CustomForm { name: &call.name, input: written });
            return CallForm { id: &call.id, kind: "custom", function: None, custom };
        }
        // Servers that parse the arguments refuse empty text.
        let arguments =
            if self.for_source() || !written.trim().is_empty() { written } else { "{}" };
        let function = Some(FunctionForm { name: &call.name, arguments });
        CallForm { id: &call.id, kind: "function", function, custom: None }
    }

    fn result(&mut self, result: &'a ToolResult, index: usize) {
        let (mut parts, mut media, mut lost) = (Vec::new(), Vec::new(), Vec::new());
        let text = self.one_text(&result.output).filter(|_| !result.is_error);
        let sends = !self.for_source();
        for part in result.output.iter().filter(|_| text.is_none()) {
            match (part, media_kind(part)) {
                (_, Some(kind)) if sends => match self.part(part, index, PartKinds::User) {
                    Some(form) => media.push((kind, form)),
                    None => lost.push(part),
                },
                // A tool's data is text to the model.
                (Part::Data(data), _) => {
                    parts.push(PartForm::of_text(Cow::Owned(data.value.as_str().into())))
                }
                (Part::Text(text), _)
                    if sends && result.output.len() > 1 && text.text.is_blank() => {}
                _ => match self.part(part, index, PartKinds::of("tool", self.for_source())) {
                    Some(form) => parts.push(form),
                    None => lost.push(part),
                },
            }
        }
        if !media.is_empty() {
            result_media::announce(&mut parts, &media);
            self.result_media.push(result_media(result, media));
        }
        if sends {
            note_omitted(&mut parts, &lost);
        }
        if result.is_error {
            mark_failed(&mut parts);
        }
        let legacy = self.for_source() && is_marked(&result.metadata, LEGACY);
        let content = Some(text.unwrap_or_else(|| self.content(parts)));
        let name = result.name.as_deref().filter(|_| self.for_source()).map(Cow::Borrowed);
        let (role, tool_call_id) =
            if legacy { ("function", None) } else { ("tool", Some(result.call_id.as_str())) };
        self.written.push(MessageForm {
            role,
            tool_call_id,
            name,
            content,
            ..MessageForm::default()
        });
    }

    /// Returns the content of a list that is a single text. Most are.
    fn one_text(&self, parts: &'a [Part]) -> Option<Content<'a>> {
        match parts {
            [Part::Text(text)] if text.metadata.is_empty() && !self.as_parts() => {
                Some(Content::Text(Cow::Borrowed(&text.text)))
            }
            _ => None,
        }
    }

    /// Returns the content: a text if there is only one, otherwise a list.
    fn content(&self, mut parts: Vec<PartForm<'a>>) -> Content<'a> {
        let single = match parts.as_mut_slice() {
            [] => Some(Cow::Owned(JsonString::default())),
            [PartForm::Known(KnownPart { text, prompt_cache_breakpoint: None, .. })]
                if !self.as_parts() =>
            {
                text.take()
            }
            _ => None,
        };
        match single {
            Some(text) if !self.as_parts() => Content::Text(text),
            _ => Content::Parts(parts),
        }
    }

    fn part(&mut self, part: &'a Part, index: usize, kinds: PartKinds) -> Option<PartForm<'a>> {
        let (known, why) = match part {
            Part::Text(text) if is_marked(&text.metadata, REFUSAL) && kinds.accept_refusals() => {
                let refusal = Some(&text.text);
                (Some(KnownPart { kind: "refusal", refusal, ..KnownPart::default() }), "")
            }
            Part::Text(text) => (known(PartForm::of_text(Cow::Borrowed(&text.text))), ""),
            Part::Opaque(block) if block.provider == PROVIDER => {
                return Some(PartForm::Raw(&block.value));
            }
            Part::Image(image) if kinds.accept_media() => {
                media_part(media::image_form(image, self.for_source()).map(|form| KnownPart {
                    kind: "image_url",
                    image_url: Some(form),
                    ..KnownPart::default()
                }))
            }
            Part::Audio(audio) if kinds.accept_media() => {
                media_part(media::sound_form(audio, self.for_source()).map(|form| KnownPart {
                    kind: "input_audio",
                    input_audio: Some(form),
                    ..KnownPart::default()
                }))
            }
            Part::Document(file) if kinds.accept_media() => {
                media_part(media::file_form(file, self.for_source()).map(|form| KnownPart {
                    kind: "file",
                    file: Some(Box::new(form)),
                    ..KnownPart::default()
                }))
            }
            Part::Image(_) | Part::Audio(_) | Part::Document(_) => {
                (None, "only a user message holds media")
            }
            Part::Reasoning(_) => (None, "reasoning is not sent back"),
            Part::Opaque(_) => (None, "a block of another provider"),
            Part::Data(_) => (None, "data of the application"),
            _ => (None, "the form has no such part"),
        };
        let Some(mut known) = known else {
            self.report_omitted(index, why);
            return None;
        };
        known.prompt_cache_breakpoint = mark(part);
        Some(PartForm::Known(known))
    }
}

/// Returns whether a sent message of this role can hold a part.
pub(super) fn carries(role: Role, part: &Part) -> bool {
    match part {
        Part::Text(_) | Part::ToolResult(_) => true,
        Part::ToolCall(_) => role == Role::Assistant,
        Part::Opaque(block) => block.provider == PROVIDER && role != Role::Tool,
        Part::Audio(audio) if role == Role::Assistant => {
            media::output_audio_form(audio, false).is_some()
        }
        Part::Image(image) => role == Role::User && media::image_form(image, false).is_ok(),
        Part::Audio(audio) => role == Role::User && media::sound_form(audio, false).is_ok(),
        Part::Document(file) => role == Role::User && media::file_form(file, false).is_ok(),
        _ => false,
    }
}

/// Returns the media part, or the reason why it is not sent.
fn media_part<'a>(
    form: Result<KnownPart<'a>, MediaFault>,
) -> (Option<KnownPart<'a>>, &'static str) {
    match form {
        Ok(part) => (Some(part), ""),
        Err(fault) => (None, fault.reason()),
    }
}

fn known(part: PartForm<'_>) -> Option<KnownPart<'_>> {
    match part {
        PartForm::Known(part) => Some(part),
        PartForm::Raw(_) => None,
    }
}

/// Returns the cache breakpoint that was read with a part.
fn mark(part: &Part) -> Option<&Json> {
    match part {
        Part::Text(text) => text.metadata.get(BREAKPOINT),
        Part::Image(Media { metadata, .. })
        | Part::Audio(Media { metadata, .. })
        | Part::Document(Media { metadata, .. }) => metadata.get(BREAKPOINT),
        _ => None,
    }
}

/// Returns the name of the system role, as it was read.
fn system_role(metadata: &Metadata) -> &'static str {
    match metadata.get(ROLE).map(Json::as_str) {
        Some("\"developer\"") => "developer",
        _ => "system",
    }
}

fn is_marked(metadata: &Metadata, key: &str) -> bool {
    !metadata.is_empty() && metadata.get(key) == Some(&truth())
}
