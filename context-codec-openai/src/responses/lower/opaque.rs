//! Opaque blocks that are passed on unchanged: only whole pairs of a call and its output.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use context_core::base::{DiagnosticCode, Severity};
use context_core::message::OpaqueBlock;
use context_core::{Diagnostic, Json, Message, Part};
use serde_json::value::RawValue;

use crate::responses::form::{Item, peek};
use crate::responses::keys::{CONTENT_PROVIDER, PROVIDER};

/// Calls of the provider's tools that want an output, from the provider or the client. The type of
/// the output is the call's type plus `_output`.
const CALLS: [&str; 5] =
    ["computer_call", "local_shell_call", "shell_call", "apply_patch_call", "tool_search_call"];

/// Leaves out halves of pairs: a call is sent once, followed by one output. Returns `None` if all
/// pairs are whole. If the conversation `continues` one at the provider, an output may be alone.
/// Must run before a history is normalised, because normalisation handles the messages that become
/// empty.
pub(in crate::responses) fn in_pairs(
    messages: &[Arc<Message>],
    continues: bool,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Vec<Arc<Message>>> {
    let mut unpaired = unpaired_items(messages, continues);
    if unpaired.is_empty() {
        return None;
    }
    unpaired.sort_unstable();
    let mut whole = messages.to_vec();
    for (message, part) in unpaired.into_iter().rev() {
        Arc::make_mut(&mut whole[message]).parts.remove(part);
        let path = format!("messages[{message}].parts[{part}]");
        let reason = "left out: a call without its output, or an output without its call";
        diagnostics.push(Diagnostic::new(
            DiagnosticCode::Unpaired,
            Severity::Warning,
            path,
            reason,
        ));
    }
    Some(whole)
}

/// Returns the places of calls without outputs and outputs without calls.
fn unpaired_items(messages: &[Arc<Message>], continues: bool) -> Vec<(usize, usize)> {
    let (mut open, mut closed, mut unpaired) = (HashMap::new(), HashSet::new(), Vec::new());
    for (m, message) in messages.iter().enumerate() {
        for (p, part) in message.parts.iter().enumerate() {
            let Part::Opaque(block) = part else { continue };
            match pair_side(block) {
                None => {}
                Some((PairSide::Call, id)) => {
                    if closed.contains(&id) || open.contains_key(&id) {
                        unpaired.push((m, p));
                    } else {
                        open.insert(id, (m, p));
                    }
                }
                Some((PairSide::Output, id)) => {
                    let is_answer = open.remove(&id).is_some();
                    if !closed.insert(id) || !(is_answer || continues) {
                        unpaired.push((m, p));
                    }
                }
            }
        }
    }
    unpaired.extend(open.into_values());
    unpaired
}

enum PairSide {
    Call,
    Output,
}

fn pair_side(block: &OpaqueBlock) -> Option<(PairSide, String)> {
    if !is_item(block) {
        return None;
    }
    let item: Item<'_> = serde_json::from_str(block.value.as_str()).ok()?;
    let kind = item.kind.and_then(peek)?;
    let (pair_side, call) = match kind.strip_suffix("_output") {
        Some(call) => (PairSide::Output, call),
        None => (PairSide::Call, kind.as_ref()),
    };
    // Outputs of local shells name the call in their own id.
    let id = item.call_id.or_else(|| item.id.filter(|_| kind == "local_shell_call_output"))?;
    CALLS.contains(&call).then(|| Some((pair_side, peek(id)?.into_owned())))?
}

/// Returns whether a block is an item of Responses.
pub(super) fn is_item(block: &OpaqueBlock) -> bool {
    block.provider == PROVIDER && !is_content(block)
}

/// Returns whether a block is a part of a content of Responses and not an item. A block made by
/// hand may not say so; then its type decides.
pub(in crate::responses) fn is_content(block: &OpaqueBlock) -> bool {
    if block.provider != PROVIDER {
        return block.provider == CONTENT_PROVIDER;
    }
    let kind = kind(&block.value);
    let kind = kind.as_deref().unwrap_or_default();
    kind.starts_with("input_")
        || kind.starts_with("output_")
        || matches!(kind, "computer_screenshot" | "text")
}

/// Returns whether a block names itself: an item has a type or, if it refers to another, an id.
pub(in crate::responses) fn is_named(block: &OpaqueBlock) -> bool {
    kind(&block.value).is_some() || id(block).is_some_and(|id| id.starts_with('"'))
}

/// Returns the id of an item, as it is written.
pub(super) fn id(block: &OpaqueBlock) -> Option<&str> {
    let item: Item<'_> = serde_json::from_str(block.value.as_str()).ok()?;
    item.id.map(RawValue::get)
}

pub(super) fn omission_reason(block: &OpaqueBlock) -> &'static str {
    match block.provider.as_str() {
        _ if is_content(block) => "a part of a message that the provider does not know",
        PROVIDER if is_named(block) => "an item that is already in the request",
        PROVIDER => "an item without a type",
        _ => "a block of another provider",
    }
}

fn kind(block: &Json) -> Option<Cow<'_, str>> {
    #[derive(serde::Deserialize)]
    struct Head<'a> {
        #[serde(borrow, rename = "type")]
        kind: Option<&'a RawValue>,
    }
    let head: Head<'_> = serde_json::from_str(block.as_str()).ok()?;
    peek(head.kind?)
}
