//! Lowering of messages to blocks. Never fails: content that the form cannot hold is left out, with
//! a diagnostic.

use std::borrow::Cow;

use context_core::message::{OpaqueBlock, Reasoning, Text, ToolInput};

use context_codec_kit::wire::{Lowered, lost_media, media_kind};
use context_core::base::{DiagnosticCode, JsonMap, Severity};
use context_core::{
    Diagnostic, Json, JsonString, Message, Metadata, Part, Role, ToolCall, ToolResult,
};

use super::fields::Fields;
use super::form::{Block, Body, Content, ExtraEntries, Input, Mark, Mode, WireMessage, remarked};
use super::media::media;
use super::request::compaction::is_signed_compaction;
use super::{AS_BLOCKS, CACHE_KEY, EXTRAS, PROVIDER, RESPONSE, RESPONSE_KEY};

/// Lowers one message; the result is empty if nothing is left to send.
pub(super) fn message(message: &Message, mode: Mode) -> Lowered {
    let mut writer = Writer::new(mode);
    let wire = writer.message(message);
    Lowered::new(wire.iter().map(super::json).collect(), writer.diagnostics)
}

/// The position of the blocks that are written, for diagnostics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockPosition {
    /// A message outside of a list.
    Alone,
    /// The message at this position.
    Message(usize),
    /// The system prompt of a request.
    System,
}

pub(super) struct Writer {
    mode: Mode,
    pub(super) at: BlockPosition,
    pub(super) diagnostics: Vec<Diagnostic>,
}

impl Writer {
    pub(super) fn new(mode: Mode) -> Self {
        Self { mode, at: BlockPosition::Alone, diagnostics: Vec::new() }
    }

    fn for_source(&self) -> bool {
        self.mode == Mode::Source
    }

    /// Reports a part that is not sent, or is sent changed.
    pub(super) fn note(&mut self, index: usize, why: &str) {
        let path = match self.at {
            BlockPosition::Alone => format!("parts[{index}]"),
            BlockPosition::Message(message) => format!("messages[{message}].parts[{index}]"),
            BlockPosition::System => format!("system[{index}]"),
        };
        let code = DiagnosticCode::Unrepresentable;
        self.diagnostics.push(Diagnostic::new(code, Severity::Warning, path, why));
    }

    pub(super) fn message<'a>(&mut self, message: &'a Message) -> Option<WireMessage<'a>> {
        if message.role == Role::System && !self.for_source() {
            self.note(0, "left out: a system prompt is a key of the request, not a message");
            return None;
        }
        let is_assistant = message.role == Role::Assistant;
        let mut blocks = self.blocks(message);
        if !self.for_source() {
            if blocks.is_empty() {
                return None;
            }
            blocks.iter_mut().for_each(|block| block.mark = None);
        }
        let role = match message.role {
            Role::Assistant => "assistant",
            Role::System => "system",
            Role::User | Role::Tool => "user",
        };
        let content = self.content(blocks, &message.metadata, is_assistant);
        let facts = if self.for_source() { facts(message) } else { ExtraEntries::default() };
        Some(WireMessage { role, content, facts })
    }

    /// Returns the blocks of a message. When sending, blank texts are left out and results come
    /// first, as the provider requires.
    pub(super) fn blocks<'a>(&mut self, message: &'a Message) -> Vec<Block<'a>> {
        let by_model = message.role == Role::Assistant;
        let (mut blocks, mut behind) = (Vec::with_capacity(message.parts.len()), Vec::new());
        for (i, part) in message.parts.iter().enumerate() {
            match part {
                Part::ToolResult(result) if !by_model || self.for_source() => {
                    let (block, extra) = self.result(result, i);
                    blocks.push(block);
                    behind.extend(extra);
                }
                _ => {
                    if let Some(block) = self.part(part, i, by_model) {
                        self.push(&mut blocks, block, i);
                    }
                }
            }
        }
        blocks.append(&mut behind);
        if !self.for_source() && blocks.iter().skip(1).any(Block::is_result) {
            blocks.sort_by_key(|block| !block.is_result());
        }
        blocks
    }

    /// Returns the blocks of a system prompt.
    pub(super) fn system<'a>(&mut self, texts: &'a [Text]) -> Vec<Block<'a>> {
        self.at = BlockPosition::System;
        let mut blocks = Vec::with_capacity(texts.len());
        for (i, text) in texts.iter().enumerate() {
            let mut block = Block::text(&text.text);
            self.extras(&mut block, &text.metadata, "text");
            self.push(&mut blocks, block, i);
        }
        blocks
    }

    /// Adds a block. A blank text that is not sent only passes its mark on to the block before.
    fn push<'a>(&mut self, blocks: &mut Vec<Block<'a>>, mut block: Block<'a>, index: usize) {
        if self.for_source() || !block.is_blank() {
            blocks.push(block);
        } else if let Some(mark) = block.mark.take() {
            match blocks.iter_mut().rfind(|block| block.can_carry()) {
                Some(before) => before.mark = before.mark.or(Some(mark)),
                None => self.note(index, "the cache mark of a blank text is left out with it"),
            }
        }
    }

    /// Returns the content: a text if there is only one and neither the usual form nor its source
    /// is a list of blocks, otherwise a list.
    fn content<'a>(
        &self,
        mut blocks: Vec<Block<'a>>,
        metadata: &Metadata,
        usual: bool,
    ) -> Content<'a> {
        let written = metadata.get(AS_BLOCKS).filter(|_| self.mode != Mode::Send);
        let as_blocks = written.map_or(usual, |json| json.as_str() == "true");
        if !as_blocks && matches!(blocks.as_slice(), [block] if block.is_bare_text()) {
            match blocks.pop() {
                Some(Block { body: Body::Text(text), .. }) => return Content::Text(text),
                other => blocks.extend(other),
            }
        }
        Content::Blocks(blocks)
    }

    fn part<'a>(&mut self, part: &'a Part, index: usize, by_model: bool) -> Option<Block<'a>> {
        let source = self.for_source();
        let (block, metadata, kind) = match part {
            Part::Text(text) => {
                (Ok(Body::Text(Cow::Borrowed(&text.text))), Some(&text.metadata), "text")
            }
            Part::Opaque(block) if block.provider == PROVIDER => {
                (self.opaque(block, by_model), None, "")
            }
            Part::Reasoning(thought) if source || by_model => {
                (reasoning(thought, source), None, "")
            }
            Part::ToolCall(call) if source || by_model => {
                (Ok(self.call(call, index)), Some(&call.metadata), "tool_use")
            }
            Part::ToolResult(result) if source || !by_model => {
                return Some(self.result(result, index).0);
            }
            Part::Image(image) if source || !by_model => {
                (media(image, "image", self.mode), Some(&image.metadata), "image")
            }
            Part::Document(document) if source || !by_model => {
                (media(document, "document", self.mode), Some(&document.metadata), "document")
            }
            Part::Reasoning(_) | Part::ToolCall(_) => {
                (Err("only an assistant message holds thoughts and calls"), None, "")
            }
            Part::ToolResult(_) => (Err("an assistant message holds no results"), None, ""),
            Part::Image(_) | Part::Document(_) => {
                (Err("only a user message holds media"), None, "")
            }
            Part::Audio(_) => (Err("the provider takes no audio"), None, ""),
            Part::Opaque(_) => (Err("a block of another provider"), None, ""),
            Part::Data(_) => (Err("data of the application"), None, ""),
            _ => (Err("the form has no such part"), None, ""),
        };
        match block {
            Ok(body) => {
                let mut block = Block::new(body);
                if let Some(metadata) = metadata {
                    self.extras(&mut block, metadata, kind);
                }
                Some(block)
            }
            Err(why) => {
                self.note(index, &format!("left out: {why}"));
                None
            }
        }
    }

    /// Adds the other keys that were read with a block.
    fn extras<'a>(&self, block: &mut Block<'a>, metadata: &'a Metadata, kind: &str) {
        if metadata.is_empty() {
            return;
        }
        for extra in EXTRAS.iter().filter(|extra| extra.kinds.contains(&kind)) {
            let Some(value) = metadata.get(extra.metadata) else { continue };
            if extra.metadata == CACHE_KEY {
                block.mark = Some(Mark::Kept(value));
            } else if self.for_source() || extra.key != "citations" || kind != "text" {
                block.extras.push((extra.key, Cow::Borrowed(value)));
            } else if let Some(citations) = citations(value) {
                block.extras.push((extra.key, Cow::Owned(citations)));
            }
        }
    }

    /// Returns the body of a block that only the provider understands, if it may stand there.
    fn opaque<'a>(&self, block: &'a OpaqueBlock, by_model: bool) -> Result<Body<'a>, &'static str> {
        let body = Body::Opaque(Cow::Borrowed(&block.value));
        if self.for_source() {
            return Ok(body);
        }
        let kind = opaque_type(&block.value).ok_or("a block without a type")?;
        match &*kind {
            "image" | "document" | "search_result" if by_model => {
                Err("only a user message holds media")
            }
            "tool_reference" | "browser_state" => Err("only a result holds it"),
            "tool_addition" | "tool_removal" => Err("only a system message holds it"),
            // A compaction that was asked for stands first, in a message of either role.
            "compaction" if !by_model && is_signed_compaction(&block.value) == Some(true) => {
                Ok(body)
            }
            "compaction" | "fallback" if !by_model => {
                Err("only an assistant message holds such a block")
            }
            _ if is_server_block(&kind) && !by_model => {
                Err("only an assistant message holds such a block")
            }
            _ => Ok(body),
        }
    }

    fn call<'a>(&mut self, call: &'a ToolCall, index: usize) -> Body<'a> {
        let input = match &call.input {
            ToolInput::Json(json)
                if self.for_source() || json.as_str().trim_start().starts_with('{') =>
            {
                Some(Input::Json(json))
            }
            ToolInput::Invalid(text) if self.for_source() && text.is_empty() => None,
            other => {
                self.note(index, "the input is not a JSON object: it is sent as a text in one");
                Some(Input::Invalid { invalid_input: other.as_written() })
            }
        };
        Body::ToolUse { id: &call.id, name: &call.name, input }
    }

    /// Returns the block of a result, and the blocks that must follow all results: a failed result
    /// is text only.
    fn result<'a>(&mut self, result: &'a ToolResult, index: usize) -> (Block<'a>, Vec<Block<'a>>) {
        let source = self.for_source();
        let (mut blocks, mut mark) = (Vec::with_capacity(result.output.len()), None);
        let mut lost = Vec::new();
        for part in &result.output {
            let block = match part {
                Part::ToolCall(_) | Part::ToolResult(_) | Part::Reasoning(_) => {
                    self.note(index, "left out: a result holds only text and media");
                    None
                }
                Part::Opaque(block) if !source && block.provider == PROVIDER => {
                    self.opaque_in_result(block, index)
                }
                _ => self.part(part, index, false),
            };
            let Some(mut block) = block else {
                lost.extend(media_kind(part));
                continue;
            };
            if !source {
                // Only the result as a whole can be marked.
                mark = block.mark.take().or(mark);
                if block.is_blank() {
                    continue;
                }
            }
            blocks.push(block);
        }
        if let Some(note) = lost_media(&lost).filter(|_| !source) {
            blocks.push(Block::text(JsonString::from(note)));
        }
        let mut behind = Vec::new();
        if result.is_error && self.mode == Mode::Request {
            (blocks, behind) =
                blocks.into_iter().partition(|block| matches!(block.body, Body::Text(_)));
            behind.retain(|block| match &block.body {
                Body::Opaque(value) => {
                    opaque_type(value).is_some_and(|kind| RESULT_TYPES[..3].contains(&&*kind))
                }
                _ => true,
            });
            if !behind.is_empty() {
                blocks.push(Block::text(JsonString::from(
                    "[The other content of this error follows.]",
                )));
                behind.insert(
                    0,
                    Block::text(JsonString::from(format!(
                        "[The other content of the error of call {}:]",
                        result.call_id
                    ))),
                );
                self.note(
                    index,
                    "all but text is sent after the results: an error holds only text",
                );
            }
            if blocks.is_empty() {
                blocks.push(Block::text(JsonString::from("[error]")));
            }
        }
        let content = (!blocks.is_empty()).then(|| self.content(blocks, &result.metadata, false));
        let mut block = Block::new(Body::ToolResult {
            id: &result.call_id,
            content,
            is_error: result.is_error,
        });
        self.extras(&mut block, &result.metadata, "tool_result");
        block.extras.retain(|(key, value)| {
            *key != "is_error" || (!result.is_error && value.as_str() == "false")
        });
        block.mark = block.mark.or(mark);
        (block, behind)
    }

    fn opaque_in_result<'a>(&mut self, block: &'a OpaqueBlock, index: usize) -> Option<Block<'a>> {
        if opaque_type(&block.value).is_some_and(|kind| RESULT_TYPES.contains(&&*kind)) {
            // Only the result as a whole can be marked.
            let is_marked = block.value.as_str().contains("\"cache_control\"");
            let value = if is_marked {
                Cow::Owned(remarked(&block.value, None))
            } else {
                Cow::Borrowed(&block.value)
            };
            return Some(Block::new(Body::Opaque(value)));
        }
        self.note(index, "left out: a result holds only text and media");
        None
    }
}

/// The types of opaque blocks that results may hold. The first ones are those that a user message
/// may hold as well.
const RESULT_TYPES: [&str; 5] =
    ["image", "document", "search_result", "tool_reference", "browser_state"];

/// Returns whether a message of this role can hold a part.
pub(super) fn carries(role: Role, part: &Part) -> bool {
    let by_model = role == Role::Assistant;
    match part {
        Part::Text(text) => !text.text.is_blank(),
        Part::ToolCall(_) => by_model,
        Part::ToolResult(_) => !by_model,
        _ => Writer::new(Mode::Request).part(part, 0, by_model).is_some(),
    }
}

/// Returns the type of an opaque block.
pub(super) fn opaque_type(value: &Json) -> Option<Cow<'_, str>> {
    Fields::inspect(value.as_raw())?.peek("type")
}

/// Returns whether a block of this type belongs to a server tool: a use or its result.
pub(super) fn is_server_block(kind: &str) -> bool {
    matches!(kind, "server_tool_use" | "mcp_tool_use") || kind.ends_with("_tool_result")
}

/// Returns the facts of an assistant message about its response, limited to the keys of a message
/// object.
fn facts(message: &Message) -> ExtraEntries<'static> {
    let Some(Ok(facts)) = message.metadata.get(RESPONSE_KEY).map(Json::parse::<JsonMap>) else {
        return ExtraEntries::default();
    };
    let known = facts.into_iter().filter(|(key, _)| RESPONSE.contains(&key.as_str()));
    ExtraEntries(known.map(|(key, value)| (Cow::Owned(key), value)).collect())
}

/// Returns citations in the form for requests: those of an answer name a file, those of a request
/// must not.
fn citations(value: &Json) -> Option<Json> {
    let citations: Vec<JsonMap> = value.parse().ok().filter(|list: &Vec<_>| !list.is_empty())?;
    let sent = citations.into_iter().map(|mut citation| {
        citation.shift_remove("file_id");
        citation
    });
    Some(super::json(&sent.collect::<Vec<_>>()))
}

/// Returns the body of a thought of this provider; for a source, of any provider.
fn reasoning(thought: &Reasoning, source: bool) -> Result<Body<'_>, &'static str> {
    let is_own = thought.provider.as_deref() == Some(PROVIDER);
    if let Some(data) = thought.encrypted.as_ref().filter(|_| is_own || source) {
        return Ok(Body::Redacted(data));
    }
    let is_signed =
        is_own && thought.signature.as_ref().is_some_and(|signature| !signature.is_empty());
    if source || is_signed {
        return Ok(Body::Thinking { text: &thought.text, signature: thought.signature.as_ref() });
    }
    Err("a thought without the signature of this provider")
}
