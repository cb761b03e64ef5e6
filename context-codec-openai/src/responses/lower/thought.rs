//! Lowering of thoughts: unchanged, or not at all.

use context_core::Json;
use context_core::message::Reasoning;
use serde_json::value::RawValue;

use super::part_metadata::PartMetadata;
use super::{Mode, Writer};
use crate::responses::form::{ItemOut, ItemPath, OutReasoning, OutThought, OutThoughts};
use crate::responses::keys::PROVIDER;
use crate::responses::lift;

impl<'a> Writer<'a> {
    pub(super) fn thought(&mut self, thought: &'a Reasoning) -> Option<ItemOut<'a>> {
        let metadata = PartMetadata::of(&thought.metadata);
        if let Mode::Send { stored } = self.mode {
            if thought.provider.as_deref() != Some(PROVIDER) {
                self.report_omitted("a thought of another provider");
                return None;
            }
            let whole = thought.encrypted.is_some()
                || metadata.content.is_some_and(|content| content.as_str() != "[]");
            if metadata.id.is_none() || !(whole || stored) {
                self.report_omitted("a thought without its id, or one that only the provider held, with storage switched off");
                return None;
            }
        }
        let id = self.fresh(metadata.id);
        if id.is_none() && self.is_for_sending() {
            self.report_omitted("the same thought a second time");
            return None;
        }
        let (summary, content) = thoughts(thought, &metadata);
        Some(ItemOut::Reasoning(OutReasoning {
            kind: "reasoning",
            id,
            summary,
            content,
            encrypted_content: thought.encrypted.as_ref(),
            status: metadata.status,
        }))
    }
}

/// Returns the summary and the content of a thought: as they were written, unless the text was
/// edited since.
fn thoughts<'a>(
    thought: &'a Reasoning,
    metadata: &PartMetadata<'a>,
) -> (OutThoughts<'a>, Option<OutThoughts<'a>>) {
    let plain = || match &thought.text {
        text if text.is_empty() => OutThoughts::None([]),
        text => OutThoughts::One([OutThought { kind: "summary_text", text }]),
    };
    let (content, summary) = (metadata.content, metadata.summary);
    let text = content.and_then(joined_text).or_else(|| summary.and_then(joined_text));
    match text {
        Some(text) if *text != *thought.text => (plain(), None),
        Some(_) => (
            summary.map_or(OutThoughts::None([]), OutThoughts::Source),
            content.map(OutThoughts::Source),
        ),
        None => (plain(), content.map(OutThoughts::Source)),
    }
}

/// Returns the text of a summary or content; `None` if it has no texts.
fn joined_text(source: &Json) -> Option<String> {
    let raw: &RawValue = serde_json::from_str(source.as_str()).ok()?;
    let texts = lift::thoughts(Some(raw), ItemPath { list: "", index: 0 }, "").ok()?;
    (!texts.is_empty()).then(|| lift::joined(&texts))
}
