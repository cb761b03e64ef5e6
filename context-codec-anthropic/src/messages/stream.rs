//! Streamed answers.

mod block;

use std::collections::{BTreeMap, HashSet};

use context_codec_kit::wire;
use context_codec_kit::wire::{kept, read_list};
use context_core::base::{DiagnosticCode, JsonMap, Severity};
use context_core::message::ToolInput;
use context_core::model::{AnswerDelta, AnswerStream, WireError};
use context_core::{Answer, Diagnostic, Json, ModelError, Part, ToolCall};
use serde_json::value::RawValue;

use self::block::{FinishedBlock, OpenBlock};
use super::PROVIDER;
use super::fields::{Fields, JsonPath};
use super::lift::{Container, Reader};

/// An answer that is being received.
#[derive(Debug, Default)]
pub(super) struct Stream {
    /// The current values of all keys except the content.
    facts: JsonMap,
    /// Blocks that were in the first event.
    initial_blocks: Vec<Json>,
    blocks: BTreeMap<u64, OpenBlock>,
    has_begun: bool,
    has_ended: bool,
    error: Option<ModelError>,
}

impl Stream {
    fn start(&mut self, event: &Fields<'_>) -> Result<Vec<AnswerDelta>, WireError> {
        let path = JsonPath::Key(&JsonPath::Root, "message");
        let message = event.get("message").ok_or_else(|| missing(&path))?;
        let message = Fields::read(message, &path)?;
        let mut deltas = Vec::new();
        if let Some(content) = message.get("content") {
            for (i, item) in
                read_list(content, &JsonPath::Key(&path, "content"))?.iter().enumerate()
            {
                let block = OpenBlock::read(item, &JsonPath::Item(&path, i))?;
                deltas.extend(block.deltas());
                self.initial_blocks.push(kept(item));
            }
        }
        self.note(message.iter());
        self.has_begun = true;
        Ok(deltas)
    }

    /// Records the keys besides the content; later values replace earlier ones.
    fn note<'f>(&mut self, entries: impl Iterator<Item = (&'f str, &'f RawValue)>) {
        for (key, json) in entries.filter(|(key, _)| !matches!(*key, "content" | "role")) {
            let usage = self.facts.get_mut(key).filter(|_| key == "usage");
            match usage.and_then(|usage| merged(usage, json)) {
                Some(usage) => _ = self.facts.insert(key.to_owned(), usage),
                None => _ = self.facts.insert(key.to_owned(), kept(json)),
            }
        }
    }

    fn block(&mut self, event: &Fields<'_>) -> Result<Option<&mut OpenBlock>, WireError> {
        let index = index(event)?;
        Ok(self.blocks.get_mut(&index))
    }

    /// Returns the blocks that may be kept, in order, and reports those that were not whole.
    fn whole_blocks(&self, diagnostics: &mut Vec<Diagnostic>) -> Vec<FinishedBlock> {
        let is_cut_off = !self.has_ended;
        let was_full =
            self.facts.get("stop_reason").is_some_and(|stop| stop.as_str() == "\"max_tokens\"");
        let mut cut = |kind: &str| {
            let reason = format!("a block of type {kind:?} is left out: it is incomplete");
            let (code, severity) = (DiagnosticCode::CutOff, Severity::Warning);
            diagnostics.push(Diagnostic::new(code, severity, "content", reason));
        };
        let mut blocks: Vec<FinishedBlock> =
            self.initial_blocks.iter().cloned().map(FinishedBlock::from).collect();
        for block in self.blocks.values() {
            match block.whole(is_cut_off, was_full) {
                Some(whole) => blocks.push(whole),
                None => cut(block.kind()),
            }
        }
        if is_cut_off {
            drop_unpaired(&mut blocks, cut);
        }
        blocks
    }
}

impl AnswerStream for Stream {
    fn push(&mut self, event: &str) -> Result<Vec<AnswerDelta>, WireError> {
        let event_text = event.trim();
        let event = Fields::read(wire::read(event_text, "")?, &JsonPath::Root)?;
        let kind = event.need_text("type", &JsonPath::Root)?;
        if self.has_ended || self.error.is_some() {
            return Ok(Vec::new());
        }
        match &*kind {
            // Only the first message is this answer.
            "message_start" if !self.has_begun => return self.start(&event),
            "content_block_start" => {
                let path = JsonPath::Key(&JsonPath::Root, "content_block");
                let index = index(&event)?;
                let block = event.get("content_block").ok_or_else(|| missing(&path))?;
                let block = OpenBlock::read(block, &path)?;
                let deltas = block.deltas();
                self.blocks.entry(index).or_insert(block);
                return Ok(deltas);
            }
            "content_block_delta" => {
                let path = JsonPath::Key(&JsonPath::Root, "delta");
                let delta = event.get("delta").ok_or_else(|| missing(&path))?;
                let delta = Fields::read(delta, &path)?;
                if let Some(block) = self.block(&event)? {
                    return Ok(block.push(&delta, &path)?.into_iter().collect());
                }
            }
            "content_block_stop" => {
                if let Some(block) = self.block(&event)? {
                    block.end();
                }
            }
            "message_delta" => {
                if let Some(delta) = event.get("delta") {
                    let delta = Fields::read(delta, &JsonPath::Key(&JsonPath::Root, "delta"))?;
                    self.note(delta.iter());
                }
                self.note(event.iter().filter(|(key, _)| !matches!(*key, "type" | "delta")));
            }
            "message_stop" => self.has_ended = true,
            "error" => self.error = Some(context_codec_kit::classify(PROVIDER, None, event_text)),
            _ => {}
        }
        Ok(Vec::new())
    }

    fn answer(&self) -> Answer {
        let mut reader = Reader::default();
        let mut cut_off = Vec::new();
        let blocks = self.whole_blocks(&mut cut_off);
        let path = JsonPath::Key(&JsonPath::Root, "content");
        let mut parts: Vec<Part> = Vec::with_capacity(blocks.len());
        for (i, block) in blocks.iter().enumerate() {
            match reader.block(block.json.as_raw(), &JsonPath::Item(&path, i), Container::Message) {
                Ok(Part::ToolCall(call)) => {
                    parts.push(Part::ToolCall(match &block.invalid_input {
                        Some(text) => ToolCall { input: ToolInput::Invalid(text.clone()), ..call },
                        None => call,
                    }))
                }
                Ok(part) => parts.push(part),
                Err(error) => cut_off.push(Diagnostic::new(
                    DiagnosticCode::BrokenInput,
                    Severity::Warning,
                    error.path(),
                    error.to_string(),
                )),
            }
        }
        let mut diagnostics = reader.diagnostics;
        if !self.has_ended {
            let reason = "the answer broke off";
            cut_off.push(Diagnostic::new(DiagnosticCode::CutOff, Severity::Warning, "", reason));
        }
        diagnostics.append(&mut cut_off);
        let mut answer = super::answer::answer(parts, self.facts.clone(), diagnostics);
        answer.complete = self.has_ended;
        answer.error.clone_from(&self.error);
        answer
    }
}

fn missing(path: &JsonPath<'_>) -> WireError {
    WireError::Missing { path: path.to_string() }
}

/// Returns the index of the block that an event is about.
fn index(event: &Fields<'_>) -> Result<u64, WireError> {
    let path = JsonPath::Key(&JsonPath::Root, "index");
    let written = event.get("index").ok_or_else(|| missing(&path))?;
    written.get().parse().map_err(|_| wire::wrong_type_of(written, &path, "the number of a block"))
}

/// Merges two objects; values of the later one replace those of the earlier.
fn merged(before: &Json, later: &RawValue) -> Option<Json> {
    let mut map: JsonMap = before.parse().ok()?;
    let later: JsonMap = serde_json::from_str(later.get()).ok()?;
    map.extend(later.into_iter().filter(|(_, json)| json.as_str() != "null"));
    Some(super::json(&map))
}

/// Drops uses of server tools that have no result because the answer broke off, and the blocks that
/// they called.
fn drop_unpaired(blocks: &mut Vec<FinishedBlock>, mut cut: impl FnMut(&str)) {
    let mut read: Vec<Ids> = blocks.iter().map(|block| Ids::read(&block.json)).collect();
    loop {
        let results: HashSet<&str> = read.iter().filter_map(|ids| ids.used.as_deref()).collect();
        let open =
            read.iter().filter(|ids| matches!(&*ids.kind, "server_tool_use" | "mcp_tool_use"));
        let open = open.filter_map(|ids| ids.own.as_deref()).filter(|id| !results.contains(id));
        let gone: HashSet<String> = open.map(str::to_owned).collect();
        if gone.is_empty() {
            return;
        }
        let goes = |ids: &Ids| {
            [&ids.own, &ids.used, &ids.caller].into_iter().flatten().any(|id| gone.contains(id))
        };
        let mut keep = read.iter().map(|ids| !goes(ids));
        blocks.retain(|_| keep.next().unwrap_or(true));
        read.retain(|ids| {
            let goes = goes(ids);
            if goes {
                cut(&ids.kind);
            }
            !goes
        });
    }
}

/// The ids that a block names: its own, and those of the blocks it belongs to.
struct Ids {
    kind: String,
    own: Option<String>,
    used: Option<String>,
    caller: Option<String>,
}

impl Ids {
    fn read(block: &Json) -> Self {
        let fields = Fields::inspect(block.as_raw());
        let text = |key| fields.as_ref()?.peek(key).map(|text| text.into_owned());
        let caller = fields
            .as_ref()
            .and_then(|fields| Fields::read(fields.get("caller")?, &JsonPath::Root).ok());
        Self {
            kind: text("type").unwrap_or_default(),
            own: text("id"),
            used: text("tool_use_id"),
            caller: caller.and_then(|caller| caller.peek("tool_id").map(|id| id.into_owned())),
        }
    }
}
