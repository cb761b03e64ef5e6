//! What tools answer.

use context_core::message::is_blank;
use context_core::{Part, ToolResult};

use super::kept::Kept;
use super::{Writer, input_text, plainest};
use crate::responses::form::{Out, OutContent, OutPart, OutResult};
use crate::shared::{say_error, say_lost};

impl<'a> Writer<'a> {
    pub(super) fn result(&mut self, result: &'a ToolResult) {
        // Most calls are plain function calls.
        let call = if self.special.is_empty() {
            None
        } else {
            self.special.get(result.call_id.as_str()).copied()
        };
        let kept = Kept::of(&result.metadata);
        let custom = kept.is_custom || call.is_some_and(|call| call.is_custom);
        let output = match result.output.as_slice() {
            [Part::Text(text)] if text.metadata.is_empty() && !result.is_error => {
                OutContent::Text(text.text.as_str().into())
            }
            _ => match self.shown(result) {
                parts if parts.is_empty() => OutContent::Text("".into()),
                parts => plainest(parts),
            },
        };
        let id = self.fresh(kept.id);
        let inherited = || call.and_then(|call| call.caller).filter(|_| self.sends());
        let caller = kept.caller.or_else(inherited);
        self.out.push(Out::Result(OutResult {
            kind: if custom { "custom_tool_call_output" } else { "function_call_output" },
            id,
            call_id: &result.call_id,
            name: result.name.as_deref().filter(|_| !self.sends()),
            output,
            caller,
            status: kept.status.filter(|_| !(custom && self.sends())),
        }));
    }

    /// Returns the parts of a result that have a form, and a note for the others.
    fn shown(&mut self, result: &'a ToolResult) -> Vec<OutPart<'a>> {
        let (mut parts, mut lost) = (Vec::with_capacity(result.output.len()), Vec::new());
        for part in &result.output {
            match part {
                Part::Data(data) => parts.push(input_text(data.value.as_str().into(), None)),
                Part::Text(text) if self.sends() && is_blank(&text.text) => {}
                _ => match self.content(part) {
                    Some(part) => parts.push(part),
                    None => lost.push(part),
                },
            }
        }
        if self.sends() {
            say_lost(&mut parts, &lost);
            if result.is_error {
                say_error(&mut parts);
            }
        }
        parts
    }
}
