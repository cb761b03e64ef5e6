//! Removing from a history what a provider objects to.

use std::collections::HashSet;
use std::sync::Arc;

use context_codec_kit::normalize::{HistoryRules, normalize};

use context_core::history::{
    Boundary, BoundaryKind, Edit, HistoryRewrite, HistoryView, Plan, PlanError,
};
use context_core::message::Text;
use context_core::model::Unanswered;
use context_core::{Message, Metadata, Part, Role, ToolCall};

/// Returns the plan that removes the model's reasoning and its signatures. `None` if there are
/// none.
pub(super) fn without_thoughts(view: &HistoryView<'_>) -> Option<Result<Plan, PlanError>> {
    let mut edits = Vec::new();
    for (at, message) in view.messages().iter().enumerate() {
        match unthinking(message) {
            Some(message) if message.is_placeholder() => edits.push(Edit::remove(at..at + 1)),
            Some(message) => edits.push(Edit::replace(at, message)),
            None => {}
        }
    }
    let summary = format!("thoughts of {} messages removed", edits.len());
    let plan =
        |edits| Plan::of_any_size("remove-thoughts", BoundaryKind::Strip, view, edits, summary);
    Some(edits).filter(|edits| !edits.is_empty()).map(plan)
}

/// Returns the message without reasoning and signatures. `None` if it has none.
fn unthinking(message: &Message) -> Option<Message> {
    let is_thought = |part: &Part| matches!(part, Part::Reasoning(_));
    let signs = |part: &Part| {
        metadata(part).is_some_and(|metadata| metadata.iter().any(|(key, _)| is_signature(key)))
    };
    if message.role != Role::Assistant
        || !message.parts.iter().any(|part| is_thought(part) || signs(part))
    {
        return None;
    }
    let mut message = message.clone();
    message.parts.retain(|part| !is_thought(part));
    for part in &mut message.parts {
        let (Part::Text(Text { metadata, .. }) | Part::ToolCall(ToolCall { metadata, .. })) = part
        else {
            continue;
        };
        let signatures: Vec<String> = metadata
            .iter()
            .map(|(key, _)| key.to_owned())
            .filter(|key| is_signature(key))
            .collect();
        for key in signatures {
            metadata.remove(&key);
        }
    }
    Some(message)
}

fn metadata(part: &Part) -> Option<&Metadata> {
    match part {
        Part::Text(text) => Some(&text.metadata),
        Part::ToolCall(call) => Some(&call.metadata),
        _ => None,
    }
}

/// Whether a metadata key of a part holds a reasoning signature, as codecs store it.
fn is_signature(key: &str) -> bool {
    key.to_ascii_lowercase().ends_with("signature")
}

/// Returns the history with its call/result pairs repaired: without the calls and results that the
/// provider's message names, without calls that have no results, and if that changes nothing,
/// without opaque blocks that only their provider understands. `None` if nothing changes.
pub(super) fn paired(messages: &[Arc<Message>], words: &str) -> Option<HistoryRewrite> {
    let named = named_ids(messages, words);
    let is_named = |part: &Part| match part {
        Part::ToolCall(call) => named.contains(call.id.as_str()),
        Part::ToolResult(result) => named.contains(result.call_id.as_str()),
        _ => false,
    };
    repaired(messages, is_named)
        .or_else(|| repaired(messages, |part| matches!(part, Part::Opaque(_))))
}

fn repaired(messages: &[Arc<Message>], goes: impl Fn(&Part) -> bool) -> Option<HistoryRewrite> {
    let mut changed = false;
    let mut out = HistoryRewrite::default();
    for (at, message) in messages.iter().enumerate() {
        let message = match message.parts.iter().any(&goes) {
            true => {
                changed = true;
                let mut message = Message::clone(message);
                message.parts.retain(|part| !goes(part));
                if message.is_placeholder() {
                    continue;
                }
                Arc::new(message)
            }
            false => Arc::clone(message),
        };
        out.messages.push(message);
        out.origins.push(Some(at));
    }
    let normal = normalize(&out.messages, &HistoryRules::new(), Unanswered::Remove, false);
    changed |= !normal.diagnostics.is_empty();
    if !changed || normal.messages.is_empty() {
        return None;
    }
    let origins =
        (0..normal.messages.len()).map(|at| out.origins.get(normal.origin(at)).copied().flatten());
    let origins: Vec<Option<usize>> = origins.collect();
    let left = once(origins).into_iter().zip(normal.messages.into_owned());
    let rewrite = HistoryRewrite::new(messages.len(), left);
    let boundary = Boundary::new(BoundaryKind::Strip, rewrite.messages.len());
    Some(rewrite.boundary(boundary))
}

/// Keeps each origin only for the first message made from it.
fn once(mut origins: Vec<Option<usize>>) -> Vec<Option<usize>> {
    let mut seen = HashSet::new();
    for origin in &mut origins {
        *origin = origin.filter(|at| seen.insert(*at));
    }
    origins
}

/// Returns the ids of calls and results that occur in the message. Ids that could be ordinary words
/// are ignored.
fn named_ids<'a>(messages: &'a [Arc<Message>], words: &str) -> HashSet<&'a str> {
    let inside = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let named: HashSet<&str> =
        words.split(|c| !inside(c)).filter(|word| is_telling(word)).collect();
    let ids = messages.iter().flat_map(|message| &message.parts).filter_map(|part| match part {
        Part::ToolCall(call) => Some(call.id.as_str()),
        Part::ToolResult(result) => Some(result.call_id.as_str()),
        _ => None,
    });
    ids.filter(|id| named.contains(id)).collect()
}

fn is_telling(word: &str) -> bool {
    word.len() >= 4 && word.contains(|c: char| c.is_ascii_digit() || c == '_')
}
