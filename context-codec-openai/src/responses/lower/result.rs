//! Lowering of tool results.

use std::borrow::Cow;

use context_core::{JsonString, Part, ToolResult};

use super::part_metadata::PartMetadata;
use super::{Writer, input_text, simplest_content};
use crate::responses::form::{ItemOut, OutContent, OutPart, OutResult};
use crate::shared::{mark_failed, note_omitted};

impl<'a> Writer<'a> {
    pub(super) fn result(&mut self, result: &'a ToolResult) {
        // Most calls are plain function calls.
        let call = if self.special.is_empty() {
            None
        } else {
            self.special.get(result.call_id.as_str()).copied()
        };
        let metadata = PartMetadata::of(&result.metadata);
        let custom = metadata.is_custom || call.is_some_and(|call| call.is_custom);
        let output = match result.output.as_slice() {
            [Part::Text(text)] if text.metadata.is_empty() && !result.is_error => {
                OutContent::Text(Cow::Borrowed(&text.text))
            }
            _ => match self.shown(result) {
                parts if parts.is_empty() => OutContent::Text(Cow::Owned(JsonString::default())),
                parts => simplest_content(parts),
            },
        };
        let id = self.fresh(metadata.id);
        let inherited = || call.and_then(|call| call.caller).filter(|_| self.is_for_sending());
        let caller = metadata.caller.or_else(inherited);
        self.out.push(ItemOut::Result(OutResult {
            kind: if custom { "custom_tool_call_output" } else { "function_call_output" },
            id,
            call_id: &result.call_id,
            name: result.name.as_deref().filter(|_| !self.is_for_sending()),
            output,
            caller,
            status: metadata.status.filter(|_| !(custom && self.is_for_sending())),
        }));
    }

    /// Returns the parts of a result that have a form, and a note for the others.
    fn shown(&mut self, result: &'a ToolResult) -> Vec<OutPart<'a>> {
        let (mut parts, mut lost) = (Vec::with_capacity(result.output.len()), Vec::new());
        for part in &result.output {
            match part {
                Part::Data(data) => {
                    parts.push(input_text(Cow::Owned(data.value.as_str().into()), None))
                }
                Part::Text(text) if self.is_for_sending() && text.text.is_blank() => {}
                _ => match self.content(part) {
                    Some(part) => parts.push(part),
                    None => lost.push(part),
                },
            }
        }
        if self.is_for_sending() {
            note_omitted(&mut parts, &lost);
            if result.is_error {
                mark_failed(&mut parts);
            }
        }
        parts
    }
}
