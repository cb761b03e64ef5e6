//! Compactions that the provider makes, and the headers of its preliminary features.
//!
//! Source: the guides *Compaction on demand*, *Compaction at a token threshold* and *Context
//! editing* of the provider, October 2026.

use std::borrow::Cow;

use context_core::base::{DiagnosticCode, JsonMap, Severity};
use context_core::model::ProviderCompaction;
use context_core::{Diagnostic, Json};
use serde::Serialize;

use super::super::fields::Fields;
use super::super::form::Body;
use super::super::history::Turn;
use super::super::json;
use super::envelope::{Envelope, has_key};

/// The header of preliminary features.
const BETA: &str = "anthropic-beta";
/// The feature of compactions that a request asks for, whose blocks are signed.
const ON_DEMAND: &str = "compact-2026-09-04";
/// The feature of compactions that the provider makes in the midst of an answer.
const AT_THRESHOLD: &str = "compact-2026-01-12";
/// The feature of context editing.
const EDITING: &str = "context-management-2025-06-27";
/// The key of a body for context editing.
const MANAGEMENT: &str = "context_management";

#[derive(Serialize)]
struct Asked<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<&'a str>,
}

/// Asks for a compaction, and leaves out the keys that the provider refuses beside it.
pub(super) fn ask(
    envelope: &mut Envelope<'_>,
    compaction: &ProviderCompaction,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let mut note = |key: &str| {
        let (code, text) = (DiagnosticCode::Unrepresentable, "left out: not beside a compaction");
        diagnostics.push(Diagnostic::new(code, Severity::Info, key, text));
    };
    if envelope.tool_choice.take_if(|choice| matches!(choice.kind, "any" | "tool")).is_some() {
        note("tool_choice");
    }
    if let Some(config) = &mut envelope.output_config {
        if config.format.take().is_some() {
            note("output");
        }
        config.extra.0.retain(|(key, _)| key != "format");
        let is_empty = config.extra.0.is_empty();
        envelope.output_config.take_if(|_| is_empty);
    }
    for key in ["stop_sequences", MANAGEMENT, "compaction"] {
        if has_key(&envelope.extra, key) {
            note(key);
            envelope.extra.0.retain(|(other, _)| other != key);
        }
    }
    let instructions =
        compaction.instructions.as_deref().filter(|instructions| !instructions.trim().is_empty());
    let asked = json(&Asked { kind: "summarize", instructions });
    envelope.extra.0.push((Cow::Borrowed("compaction"), asked));
}

/// Returns the headers of the preliminary features that a body uses.
pub(super) fn headers(
    envelope: &Envelope<'_>,
    turns: &[Turn<'_>],
) -> impl Iterator<Item = (&'static str, &'static str)> {
    let blocks = turns.iter().flat_map(|turn| &turn.blocks);
    let compactions = blocks.filter_map(|block| match &block.body {
        Body::Opaque(value) => is_signed_compaction(value),
        _ => None,
    });
    let (mut signed, mut unsigned) = (has_key(&envelope.extra, "compaction"), false);
    for is_signed in compactions {
        (signed, unsigned) = (signed || is_signed, unsigned || !is_signed);
    }
    let management = envelope.extra.0.iter().find(|(key, _)| key == MANAGEMENT);
    let edits = management.map(|(_, value)| edits(value)).unwrap_or_default();
    let is_compacted = |kind: &String| kind.starts_with("compact_");
    unsigned |= edits.iter().any(is_compacted);
    let is_edited = edits.iter().any(|kind| !is_compacted(kind));
    [(signed, ON_DEMAND), (unsigned, AT_THRESHOLD), (is_edited, EDITING)]
        .into_iter()
        .filter_map(|(is_used, feature)| is_used.then_some((BETA, feature)))
}

/// Returns whether a block is a compaction with a signature. `None` if it is none.
pub(in crate::messages) fn is_signed_compaction(value: &Json) -> Option<bool> {
    let fields = Fields::inspect(value.as_raw())?;
    (fields.peek("type")? == "compaction")
        .then(|| fields.peek("signature").is_some_and(|signature| !signature.is_empty()))
}

/// Returns the types of the edits that a body asks for.
fn edits(management: &Json) -> Vec<String> {
    let map = management.parse::<JsonMap>().unwrap_or_default();
    let edits = map.get("edits").and_then(|edits| edits.parse::<Vec<Json>>().ok());
    let kind = |edit: &Json| Some(Fields::inspect(edit.as_raw())?.peek("type")?.into_owned());
    edits.unwrap_or_default().iter().filter_map(kind).collect()
}
