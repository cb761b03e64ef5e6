//! Finding known values again in the messages that hold them.

use std::collections::HashMap;

use context_core::Role;
use context_core::message::NodeKind;

use super::index::ByHash;
use super::scan::{Located, seen, seen_in};
use super::sections::{Section, SectionPlace};
use super::tokens::floor;
use super::{Occurrence, ProvenanceIndex, Quote, SourcePlace};

/// The bytes of a quote before the value, and after it.
const BEFORE: usize = 80;
const AFTER: usize = 160;
/// The number of messages before a result among which its call is looked for.
const MAX_CALL_DISTANCE: u32 = 64;

/// Occurrences of values, by the numbers of their messages. Each message is searched once for the
/// values that are asked for together.
pub(super) struct Locator<'i> {
    index: &'i ProvenanceIndex,
    found: HashMap<u32, ByHash<Option<Occurrence>>>,
}

impl<'i> Locator<'i> {
    pub(super) fn new(index: &'i ProvenanceIndex) -> Self {
        Self { index, found: HashMap::new() }
    }

    /// Returns the first occurrence of a value in a message for which it was prepared.
    pub(super) fn get(&self, number: u32, value: u64) -> Option<Occurrence> {
        self.found.get(&number)?.get(&value)?.clone()
    }

    /// Searches a message for values.
    pub(super) fn prepare(&mut self, number: u32, values: impl Iterator<Item = u64>) {
        let index = self.index;
        let found = self.found.entry(number).or_default();
        let mut left = 0_usize;
        for value in values {
            found.entry(value).or_insert_with(|| {
                left += 1;
                None
            });
        }
        if left == 0 {
            return;
        }
        let mut keep = |value: Located<'_, '_>| {
            if left == 0 {
                return;
            }
            let hash = index.table.hash(&value.token);
            if let Some(slot @ None) = found.get_mut(&hash) {
                *slot = index.occurrence(number, &value);
                left -= 1;
            }
        };
        match (number, &index.prompt) {
            (0, Some(prompt)) => {
                seen_in(&Section::plain(SectionPlace::Text, prompt), true, &mut keep);
            }
            _ => {
                if let Some(message) = index.node(number).and_then(|node| node.message().ok()) {
                    seen(message, &mut keep);
                }
            }
        }
    }
}

impl ProvenanceIndex {
    fn occurrence(&self, number: u32, value: &Located<'_, '_>) -> Option<Occurrence> {
        let pointer = || value.json.map(|(path, _)| path.pointer());
        let place = match value.section.place {
            SectionPlace::Text => SourcePlace::Text,
            SectionPlace::Call(call) => SourcePlace::ToolCall {
                call_id: call.id.clone(),
                tool: call.name.clone(),
                pointer: pointer(),
            },
            SectionPlace::Result(result) => SourcePlace::ToolResult {
                call_id: result.call_id.clone(),
                tool: result.name.clone().or_else(|| self.tool_of(number, &result.call_id)),
                pointer: pointer(),
            },
            SectionPlace::Data(name) => {
                SourcePlace::Data { name: name.to_owned(), pointer: pointer() }
            }
        };
        let quote = quote(value);
        if number == 0 {
            return Some(Occurrence { message: None, role: Role::System, place, quote });
        }
        let node = self.node(number)?;
        let NodeKind::Message(role) = node.kind else { return None };
        Some(Occurrence { message: Some(node.id.clone()), role, place, quote })
    }

    /// Returns the name of the tool in the call with this id, at or shortly before a result.
    fn tool_of(&self, number: u32, call_id: &str) -> Option<String> {
        let earliest = number.saturating_sub(MAX_CALL_DISTANCE);
        (earliest..=number).rev().find_map(|number| {
            let node = self.node(number).filter(|node| node.role() == Some(Role::Assistant))?;
            let message = node.message().ok()?;
            message.tool_calls().find(|call| call.id == call_id).map(|call| call.name.clone())
        })
    }
}

/// Quotes a value: from the JSON around it, or from its own text if the JSON has it escaped.
fn quote(value: &Located<'_, '_>) -> Quote {
    let token = &value.token;
    if let Some((_, leaf)) = value.json {
        let (written, text) = (leaf.written.clone(), value.section.text);
        if text.get(written.clone()) == Some(value.text) {
            return quote_at(text, written.start + token.start, token.value.len());
        }
    }
    quote_at(value.text, token.start, token.value.len())
}

fn quote_at(text: &str, start: usize, len: usize) -> Quote {
    let end = start + len;
    let from = floor(text, start.saturating_sub(BEFORE));
    let to = floor(text, end + AFTER);
    let cut = |cut: bool| if cut { "…" } else { "" };
    Quote {
        before: format!("{}{}", cut(from > 0), &text[from..start]),
        value: text[start..end].to_owned(),
        after: format!("{}{}", &text[end..to], cut(to < text.len())),
    }
}
