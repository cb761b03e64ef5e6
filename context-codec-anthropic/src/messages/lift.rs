//! Lifting of messages. This module only reads. Lost values are found by comparing with the plain
//! form, and only if something was not understood.

use std::borrow::Cow;

use context_codec_kit::wire::{kept, raw_kind, read_list, read_text, wrong_type_of};
use context_core::base::{DiagnosticCode, Severity};
use context_core::message::{Media, MediaSource, OpaqueBlock, Reasoning, Text, ToolInput};
use context_core::model::WireError;
use context_core::{Diagnostic, Message, Metadata, Part, Role, ToolCall, ToolResult};
use serde_json::value::RawValue;

use super::fields::{Fields, JsonPath, is_exact};
use super::{AS_BLOCKS, EXTRAS, IS_ERROR, PROVIDER, RESPONSE, RESPONSE_KEY};

/// The result of reading a message.
pub(super) struct LiftedMessage {
    pub(super) message: Message,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// Whether the plain form certainly holds all of the source.
    pub(super) is_plain: bool,
}

/// Lifts a message without the difference to its source.
pub(super) fn message(json: &RawValue, path: &JsonPath<'_>) -> Result<LiftedMessage, WireError> {
    let fields = Fields::read(json, path)?;
    let mut reader = Reader::default();
    let role = fields.need_text("role", path)?;
    role_of(&role, &[])?;
    let (parts, as_blocks) = reader.content(&fields, path, Container::Message)?;
    let role = role_of(&role, &parts)?;
    let mut message = Message::new(role, parts);
    mark_form(&mut message.metadata, as_blocks, role == Role::Assistant, &message.parts);
    if role == Role::Assistant
        && let Some(facts) = facts(&fields)
    {
        message.metadata.insert(RESPONSE_KEY, facts);
    }
    if message.is_placeholder() {
        // Marks a message that was empty, in contrast to one whose content is still to come.
        message.parts.push(Part::text(""));
        reader.is_lossy = true;
    }
    let is_plain = fields.is_plain() && !reader.is_lossy;
    Ok(LiftedMessage { message, diagnostics: reader.diagnostics, is_plain })
}

/// Returns the role of a message with these parts: a user message of only results is a tool
/// message.
pub(super) fn role_of(role: &str, parts: &[Part]) -> Result<Role, WireError> {
    let only_results =
        !parts.is_empty() && parts.iter().all(|part| matches!(part, Part::ToolResult(_)));
    Ok(match role {
        "user" if only_results => Role::Tool,
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "system" => Role::System,
        role => {
            return Err(WireError::UnknownRole {
                role: role.to_owned(),
                known: "user, assistant, system",
            });
        }
    })
}

/// Returns the facts of a message object about its response.
fn facts(fields: &Fields<'_>) -> Option<context_core::Json> {
    if fields.is_plain() {
        return None;
    }
    let facts: Metadata = RESPONSE
        .iter()
        .filter_map(|key| Some(((*key).to_owned(), kept(fields.any(key)?))))
        .collect();
    (!facts.is_empty()).then(|| super::json(&facts))
}

/// Remembers whether a single text was written as a list of blocks, if that differs from the usual
/// form.
pub(super) fn mark_form(metadata: &mut Metadata, as_blocks: bool, usual: bool, parts: &[Part]) {
    if as_blocks != usual && matches!(parts, [Part::Text(_)]) {
        metadata.insert(AS_BLOCKS, serde_json::Value::Bool(as_blocks));
    }
}

/// The container of the content that is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Container {
    Message,
    /// A tool result: it contains neither calls nor results.
    Result,
}

#[derive(Default)]
pub(super) struct Reader {
    pub(super) diagnostics: Vec<Diagnostic>,
    /// Whether any value was skipped.
    pub(super) is_lossy: bool,
}

impl Reader {
    /// Returns the parts, and whether they were written as a list of blocks.
    fn content(
        &mut self,
        fields: &Fields<'_>,
        path: &JsonPath<'_>,
        container: Container,
    ) -> Result<(Vec<Part>, bool), WireError> {
        let Some(content) = fields.get("content") else { return Ok((Vec::new(), false)) };
        let path = JsonPath::Key(path, "content");
        match raw_kind(content) {
            "a string" => {
                let text = read_text(content, &path)?;
                self.is_lossy |= !is_exact(&text, content);
                Ok((vec![Part::text(text)], false))
            }
            "a list" => Ok((self.blocks(&read_list(content, &path)?, &path, container)?, true)),
            _ => Err(wrong_type_of(content, &path, "a string or a list of blocks")),
        }
    }

    /// Returns the parts of a list of blocks.
    fn blocks(
        &mut self,
        items: &[&RawValue],
        path: &JsonPath<'_>,
        container: Container,
    ) -> Result<Vec<Part>, WireError> {
        // The plain form of no content is not an empty list.
        self.is_lossy |= items.is_empty();
        let block =
            |(i, item): (usize, &&RawValue)| self.block(item, &JsonPath::Item(path, i), container);
        items.iter().enumerate().map(block).collect()
    }

    /// Returns the part of one block.
    pub(super) fn block(
        &mut self,
        json: &RawValue,
        path: &JsonPath<'_>,
        container: Container,
    ) -> Result<Part, WireError> {
        let block = Fields::read(json, path)?;
        let kind = block.need_text("type", path)?;
        let part = match &*kind {
            "text" => Some(Part::Text(Text {
                text: block.need_text("text", path)?.into(),
                metadata: extras(&block, &kind),
            })),
            "image" | "document" => self.media(&block, path, &kind)?,
            "thinking" if container == Container::Message => Some(Part::Reasoning(Reasoning {
                text: block.need_text("thinking", path)?.into(),
                signature: block.text("signature", path)?.map(Into::into),
                provider: Some(PROVIDER.to_owned()),
                ..Reasoning::default()
            })),
            "redacted_thinking" if container == Container::Message => {
                Some(Part::Reasoning(Reasoning {
                    encrypted: Some(block.need_text("data", path)?.into()),
                    provider: Some(PROVIDER.to_owned()),
                    ..Reasoning::default()
                }))
            }
            "tool_use" if container == Container::Message => Some(call(&block, path)?),
            "tool_result" if container == Container::Message => Some(self.result(&block, path)?),
            _ => None,
        };
        if let Some(part) = part {
            self.is_lossy |= !block.is_plain();
            return Ok(part);
        }
        if !is_known(&kind) {
            let reason = format!("a block of type {kind:?} is kept for its provider only");
            let (code, severity) = (DiagnosticCode::Unrepresentable, Severity::Warning);
            self.diagnostics.push(Diagnostic::new(code, severity, path.to_string(), reason));
        }
        Ok(Part::Opaque(OpaqueBlock { provider: PROVIDER.to_owned(), value: kept(json) }))
    }

    /// Returns the text of a text block.
    pub(super) fn text(
        &mut self,
        json: &RawValue,
        path: &JsonPath<'_>,
    ) -> Result<Option<Text>, WireError> {
        match self.block(json, path, Container::Message)? {
            Part::Text(text) => Ok(Some(text)),
            _ => Ok(None),
        }
    }

    fn result(&mut self, block: &Fields<'_>, path: &JsonPath<'_>) -> Result<Part, WireError> {
        let (output, as_blocks) = self.content(block, path, Container::Result)?;
        let mut metadata = extras(block, "tool_result");
        mark_form(&mut metadata, as_blocks, false, &output);
        let is_error = block.get("is_error").is_some_and(|json| json.get() == "true");
        if is_error {
            metadata.remove(IS_ERROR);
        }
        let call_id = block.need_text("tool_use_id", path)?.into_owned();
        Ok(Part::ToolResult(ToolResult { call_id, name: None, output, is_error, metadata }))
    }

    /// Returns the media of a block, if its source is of a kind that other providers understand
    /// too.
    fn media(
        &mut self,
        block: &Fields<'_>,
        path: &JsonPath<'_>,
        kind: &str,
    ) -> Result<Option<Part>, WireError> {
        let at = JsonPath::Key(path, "source");
        let source =
            block.get("source").ok_or_else(|| WireError::Missing { path: at.to_string() })?;
        let source = Fields::read(source, &at)?;
        let need = |key| source.need_text(key, &at).map(Cow::into_owned);
        let (from, media_type) = match &*source.need_text("type", &at)? {
            "base64" => {
                let media_type = source.text("media_type", &at)?.map(Cow::into_owned);
                (MediaSource::Base64(need("data")?.into()), media_type)
            }
            "url" => (MediaSource::Url(need("url")?), None),
            "file" => (MediaSource::Reference(need("file_id")?), None),
            _ => return Ok(None),
        };
        let is_image = kind == "image";
        let name = if is_image { None } else { block.text("title", path)?.map(Cow::into_owned) };
        self.is_lossy |= !source.is_plain();
        let media = Media { source: from, media_type, name, metadata: extras(block, kind) };
        Ok(Some(if is_image { Part::Image(media) } else { Part::Document(media) }))
    }
}

/// Returns the other keys of a block that are sent with it again.
fn extras(block: &Fields<'_>, kind: &str) -> Metadata {
    let takes = EXTRAS.iter().filter(|extra| extra.kinds.contains(&kind));
    takes
        .filter_map(|extra| Some((extra.metadata.to_owned(), kept(block.get(extra.key)?))))
        .collect()
}

fn call(block: &Fields<'_>, path: &JsonPath<'_>) -> Result<Part, WireError> {
    let input = match block.get("input") {
        Some(json) => ToolInput::Json(kept(json)),
        None => ToolInput::Invalid(String::new()),
    };
    Ok(Part::ToolCall(ToolCall {
        id: block.need_text("id", path)?.into_owned(),
        name: block.need_text("name", path)?.into_owned(),
        input,
        metadata: extras(block, "tool_use"),
    }))
}

/// Returns whether a block is known although there is no part for it: blocks of server tools, and
/// sources that only the provider can read.
fn is_known(kind: &str) -> bool {
    const KNOWN: [&str; 13] = [
        "image",
        "document",
        "search_result",
        "server_tool_use",
        "mcp_tool_use",
        "mcp_tool_listing",
        "container_upload",
        "tool_reference",
        "tool_addition",
        "tool_removal",
        "compaction",
        "fallback",
        "browser_state",
    ];
    KNOWN.contains(&kind) || kind.ends_with("_tool_result")
}
