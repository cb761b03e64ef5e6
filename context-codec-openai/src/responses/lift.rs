//! Lifting of items to messages and their parts. This module only reads; the module `residual`
//! finds the lost values by comparing.

use context_core::message::Origin;
use std::borrow::Cow;
use std::ops::Range;

use context_codec_kit::wire::{json_string, truth, wrong_type_of};
use context_core::base::{DiagnosticCode, Severity};
use context_core::message::{Media, MediaSource, OpaqueBlock, Reasoning, Text, ToolInput};
use context_core::model::WireError;
use context_core::{Diagnostic, Message, Metadata, Part, Role, ToolCall, ToolResult};
use serde_json::value::RawValue;

use super::form::{
    Content, Item, ItemPath, Raw, Sound, keep, list, need, object, peek, remember, text,
};
use super::keys::{
    ANNOTATIONS, BREAKPOINT, CALLER, CONTENT, CONTENT_PROVIDER, DETAIL, ID, LOGPROBS, NAMESPACE,
    PHASE, PROVIDER, REFUSAL, ROLE, STATUS, SUMMARY, TYPE,
};
use crate::body::has_only;
use crate::shared::{bytes, media, media_at};

/// The roles of the wire form.
const ROLES: &str = "user, assistant, system, developer";

/// Outputs that the application writes for items that only this provider understands.
const OUTPUTS: [&str; 4] = [
    "computer_call_output",
    "local_shell_call_output",
    "apply_patch_call_output",
    "mcp_approval_response",
];

/// The message that an item belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TurnKind {
    /// One assistant message together with its neighbours.
    Assistant,
    /// One tool message together with its neighbours.
    Tool,
    /// One synthetic user message together with its neighbours.
    Output,
    /// A message of its own.
    Single(Role),
}

impl TurnKind {
    pub(super) fn role(self) -> Role {
        match self {
            Self::Assistant => Role::Assistant,
            Self::Tool => Role::Tool,
            Self::Output => Role::User,
            Self::Single(role) => role,
        }
    }
}

/// A message and the items it was made of.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) message: Message,
    /// The positions of the items.
    pub(super) items: Range<usize>,
    /// Whether the message certainly holds everything in the items.
    pub(super) is_plain: bool,
}

#[derive(Debug, Default)]
pub(super) struct ItemReader {
    pub(super) diagnostics: Vec<Diagnostic>,
}

impl ItemReader {
    /// Returns the messages of a list of items.
    pub(super) fn turns(
        &mut self,
        items: &[&RawValue],
        name: &'static str,
    ) -> Result<Vec<Turn>, WireError> {
        let mut turns: Vec<Turn> = Vec::with_capacity(items.len());
        let mut open = None;
        for (index, &raw) in items.iter().enumerate() {
            let at = ItemPath { list: name, index };
            let item: Item<'_> = object(raw, || at.item())?;
            let kind_of_item = kind_of_item(&item, at)?;
            if open != Some(kind_of_item) || matches!(kind_of_item, TurnKind::Single(_)) {
                let message = Message {
                    role: kind_of_item.role(),
                    parts: Vec::with_capacity(1),
                    metadata: Metadata::default(),
                };
                turns.push(Turn { message, items: index..index, is_plain: true });
                open = Some(kind_of_item);
            }
            let Some(turn) = turns.last_mut() else { continue };
            turn.items.end = index + 1;
            turn.is_plain &= is_plain(&item, raw);
            if kind_of_item == TurnKind::Output {
                turn.message.metadata = Origin::Synthetic.to_metadata();
            } else if item.role.and_then(peek).as_deref() == Some("developer") {
                turn.message.metadata.insert(ROLE, "developer");
            }
            self.item(&item, raw, at, &mut turn.message.parts)?;
        }
        for turn in &mut turns {
            if turn.message.is_placeholder() {
                // Marks a message that was empty, in contrast to one whose content is still to
                // come.
                turn.message.parts.push(Part::text(""));
            }
            turn.message.parts.shrink_to_fit();
        }
        Ok(turns)
    }

    /// Adds the parts of an item.
    pub(super) fn item(
        &mut self,
        item: &Item<'_>,
        raw: &RawValue,
        at: ItemPath,
        parts: &mut Vec<Part>,
    ) -> Result<(), WireError> {
        match item.kind.and_then(peek).as_deref() {
            None | Some("message") if item.role.is_some() => self.message(item, at, parts)?,
            Some("reasoning") => parts.push(reasoning(item, at)?),
            Some("function_call") => parts.push(call(item, at, false)?),
            Some("custom_tool_call") => parts.push(call(item, at, true)?),
            Some("function_call_output") => parts.push(self.result(item, at, false)?),
            Some("custom_tool_call_output") => parts.push(self.result(item, at, true)?),
            _ => parts.push(opaque(PROVIDER, raw)),
        }
        Ok(())
    }

    fn message(
        &mut self,
        item: &Item<'_>,
        at: ItemPath,
        parts: &mut Vec<Part>,
    ) -> Result<(), WireError> {
        let Some(content) = item.content else { return Ok(()) };
        let from = parts.len();
        self.content(content, at, "content", parts)?;
        if !matches!(item.role.and_then(peek).as_deref(), Some("assistant")) {
            return Ok(());
        }
        for part in &mut parts[from..] {
            if let Part::Text(text) = part {
                for (key, raw) in [(ID, item.id), (STATUS, item.status), (PHASE, item.phase)] {
                    remember(&mut text.metadata, key, raw);
                }
            }
        }
        Ok(())
    }

    fn result(&mut self, item: &Item<'_>, at: ItemPath, custom: bool) -> Result<Part, WireError> {
        let mut result = ToolResult {
            call_id: need(item.call_id, || at.key("call_id"))?.into_owned(),
            name: item.name.and_then(peek).map(Cow::into_owned),
            output: Vec::new(),
            is_error: false,
            metadata: marked(custom),
        };
        for (key, raw) in [(ID, item.id), (STATUS, item.status), (CALLER, item.caller)] {
            remember(&mut result.metadata, key, raw);
        }
        if let Some(output) = item.output {
            self.content(output, at, "output", &mut result.output)?;
        }
        Ok(Part::ToolResult(result))
    }

    /// Adds the parts of a content: a text, or a list of parts.
    fn content(
        &mut self,
        content: &RawValue,
        at: ItemPath,
        key: &'static str,
        parts: &mut Vec<Part>,
    ) -> Result<(), WireError> {
        if let Some(text) = json_string(content) {
            parts.push(Part::text(text));
            return Ok(());
        }
        if !content.get().starts_with('[') {
            return Err(wrong_type_of(content, &at.key(key), "a string or a list of parts"));
        }
        for (i, raw) in list(content, || at.key(key))?.into_iter().enumerate() {
            let path = || format!("{}[{i}]", at.key(key));
            let part: Content<'_> = object(raw, path)?;
            let known = known(&part, path)?;
            if known.is_none() {
                let kind = part.kind.map_or("none", RawValue::get);
                let reason = format!("content of type {kind} is kept for its provider only");
                let (code, severity) = (DiagnosticCode::Unrepresentable, Severity::Warning);
                self.diagnostics.push(Diagnostic::new(code, severity, path(), reason));
            }
            parts.push(known.unwrap_or_else(|| opaque(CONTENT_PROVIDER, raw)));
        }
        Ok(())
    }
}

/// Returns whether an item has nothing but what a message holds. Most items do.
fn is_plain(item: &Item<'_>, raw: &RawValue) -> bool {
    let is_text = |raw: &RawValue| raw.get().starts_with('"');
    let whole = match (item.kind, item.role) {
        (None, Some(role)) => item.content.is_some_and(|content| {
            is_text(content) && has_only(raw, [("role", role), ("content", content)])
        }),
        (Some(kind), None) => match (item.call_id, item.name, item.arguments, item.output) {
            (Some(id), Some(name), Some(input), None) if kind.get() == r#""function_call""# => {
                // Spaces around an object are not part of it.
                let is_object = input.get().starts_with("\"{") && input.get().ends_with("}\"");
                is_object
                    && has_only(
                        raw,
                        [("type", kind), ("call_id", id), ("name", name), ("arguments", input)],
                    )
            }
            (Some(id), None, None, Some(output)) if kind.get() == r#""function_call_output""# => {
                is_text(output)
                    && has_only(raw, [("type", kind), ("call_id", id), ("output", output)])
            }
            _ => false,
        },
        _ => false,
    };
    // Half a surrogate pair can only be written with an escape.
    whole && !raw.get().contains("\\u")
}

/// Returns which message an item belongs to.
fn kind_of_item(item: &Item<'_>, at: ItemPath) -> Result<TurnKind, WireError> {
    let kind = item.kind.map(|kind| text(kind, || at.key("type"))).transpose()?;
    let role = item.role.map(|role| text(role, || at.key("role"))).transpose()?;
    match (kind.as_deref(), role.as_deref()) {
        (None | Some("message"), Some("assistant")) => Ok(TurnKind::Assistant),
        (_, Some("user")) => Ok(TurnKind::Single(Role::User)),
        (_, Some("system" | "developer")) => Ok(TurnKind::Single(Role::System)),
        (None | Some("message"), Some(role)) => {
            Err(WireError::UnknownRole { role: role.to_owned(), known: ROLES })
        }
        (Some("message"), None) => Err(WireError::Missing { path: at.key("role") }),
        // A reference to an item may leave its type out.
        (None, None) if item.id.is_none() => Err(WireError::Missing { path: at.key("role") }),
        (Some("function_call_output" | "custom_tool_call_output"), _) => Ok(TurnKind::Tool),
        (Some(kind), _) if OUTPUTS.contains(&kind) => Ok(TurnKind::Output),
        _ => Ok(TurnKind::Assistant),
    }
}

fn opaque(provider: &str, raw: &RawValue) -> Part {
    Part::Opaque(OpaqueBlock { provider: provider.to_owned(), value: keep(raw) })
}

fn marked(custom: bool) -> Metadata {
    if custom { Metadata::default().with(TYPE, "custom") } else { Metadata::default() }
}

fn call(item: &Item<'_>, at: ItemPath, custom: bool) -> Result<Part, WireError> {
    let (key, input) = if custom { ("input", item.input) } else { ("arguments", item.arguments) };
    let mut call = ToolCall {
        id: need(item.call_id, || at.key("call_id"))?.into_owned(),
        name: need(item.name, || at.key("name"))?.into_owned(),
        input: match input {
            None => ToolInput::Invalid(String::new()),
            Some(raw) => ToolInput::from_written(text(raw, || at.key(key))?),
        },
        metadata: marked(custom),
    };
    let entries =
        [(ID, item.id), (STATUS, item.status), (NAMESPACE, item.namespace), (CALLER, item.caller)];
    for (key, raw) in entries {
        remember(&mut call.metadata, key, raw);
    }
    Ok(Part::ToolCall(call))
}

fn reasoning(item: &Item<'_>, at: ItemPath) -> Result<Part, WireError> {
    let mut metadata = Metadata::default();
    remember(&mut metadata, ID, item.id);
    remember(&mut metadata, STATUS, item.status);
    let summary = thoughts(item.summary, at, "summary")?;
    let content = thoughts(item.content, at, "content")?;
    // One text of a summary becomes the thought's text; everything else is kept as it was written.
    if summary.len() > 1 || (summary.len() == 1 && item.content.is_some()) {
        remember(&mut metadata, SUMMARY, item.summary);
    }
    remember(&mut metadata, CONTENT, item.content);
    let encrypted =
        item.encrypted_content.map(|raw| text(raw, || at.key("encrypted_content"))).transpose()?;
    Ok(Part::Reasoning(Reasoning {
        text: joined(if content.is_empty() { &summary } else { &content }).into(),
        signature: None,
        encrypted: encrypted.map(Into::into),
        provider: Some(PROVIDER.to_owned()),
        metadata,
    }))
}

/// Returns the texts of a summary or of a thought.
pub(super) fn thoughts<'a>(
    raw: Raw<'a>,
    at: ItemPath,
    key: &'static str,
) -> Result<Vec<Cow<'a, str>>, WireError> {
    let Some(raw) = raw else { return Ok(Vec::new()) };
    let mut texts = Vec::new();
    for (i, raw) in list(raw, || at.key(key))?.into_iter().enumerate() {
        let path = || format!("{}[{i}]", at.key(key));
        let part: Content<'a> = object(raw, path)?;
        texts.extend(part.text.map(|raw| text(raw, || format!("{}.text", path()))).transpose()?);
    }
    Ok(texts)
}

/// Joins the texts of a thought into readable text.
pub(super) fn joined(texts: &[Cow<'_, str>]) -> String {
    texts.join("\n\n")
}

/// Lifts a part of a known type; returns `None` for a part that stays opaque.
fn known(part: &Content<'_>, path: impl Fn() -> String + Copy) -> Result<Option<Part>, WireError> {
    let at = |key: &'static str| move || format!("{}.{key}", path());
    let mut known = match need(part.kind, at("type"))?.as_ref() {
        "input_text" | "output_text" | "text" => {
            let raw = part.text.ok_or_else(|| missing(at("text")))?;
            let wrong = || wrong_type_of(raw, &at("text")(), "a string");
            Part::text(json_string(raw).ok_or_else(wrong)?)
        }
        "refusal" => {
            let metadata = Metadata::default().with(REFUSAL, truth());
            Part::Text(Text { text: need(part.refusal, at("refusal"))?.into(), metadata })
        }
        "input_image" => match image(part, path)? {
            Some(media) => Part::Image(media),
            None => return Ok(None),
        },
        "input_file" => match file(part, path)? {
            Some(media) => Part::Document(media),
            None => return Ok(None),
        },
        "input_audio" => {
            let sound: Sound<'_> = object(
                part.input_audio.ok_or_else(|| missing(at("input_audio")))?,
                at("input_audio"),
            )?;
            let format = need(sound.format, at("input_audio.format"))?;
            let data = need(sound.data, at("input_audio.data"))?.into_owned();
            Part::Audio(Media {
                media_type: Some(format!("audio/{format}")),
                ..media(MediaSource::Base64(data.into()))
            })
        }
        _ => return Ok(None),
    };
    let metadata = match &mut known {
        Part::Text(text) => &mut text.metadata,
        Part::Image(media) | Part::Document(media) => &mut media.metadata,
        _ => return Ok(Some(known)),
    };
    remember(metadata, DETAIL, part.detail);
    remember(metadata, BREAKPOINT, part.prompt_cache_breakpoint);
    let filled = |raw: Raw<'_>| raw.filter(|raw| raw.get() != "[]").is_some();
    remember(metadata, ANNOTATIONS, part.annotations.filter(|raw| filled(Some(raw))));
    remember(metadata, LOGPROBS, part.logprobs.filter(|raw| filled(Some(raw))));
    Ok(Some(known))
}

fn missing(path: impl Fn() -> String) -> WireError {
    WireError::Missing { path: path() }
}

fn image(part: &Content<'_>, path: impl Fn() -> String) -> Result<Option<Media>, WireError> {
    let image = match (part.image_url, part.file_id) {
        (Some(url), _) => {
            let url = text(url, || format!("{}.image_url", path()))?;
            media_at(url)
        }
        (None, Some(id)) => {
            media(MediaSource::Reference(text(id, || format!("{}.file_id", path()))?.into_owned()))
        }
        (None, None) => return Ok(None),
    };
    Ok(Some(image))
}

fn file(part: &Content<'_>, path: impl Fn() -> String) -> Result<Option<Media>, WireError> {
    let file = match (part.file_data, part.file_url, part.file_id) {
        (Some(data), _, _) => {
            let data = text(data, || format!("{}.file_data", path()))?;
            bytes(data)
        }
        (None, Some(url), _) => {
            media(MediaSource::Url(text(url, || format!("{}.file_url", path()))?.into_owned()))
        }
        (None, None, Some(id)) => {
            media(MediaSource::Reference(text(id, || format!("{}.file_id", path()))?.into_owned()))
        }
        (None, None, None) => return Ok(None),
    };
    let name =
        part.filename.map(|name| text(name, || format!("{}.filename", path()))).transpose()?;
    Ok(Some(Media { name: name.map(Cow::into_owned), ..file }))
}
