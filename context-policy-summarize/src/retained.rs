//! Changes in messages that stay: shortening a first request that is too large, and removing
//! thoughts whose signatures no longer fit.

use std::collections::HashSet;
use std::ops::Range;

use context_core::history::{Edit, HistoryView};
use context_core::{Message, Part, Role};

use crate::quote::ExcerptLimits;

/// The shortest length of a shortened text, in bytes.
const SHORTEST: usize = 200;

/// Returns the message with the middle of its texts left out, so that it has at most `tokens`
/// tokens as far as its texts allow. Returns `None` if it is not larger, or has no text to shorten.
pub(crate) fn shortened(view: &HistoryView<'_>, message: &Message, tokens: u64) -> Option<Message> {
    let mut has = view.count(message);
    let texts = message.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.text.len()),
        _ => None,
    });
    let mut bytes = texts.max().unwrap_or(0);
    let mut short = None;
    while has > tokens && bytes > SHORTEST {
        let share = bytes as f64 * (tokens as f64 / has as f64) * 0.9;
        bytes = (share as usize).min(bytes / 8 * 7).max(SHORTEST);
        let ends = ExcerptLimits::of(bytes);
        let mut candidate = message.clone();
        for part in &mut candidate.parts {
            if let Part::Text(text) = part {
                text.text = ends.of_text(&text.text).into();
            }
        }
        has = view.count(&candidate);
        short = Some(candidate);
    }
    short.filter(|short| view.count(short) < view.count(message))
}

/// Returns edits that remove, in each finished turn, the thoughts of providers that signed one of
/// the turn's thoughts.
pub(crate) fn without_signed_thoughts(view: &HistoryView<'_>, range: Range<usize>) -> Vec<Edit> {
    let messages = view.messages();
    let mut turns = view.structure().turns(messages.len());
    // The last turn may be running: its steps are sent back unchanged.
    turns.pop();
    let mut edits = Vec::new();
    for turn in turns {
        let turn = turn.start.max(range.start)..turn.end.min(range.end);
        let thoughts = |at: usize| messages[at].parts.iter().filter_map(thought);
        let signed: HashSet<Option<&str>> = turn
            .clone()
            .filter(|at| messages[*at].role == Role::Assistant)
            .flat_map(thoughts)
            .filter_map(|(signed, provider)| signed.then_some(provider))
            .collect();
        let goes =
            |part: &Part| thought(part).is_some_and(|(_, provider)| signed.contains(&provider));
        for at in turn.filter(|at| messages[*at].role == Role::Assistant) {
            let message = &messages[at];
            if !message.parts.iter().any(goes) {
                continue;
            }
            let mut left = Message::clone(message);
            left.parts.retain(|part| !goes(part));
            edits.push(match left.parts.is_empty() {
                true => Edit::remove(at..at + 1),
                false => Edit::replace(at, left),
            });
        }
    }
    edits
}

/// Returns whether a thought is signed, and its provider; `None` for any other part.
fn thought(part: &Part) -> Option<(bool, Option<&str>)> {
    match part {
        Part::Reasoning(thought) => {
            Some((thought.signature.is_some(), thought.provider.as_deref()))
        }
        _ => None,
    }
}
