//! Lifting of messages. This module only reads; the module `residual` finds the lost values by
//! comparing.

use std::borrow::Cow;

use context_codec_kit::wire::{
    Lifted, json_string, raw_text, read_list, read_object, truth, wrong_type_of,
};
use context_core::base::{DiagnosticCode, Severity};
use context_core::message::{OpaqueBlock, Reasoning, Text, ToolInput};
use context_core::model::WireError;
use context_core::{Diagnostic, Message, Metadata, Part, Role, ToolCall, ToolResult};
use serde_json::value::RawValue;

use super::form::{CallIn, InnerIn, MessageIn, PartIn, json, need_json_string, need_text, text};
use super::{
    ANNOTATIONS, BREAKPOINT, LEGACY, NAME, PROVIDER, REASONING, REFUSAL, ROLE, TYPE, media,
};
use crate::body::has_only;

/// The roles of the wire form.
const ROLES: &str = "system, developer, user, assistant, tool, function";

/// Lifts a message without the difference to its source.
pub(super) fn message(original: &RawValue) -> Result<Lifted, WireError> {
    compared(original).map(|(lifted, _)| lifted)
}

/// Lifts a message, and returns whether it certainly holds all of its source, like most messages,
/// which have few keys.
pub(super) fn compared(original: &RawValue) -> Result<(Lifted, bool), WireError> {
    let form: MessageIn<'_> = read_object(original, "")?;
    let role = need_text(form.role, "role")?;
    let mut reader = Reader::default();
    let mut message = match &*role {
        "system" => reader.content_message(Role::System, &form)?,
        "developer" => reader
            .content_message(Role::System, &form)?
            .with_metadata(Metadata::default().with(ROLE, "developer")),
        "user" => reader.content_message(Role::User, &form)?,
        "assistant" => reader.assistant(&form)?,
        "tool" => Message::new(Role::Tool, [reader.result(&form)?]),
        "function" => Message::new(Role::Tool, [reader.legacy_result(&form)?]),
        _ => return Err(WireError::UnknownRole { role: role.into_owned(), known: ROLES }),
    };
    if message.role != Role::Tool
        && let Some(name) = text(form.name, "name")?
    {
        message.metadata.insert(NAME, &*name);
    }
    if message.is_placeholder() {
        // Marks a message that was empty, in contrast to one whose content is still to come.
        message.parts.push(Part::text(""));
    }
    let plain = is_plain(&form, reader.plain_calls, original);
    Ok((Lifted::new(message, reader.diagnostics), plain))
}

/// Returns whether a message has only its role, a text and, from a tool, the id of the call or,
/// from the assistant, calls. Most messages do.
fn is_plain(form: &MessageIn<'_>, plain_calls: bool, original: &RawValue) -> bool {
    let MessageIn { role: Some(role), content: Some(content), tool_call_id, tool_calls, .. } = form
    else {
        return false;
    };
    let text = ("content", *content);
    let is_whole = match (role.get(), tool_call_id, tool_calls) {
        (r#""tool""#, Some(id), None) => {
            has_only(original, [("role", role), text, ("tool_call_id", id)])
        }
        (r#""assistant""#, None, Some(calls)) => {
            plain_calls
                && content.get() != r#""""#
                && has_only(original, [("role", role), text, ("tool_calls", calls)])
        }
        (r#""user""# | r#""assistant""# | r#""system""# | r#""developer""#, None, None) => {
            has_only(original, [("role", role), text])
        }
        _ => false,
    };
    // Half a surrogate pair can only be written with an escape.
    is_whole && content.get().starts_with('"') && !original.get().contains("\\u")
}

/// Returns whether a call is one of a function, with only its name and its input.
fn is_plain_call(raw: &RawValue, call: &CallIn<'_>, function: &InnerIn<'_>) -> bool {
    let CallIn { id: Some(id), kind: Some(kind), function: Some(object), .. } = call else {
        return false;
    };
    let InnerIn { name: Some(name), arguments: Some(input), .. } = function else { return false };
    kind.get() == r#""function""#
        // Spaces around an object are not part of it.
        && input.get().starts_with("\"{")
        && input.get().ends_with("}\"")
        && has_only(object, [("name", name), ("arguments", input)])
        && has_only(raw, [("id", id), ("type", kind), ("function", object)])
}

/// Lifts the message of an answer. The server may leave its role out, and it may have no parts.
pub(super) fn answer(original: &RawValue) -> Result<Lifted, WireError> {
    let form: MessageIn<'_> = read_object(original, "")?;
    let mut reader = Reader::default();
    let message = reader.assistant(&form)?;
    Ok(Lifted::new(message, reader.diagnostics))
}

#[derive(Default)]
struct Reader {
    diagnostics: Vec<Diagnostic>,
    /// Whether there are calls and all of them are [plain](is_plain_call).
    plain_calls: bool,
}

impl Reader {
    fn note(&mut self, path: String, message: impl Into<String>) {
        let (code, severity) = (DiagnosticCode::Unrepresentable, Severity::Warning);
        self.diagnostics.push(Diagnostic::new(code, severity, path, message));
    }

    fn content_message(&mut self, role: Role, form: &MessageIn<'_>) -> Result<Message, WireError> {
        Ok(Message { role, parts: self.content(form.content)?, metadata: Metadata::default() })
    }

    fn assistant(&mut self, form: &MessageIn<'_>) -> Result<Message, WireError> {
        let mut parts = Vec::new();
        parts.extend(thought(form)?);
        let calls = form.tool_calls.map(|calls| read_list(calls, "tool_calls")).transpose()?;
        let call_part =
            calls.as_ref().is_some_and(|calls| !calls.is_empty()) || form.function_call.is_some();
        let refusal = text(form.refusal, "refusal")?;
        match form.content.map(RawValue::get) {
            // Providers write an empty text besides calls where they mean no text.
            Some("\"\"") if call_part || refusal.is_some() => {}
            _ => parts.extend(self.content(form.content)?),
        }
        parts.extend(refusal.map(|text| refused(text.into_owned())));
        parts.extend(form.audio.map(output_audio).transpose()?);
        self.plain_calls = calls.as_ref().is_some_and(|calls| !calls.is_empty());
        for (i, call) in calls.into_iter().flatten().enumerate() {
            let (part, plain) =
                tool_call(call).map_err(|error| error.within(&format!("tool_calls[{i}]")))?;
            self.plain_calls &= plain;
            parts.push(part);
        }
        if let Some(call) = form.function_call {
            let call: InnerIn<'_> = read_object(call, "function_call")?;
            let name =
                need_text(call.name, "name").map_err(|error| error.within("function_call"))?;
            let input = input(call.arguments, "function_call.arguments")?;
            parts.push(legacy_call(name.into_owned(), input));
        }
        let mut message = Message { role: Role::Assistant, parts, metadata: Metadata::default() };
        if let Some(notes) = form.annotations.filter(|notes| notes.get() != "[]") {
            message.metadata.insert(ANNOTATIONS, json(notes));
        }
        Ok(message)
    }

    fn result(&mut self, form: &MessageIn<'_>) -> Result<Part, WireError> {
        let call_id = match text(form.tool_call_id, "tool_call_id")? {
            Some(id) => id,
            // Some agents write a list instead.
            None => {
                let missing = || WireError::Missing { path: "tool_call_id".to_owned() };
                let ids = read_list(form.tool_call_ids.ok_or_else(missing)?, "tool_call_ids")?;
                if ids.len() > 1 {
                    self.note(
                        "tool_call_ids".to_owned(),
                        "one result for several calls: it names the first",
                    );
                }
                ids.first().and_then(|id| raw_text(id)).ok_or_else(missing)?
            }
        };
        Ok(Part::ToolResult(ToolResult {
            call_id: call_id.into_owned(),
            name: text(form.name, "name")?.map(Cow::into_owned),
            output: self.content(form.content)?,
            is_error: false,
            metadata: Metadata::default(),
        }))
    }

    fn legacy_result(&mut self, form: &MessageIn<'_>) -> Result<Part, WireError> {
        let name = need_text(form.name, "name")?.into_owned();
        Ok(Part::ToolResult(ToolResult {
            call_id: legacy_id(&name),
            name: Some(name),
            output: self.content(form.content)?,
            is_error: false,
            metadata: Metadata::default().with(LEGACY, truth()),
        }))
    }

    fn content(&mut self, content: Option<&RawValue>) -> Result<Vec<Part>, WireError> {
        let Some(content) = content else { return Ok(Vec::new()) };
        if let Some(text) = json_string(content) {
            return Ok(vec![Part::text(text)]);
        }
        if !content.get().starts_with('[') {
            return Err(wrong_type_of(content, "content", "a string or a list of parts"));
        }
        let items = read_list(content, "content")?;
        let part = |(i, item)| self.part(item, i).map_err(|e| e.within(&format!("content[{i}]")));
        items.into_iter().enumerate().map(part).collect()
    }

    fn part(&mut self, raw: &RawValue, index: usize) -> Result<Part, WireError> {
        let form: PartIn<'_> = read_object(raw, "")?;
        let kind = need_text(form.kind, "type")?;
        let known = match &*kind {
            "text" => Some(Part::text(need_json_string(form.text, "text")?)),
            "refusal" => Some(refused(need_text(form.refusal, "refusal")?.into_owned())),
            "image_url" => Some(Part::Image(
                media::image(&inner(form.image_url, "image_url")?)
                    .map_err(|e| e.within("image_url"))?,
            )),
            "input_audio" => Some(Part::Audio(
                media::sound(&inner(form.input_audio, "input_audio")?)
                    .map_err(|e| e.within("input_audio"))?,
            )),
            "file" => media::document(&inner(form.file, "file")?)
                .map_err(|e| e.within("file"))?
                .map(Part::Document),
            _ => None,
        };
        let Some(mut part) = known else {
            self.note(
                format!("content[{index}]"),
                format!("a part of type {kind:?} is kept for its provider only"),
            );
            return Ok(Part::Opaque(OpaqueBlock {
                provider: PROVIDER.to_owned(),
                value: json(raw),
            }));
        };
        if let Some(mark) = form.prompt_cache_breakpoint
            && let Some(metadata) = metadata_of(&mut part)
        {
            metadata.insert(BREAKPOINT, json(mark));
        }
        Ok(part)
    }
}

/// Returns the object of a required key.
fn inner<'a>(raw: Option<&'a RawValue>, key: &str) -> Result<InnerIn<'a>, WireError> {
    read_object(raw.ok_or_else(|| WireError::Missing { path: key.to_owned() })?, key)
}

fn metadata_of(part: &mut Part) -> Option<&mut Metadata> {
    match part {
        Part::Text(text) => Some(&mut text.metadata),
        Part::Image(media) | Part::Audio(media) | Part::Document(media) => {
            Some(&mut media.metadata)
        }
        _ => None,
    }
}

/// Returns the model's thought: under the one key or, in newer servers, the other.
fn thought(form: &MessageIn<'_>) -> Result<Option<Part>, WireError> {
    if let Some(text) =
        text(form.reasoning_content, "reasoning_content")?.filter(|text| !text.is_empty())
    {
        return Ok(Some(reasoning(text.into_owned(), false)));
    }
    // Some servers write an object of settings here.
    let text = form.reasoning.and_then(raw_text).filter(|text| !text.is_empty());
    Ok(text.map(|text| reasoning(text.into_owned(), true)))
}

/// Creates a thought. `newer`: it was written under the newer key.
pub(super) fn reasoning(text: String, newer: bool) -> Part {
    let metadata =
        if newer { Metadata::default().with(REASONING, "reasoning") } else { Metadata::default() };
    Part::Reasoning(Reasoning { text: text.into(), metadata, ..Reasoning::default() })
}

pub(super) fn refused(text: String) -> Part {
    Part::Text(Text { text: text.into(), metadata: Metadata::default().with(REFUSAL, truth()) })
}

fn output_audio(audio: &RawValue) -> Result<Part, WireError> {
    let audio: InnerIn<'_> = read_object(audio, "audio")?;
    media::lift_output_audio(&audio).map(Part::Audio).map_err(|error| error.within("audio"))
}

/// Returns the id of a legacy call and its answer, which refer to each other by the function's name
/// only.
pub(super) fn legacy_id(name: &str) -> String {
    format!("function_{name}")
}

pub(super) fn legacy_call(name: String, input: ToolInput) -> Part {
    let (id, metadata) = (legacy_id(&name), Metadata::default().with(LEGACY, truth()));
    Part::ToolCall(ToolCall { id, name, input, metadata })
}

/// Returns the exact text of the arguments. Some programs write the object itself.
fn input(arguments: Option<&RawValue>, path: &str) -> Result<ToolInput, WireError> {
    let Some(raw) = arguments else { return Ok(ToolInput::Invalid(String::new())) };
    match raw_text(raw) {
        Some(text) => Ok(ToolInput::from_written(text)),
        None if raw.get().starts_with('{') => Ok(ToolInput::Json(json(raw))),
        None => Err(wrong_type_of(raw, path, "a string")),
    }
}

/// Lifts a call, and returns whether it is plain.
fn tool_call(raw: &RawValue) -> Result<(Part, bool), WireError> {
    let call: CallIn<'_> = read_object(raw, "")?;
    let custom = call.kind.and_then(raw_text).as_deref() == Some("custom");
    let (key, object) = if custom { ("custom", call.custom) } else { ("function", call.function) };
    let object = inner(object, key)?;
    let plain = !custom && is_plain_call(raw, &call, &object);
    let name = need_text(object.name, "name").map_err(|error| error.within(key))?.into_owned();
    let input = if custom {
        input(object.input, "custom.input")
    } else {
        input(object.arguments, "function.arguments")
    }?;
    // Some servers give no id.
    let id = text(call.id, "id")?.unwrap_or_default().into_owned();
    Ok((call_part(id, name, input, custom), plain))
}

/// Creates a call. `custom`: its input is free text.
pub(super) fn call_part(id: String, name: String, input: ToolInput, custom: bool) -> Part {
    let metadata =
        if custom { Metadata::default().with(TYPE, "custom") } else { Metadata::default() };
    Part::ToolCall(ToolCall { id, name, input, metadata })
}
