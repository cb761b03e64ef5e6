//! Lifting of one UIMessage to messages.

use std::mem::take;

use context_codec_kit::wire::{from_map, null, truth};
use context_core::base::{DiagnosticCode, JsonMap, Severity};
use context_core::message::{Data, OpaqueBlock, Text, ToolInput};
use context_core::model::WireError;
use context_core::{Diagnostic, Json, Message, Metadata, Part, Role, ToolCall, ToolResult};
use serde_json::value::RawValue;

use super::form::{self, Entries, JsonPath, MessageForm, is_object, json, list, raw_parts};
use super::providers::{self, OF_CALL, OF_PART};
use super::write::{APPROVAL, TOOL, TOOL_RAW};
use super::{
    CONTENT_KEY, CONTINUES_KEY, DATA_KEY, DENIED_KEY, DYNAMIC_KEY, ID_KEY, MESSAGE_KEY,
    METADATA_KEY, PROVIDER, STEPS_KEY, media, output, thought,
};

/// The roles of the wire form.
const ROLES: &str = "system, user, assistant";
/// The text of a denied result that has no text of its own.
const DENIED: &str = "The user denied this call.";

/// Lifts the messages, without the difference to their source.
pub(super) fn plain(
    raw: &RawValue,
    path: &JsonPath<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<Vec<Message>, WireError> {
    let MessageForm { entries, has_parts, parts } = MessageForm::read(raw, path)?;
    let role = match &*entries.need_text("role", path)? {
        "system" => Role::System,
        "user" => Role::User,
        "assistant" => Role::Assistant,
        role => return Err(WireError::UnknownRole { role: role.to_owned(), known: ROLES }),
    };
    let mut reader = Reader {
        role,
        raw,
        raw_parts: None,
        step: Step::default(),
        steps: Vec::new(),
        diagnostics,
    };
    match parts {
        Some(parts) => reader.parts(&parts, path)?,
        None => reader.version_4_parts(&entries, path)?,
    }
    let Reader { step, mut steps, .. } = reader;
    if !step.parts.is_empty() || steps.is_empty() {
        steps.push(step);
    }
    let mut messages = Vec::with_capacity(steps.len() * 2);
    for (index, step) in steps.into_iter().enumerate() {
        step.into_messages(role, index, &mut messages);
    }
    mark(&mut messages, &entries, has_parts);
    Ok(messages)
}

/// Marks messages as those of one UIMessage.
fn mark(messages: &mut [Message], entries: &Entries<'_>, has_parts: bool) {
    let Some((first, others)) = messages.split_first_mut() else { return };
    let metadata = &mut first.metadata;
    metadata.insert(ID_KEY, entries.value("id").map_or_else(null, json));
    if let Some(value) = entries.value("metadata") {
        metadata.insert(METADATA_KEY, json(value));
    }
    if let Some(rest) = entries.rest(&["id", "role", "metadata", "parts", "content"]) {
        metadata.insert(MESSAGE_KEY, rest);
    }
    if entries.maybe_text("content").is_some() {
        let is_alone = !has_parts && others.is_empty() && first.parts.len() == 1;
        metadata.insert(CONTENT_KEY, if is_alone { "alone" } else { "beside" });
    }
    for message in others {
        message.metadata.insert(CONTINUES_KEY, truth());
    }
}

/// The content between two `step-start`.
#[derive(Default)]
struct Step {
    /// The number of `step-start` before it.
    starts: u32,
    parts: Vec<Part>,
    results: Vec<Part>,
    /// Other keys of data parts, by index.
    data: JsonMap,
}

impl Step {
    fn into_messages(self, role: Role, index: usize, messages: &mut Vec<Message>) {
        let mut message = Message::new(role, self.parts);
        if message.is_placeholder() {
            // Marks a message that was empty, in contrast to one whose content is still to come.
            message.parts.push(Part::text(""));
        }
        if self.starts != u32::from(index > 0) {
            message.metadata.insert(STEPS_KEY, i64::from(self.starts));
        }
        if !self.data.is_empty() {
            message.metadata.insert(DATA_KEY, from_map(&self.data));
        }
        messages.push(message);
        if !self.results.is_empty() {
            messages.push(Message::new(Role::Tool, self.results));
        }
    }
}

struct Reader<'a, 'd> {
    role: Role,
    /// The UIMessage.
    raw: &'a RawValue,
    /// Its parts as they were written, read once one of them is kept.
    raw_parts: Option<Vec<&'a RawValue>>,
    step: Step,
    steps: Vec<Step>,
    diagnostics: &'d mut Vec<Diagnostic>,
}

impl Reader<'_, '_> {
    fn parts(&mut self, parts: &[Entries<'_>], path: &JsonPath<'_>) -> Result<(), WireError> {
        let path = path.key("parts");
        for (i, part) in parts.iter().enumerate() {
            if !self.part(part, &path.item(i))? {
                let whole = match self.raw_parts.take() {
                    Some(whole) => whole,
                    None => raw_parts(self.raw, &JsonPath::Top)?,
                };
                self.step.parts.extend(whole.get(i).map(|part| opaque_part(part)));
                self.raw_parts = Some(whole);
            }
        }
        Ok(())
    }

    /// Lifts the keys of a UIMessage from versions before `parts`.
    fn version_4_parts(
        &mut self,
        message: &Entries<'_>,
        path: &JsonPath<'_>,
    ) -> Result<(), WireError> {
        if let Some(calls) = message.get("toolInvocations").filter(|_| self.role == Role::Assistant)
        {
            let path = path.key("toolInvocations");
            for (i, call) in list(calls, &path)?.into_iter().enumerate() {
                let path = path.item(i);
                if !self.invocation(&Entries::read(call, &path)?, &path)? {
                    self.note_unknown(&path, "a call in a state that is not known");
                    self.step.parts.push(opaque_part(call));
                }
            }
        }
        let content = message
            .text("content", path)?
            .filter(|text| !text.is_empty() || self.step.parts.is_empty());
        self.step.parts.extend(content.map(Part::text));
        Ok(())
    }

    /// Lifts a part; returns `false` if it is to be kept as it was written.
    fn part(&mut self, part: &Entries<'_>, path: &JsonPath<'_>) -> Result<bool, WireError> {
        let kind = part.need_text("type", path)?;
        let answers = self.role == Role::Assistant;
        match &*kind {
            "step-start" if answers => {
                if !self.step.parts.is_empty() {
                    self.steps.push(take(&mut self.step));
                }
                self.step.starts = self.step.starts.saturating_add(1);
                return Ok(true);
            }
            "text" => {
                let text = part.need_text("text", path)?.into_owned();
                let metadata = if part.has_only_done(&["type", "text"]) {
                    providers::done()
                } else {
                    let mut metadata = Metadata::default();
                    let rest = providers::rest(
                        part,
                        &["type", "text"],
                        OF_PART,
                        &mut metadata,
                        |_, _, _| false,
                    );
                    providers::with_rest(metadata, &rest)
                };
                self.step.parts.push(Part::Text(Text { text: text.into(), metadata }));
                return Ok(true);
            }
            "reasoning" if answers => {
                self.step.parts.push(thought::lift(part, path)?);
                return Ok(true);
            }
            "file" => {
                self.step.parts.push(media::lift(part, path)?);
                return Ok(true);
            }
            "tool-invocation" if answers && part.get("toolInvocation").is_some_and(is_object) => {
                let path = path.key("toolInvocation");
                if let Some(call) = part.get("toolInvocation")
                    && self.invocation(&Entries::read(call, &path)?, &path)?
                {
                    return Ok(true);
                }
            }
            "dynamic-tool" if answers => {
                let name = part.need_text("toolName", path)?;
                if self.tool(part, &name, true, path)? {
                    return Ok(true);
                }
            }
            "source-url" | "source-document" => {
                return Ok(false);
            }
            _ => {
                if let Some(name) = kind.strip_prefix("data-") {
                    self.data(part, name);
                    return Ok(true);
                }
                if let Some(name) = kind.strip_prefix("tool-").filter(|_| answers)
                    && self.tool(part, name, false, path)?
                {
                    return Ok(true);
                }
            }
        }
        self.note_unknown(path, &format!("a part of type {kind:?}"));
        Ok(false)
    }

    fn data(&mut self, part: &Entries<'_>, name: &str) {
        if let Some(rest) = part.rest(&["type", "data"]) {
            self.step.data.insert(self.step.parts.len().to_string(), rest);
        }
        let value = part.value("data").map_or_else(null, json);
        self.step.parts.push(Part::Data(Data { name: name.to_owned(), value }));
    }

    fn note_unknown(&mut self, path: &JsonPath<'_>, subject: &str) {
        let reason = format!("{subject} is kept for this form only");
        let (code, severity) = (DiagnosticCode::Unrepresentable, Severity::Warning);
        self.diagnostics.push(Diagnostic::new(code, severity, path.to_string(), reason));
    }

    /// Lifts a part of a tool; returns `false` without any effect if its state is unknown.
    fn tool(
        &mut self,
        part: &Entries<'_>,
        name: &str,
        dynamic: bool,
        path: &JsonPath<'_>,
    ) -> Result<bool, WireError> {
        let state = part.need_text("state", path)?;
        let result = match &*state {
            "input-streaming" => {
                // An incomplete input is of no use to a model.
                let streaming = part.iter().map(|(key, value)| (key.to_owned(), json(value)));
                let value = from_map(&streaming.collect());
                self.step
                    .parts
                    .push(Part::Opaque(OpaqueBlock { provider: PROVIDER.to_owned(), value }));
                return Ok(true);
            }
            "input-available" => None,
            state if APPROVAL.contains(&state) => None,
            "output-available" => {
                Some((part.value("output").map_or_else(Vec::new, output::lift), Outcome::Good))
            }
            "output-error" => {
                let text = part.text("errorText", path)?.unwrap_or_default();
                Some((vec![Part::text(text)], Outcome::Failed))
            }
            "output-denied" => {
                let approval = part.get("approval").and_then(Entries::maybe);
                let reason =
                    approval.and_then(|approval| Some(approval.maybe_text("reason")?.into_owned()));
                Some((
                    vec![Part::text(reason.unwrap_or_else(|| DENIED.to_owned()))],
                    Outcome::Denied,
                ))
            }
            _ => return Ok(false),
        };
        let call_id = part.need_text("toolCallId", path)?.into_owned();
        let (input, from_raw) = input(part);
        let known: &[&str] = if from_raw { &TOOL_RAW } else { &TOOL };
        let mut metadata = Metadata::default();
        let mut rest = providers::rest(part, known, OF_CALL, &mut metadata, |_, _, _| false);
        if let Some(state) = part.value("state").filter(|_| APPROVAL.contains(&&*state)) {
            // In the order in which it is written.
            rest.shift_insert(0, "state".to_owned(), json(state));
        }
        let mut metadata = providers::with_rest(metadata, &rest);
        if dynamic {
            metadata.insert(DYNAMIC_KEY, truth());
        }
        self.call(call_id, name, input, metadata, result);
        Ok(true)
    }

    /// Lifts a call of version 4; returns `false` without any effect if its state is unknown.
    fn invocation(&mut self, call: &Entries<'_>, path: &JsonPath<'_>) -> Result<bool, WireError> {
        let result = match &*call.need_text("state", path)? {
            "call" => None,
            "result" => {
                Some((call.value("result").map_or_else(Vec::new, output::lift), Outcome::Good))
            }
            _ => return Ok(false),
        };
        let (id, name) = (call.need_text("toolCallId", path)?, call.need_text("toolName", path)?);
        let input = call.value("args").map_or_else(empty, json);
        self.call(id.into_owned(), &name, ToolInput::Json(input), Metadata::default(), result);
        Ok(true)
    }

    fn call(
        &mut self,
        id: String,
        name: &str,
        input: ToolInput,
        metadata: Metadata,
        result: Option<(Vec<Part>, Outcome)>,
    ) {
        if let Some((output, outcome)) = result {
            let mut metadata = Metadata::default();
            if outcome == Outcome::Denied {
                metadata.insert(DENIED_KEY, truth());
            }
            self.step.results.push(Part::ToolResult(ToolResult {
                call_id: id.clone(),
                name: Some(name.to_owned()),
                output,
                is_error: outcome != Outcome::Good,
                metadata,
            }));
        }
        self.step.parts.push(Part::ToolCall(ToolCall {
            id,
            name: name.to_owned(),
            input,
            metadata,
        }));
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Good,
    Failed,
    Denied,
}

/// Creates an opaque part, which no model gets.
fn opaque_part(raw: &RawValue) -> Part {
    Part::Opaque(OpaqueBlock { provider: PROVIDER.to_owned(), value: json(raw) })
}

fn empty() -> Json {
    from_map(&JsonMap::default())
}

/// Returns the input of a call, and whether it is the raw one. A text that is not JSON is what the
/// model wrote instead of JSON.
fn input(part: &Entries<'_>) -> (ToolInput, bool) {
    let (value, from_raw) = match (part.get("input"), part.get("rawInput")) {
        (None, Some(raw)) => (Some(raw), true),
        (input, _) => (input.or_else(|| part.value("input")), false),
    };
    let Some(value) = value else { return (ToolInput::Json(empty()), false) };
    let input = match form::text(value) {
        Some(text) if Json::from_text(text.as_ref()).is_err() => {
            ToolInput::Invalid(text.into_owned())
        }
        _ => ToolInput::Json(json(value)),
    };
    (input, from_raw)
}
