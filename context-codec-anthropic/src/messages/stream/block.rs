//! One block that is being received: its beginning and the deltas since.

use context_codec_kit::wire::{kept, kind, raw_text};
use context_core::Json;
use context_core::base::JsonMap;
use context_core::model::{AnswerDelta, WireError};
use serde_json::value::RawValue;

use super::super::fields::{Fields, JsonPath};
use super::super::json;

/// A block in the form of a whole answer.
pub(super) struct FinishedBlock {
    pub(super) json: Json,
    /// A call's input that is complete and not JSON. The block then has no input.
    pub(super) invalid_input: Option<String>,
}

impl From<Json> for FinishedBlock {
    fn from(json: Json) -> Self {
        Self { json, invalid_input: None }
    }
}

/// A block that is being received.
#[derive(Debug)]
pub(super) struct OpenBlock {
    kind: String,
    start: JsonMap,
    /// The text of a text, a thought or a summary.
    text: String,
    /// The input of a call as far as it was received.
    input: String,
    signature: Option<String>,
    citations: Vec<Json>,
    /// Other keys that came in deltas.
    extra: JsonMap,
    has_ended: bool,
}

impl OpenBlock {
    /// Reads the beginning of a block.
    pub(super) fn read(block: &RawValue, path: &JsonPath<'_>) -> Result<Self, WireError> {
        let fields = Fields::read(block, path)?;
        let kind = fields.need_text("type", path)?.into_owned();
        let start = fields.iter().map(|(key, json)| (key.to_owned(), kept(json))).collect();
        Ok(Self {
            kind,
            start,
            text: String::new(),
            input: String::new(),
            signature: None,
            citations: Vec::new(),
            extra: JsonMap::new(),
            has_ended: false,
        })
    }

    pub(super) fn kind(&self) -> &str {
        &self.kind
    }

    pub(super) fn end(&mut self) {
        self.has_ended = true;
    }

    fn started_with(&self, key: &str) -> String {
        self.start.get(key).and_then(context_codec_kit::wire::text).unwrap_or_default()
    }

    /// Returns the deltas for the beginning of the block.
    pub(super) fn deltas(&self) -> Vec<AnswerDelta> {
        let mut deltas = Vec::new();
        match self.kind.as_str() {
            "text" => deltas.push(AnswerDelta::Text(self.started_with("text"))),
            "thinking" => deltas.push(AnswerDelta::Reasoning(self.started_with("thinking"))),
            "tool_use" => {
                deltas.push(AnswerDelta::ToolCall {
                    id: self.started_with("id"),
                    name: self.started_with("name"),
                });
                let input = self
                    .start
                    .get("input")
                    .filter(|input| !matches!(input.as_str(), "{}" | "null"));
                deltas.extend(input.map(|input| AnswerDelta::ToolInput(input.as_str().to_owned())));
            }
            _ => {}
        }
        deltas.retain(|delta| {
            !matches!(delta, AnswerDelta::Text(text) | AnswerDelta::Reasoning(text) if text
                .is_empty())
        });
        deltas
    }

    /// Adds a delta.
    pub(super) fn push(
        &mut self,
        delta: &Fields<'_>,
        path: &JsonPath<'_>,
    ) -> Result<Option<AnswerDelta>, WireError> {
        let deltas = match &*delta.need_text("type", path)? {
            "text_delta" => {
                let text = delta.need_text("text", path)?.into_owned();
                self.text.push_str(&text);
                Some(AnswerDelta::Text(text))
            }
            "thinking_delta" => {
                let text = delta.need_text("thinking", path)?.into_owned();
                self.text.push_str(&text);
                Some(AnswerDelta::Reasoning(text))
            }
            "signature_delta" => {
                self.signature = Some(delta.need_text("signature", path)?.into_owned());
                None
            }
            "input_json_delta" => {
                let text = delta.need_text("partial_json", path)?.into_owned();
                self.input.push_str(&text);
                (self.kind == "tool_use" && !text.is_empty())
                    .then_some(AnswerDelta::ToolInput(text))
            }
            "citations_delta" => {
                self.citations.extend(delta.get("citation").map(kept));
                None
            }
            // A delta of an unknown block: its keys become the block's.
            _ => {
                for (key, value) in delta.iter().filter(|(key, _)| *key != "type") {
                    self.add(key, value);
                }
                None
            }
        };
        Ok(deltas)
    }

    /// Appends to a text, or sets a value.
    fn add(&mut self, key: &str, value: &RawValue) {
        if key == "content" && self.kind == "compaction" {
            // A summary may come in pieces.
            if let Some(text) = raw_text(value) {
                self.text.push_str(&text);
                return;
            }
        }
        if value.get() != "null" {
            self.extra.insert(key.to_owned(), kept(value));
        }
    }

    /// Returns the block in the form of a whole answer, or `None` if it is not whole. `is_cut_off`:
    /// the answer broke off. `was_full`: the model reached its output limit.
    pub(super) fn whole(&self, is_cut_off: bool, was_full: bool) -> Option<FinishedBlock> {
        let (mut map, mut invalid_input) = (self.start.clone(), None);
        let text_key = match self.kind.as_str() {
            "text" => Some("text"),
            "thinking" => Some("thinking"),
            "compaction" => Some("content"),
            _ => None,
        };
        if self.kind != "text" && is_cut_off && !self.has_ended && !self.has_whole_input() {
            return None;
        }
        if let Some(key) = text_key.filter(|_| !self.text.is_empty()) {
            let text = self.started_with(key) + &self.text;
            map.insert(key.to_owned(), Json::from(text.as_str()));
        }
        if let Some(signature) = &self.signature {
            map.insert("signature".to_owned(), Json::from(signature.as_str()));
        }
        if self.kind == "thinking" && is_cut_off && is_empty(map.get("signature")) {
            return None;
        }
        if !self.citations.is_empty() {
            let before = map.get("citations").and_then(|json| json.parse::<Vec<Json>>().ok());
            let all: Vec<_> =
                before.into_iter().flatten().chain(self.citations.iter().cloned()).collect();
            map.insert("citations".to_owned(), json(&all));
        } else if map.get("citations").is_some_and(|json| json.as_str() == "[]") {
            // No citation was received: a whole answer has no key then.
            map.shift_remove("citations");
        }
        if !self.input.trim().is_empty() {
            match Json::from_text(self.input.as_str()) {
                Ok(input) => _ = map.insert("input".to_owned(), input.compact()),
                // The model must be told.
                Err(_) if self.kind == "tool_use" && !is_cut_off && !was_full => {
                    map.shift_remove("input");
                    invalid_input = Some(self.input.clone());
                }
                Err(_) => return None,
            }
        }
        map.extend(self.extra.iter().map(|(key, value)| (key.clone(), value.clone())));
        Some(FinishedBlock { json: json(&map), invalid_input })
    }

    /// Returns whether a call's input is whole although its end was not received.
    fn has_whole_input(&self) -> bool {
        let input = Json::from_text(self.input.as_str()).ok();
        self.kind == "tool_use" && input.is_some_and(|input| kind(&input) == "an object")
    }
}

fn is_empty(text: Option<&Json>) -> bool {
    text.is_none_or(|json| matches!(json.as_str(), "\"\"" | "null"))
}
