//! Lowering of thoughts: unchanged, or not at all.

use context_core::Json;
use context_core::message::Reasoning;
use serde_json::value::RawValue;

use super::kept::Kept;
use super::{Mode, Writer};
use crate::responses::form::{At, Out, OutReasoning, OutThought, OutThoughts};
use crate::responses::keys::PROVIDER;
use crate::responses::lift;

impl<'a> Writer<'a> {
    pub(super) fn thought(&mut self, thought: &'a Reasoning) -> Option<Out<'a>> {
        let kept = Kept::of(&thought.metadata);
        if let Mode::Send { stored } = self.mode {
            if thought.provider.as_deref() != Some(PROVIDER) {
                self.left_out("a thought of another provider");
                return None;
            }
            let whole = thought.encrypted.is_some()
                || kept.content.is_some_and(|content| content.as_str() != "[]");
            if kept.id.is_none() || !(whole || stored) {
                self.left_out("a thought without its id, or that is nowhere but with the provider, who was told not to keep it");
                return None;
            }
        }
        let id = self.fresh(kept.id);
        if id.is_none() && self.sends() {
            self.left_out("the same thought a second time");
            return None;
        }
        let (summary, content) = thoughts(thought, &kept);
        Some(Out::Reasoning(OutReasoning {
            kind: "reasoning",
            id,
            summary,
            content,
            encrypted_content: thought.encrypted.as_deref(),
            status: kept.status,
        }))
    }
}

/// Returns the summary and the content of a thought: as they were written, unless the text was
/// edited since.
fn thoughts<'a>(
    thought: &'a Reasoning,
    kept: &Kept<'a>,
) -> (OutThoughts<'a>, Option<OutThoughts<'a>>) {
    let plain = || match thought.text.as_str() {
        "" => OutThoughts::None([]),
        text => OutThoughts::One([OutThought { kind: "summary_text", text }]),
    };
    let (content, summary) = (kept.content, kept.summary);
    let said = content.and_then(said).or_else(|| summary.and_then(said));
    match said {
        Some(text) if text != thought.text => (plain(), None),
        Some(_) => (
            summary.map_or(OutThoughts::None([]), OutThoughts::Kept),
            content.map(OutThoughts::Kept),
        ),
        None => (plain(), content.map(OutThoughts::Kept)),
    }
}

/// Returns the text of a kept summary or content; `None` if it has no texts.
fn said(kept: &Json) -> Option<String> {
    let raw: &RawValue = serde_json::from_str(kept.as_str()).ok()?;
    let texts = lift::thoughts(Some(raw), At { list: "", index: 0 }, "").ok()?;
    (!texts.is_empty()).then(|| lift::joined(&texts))
}
