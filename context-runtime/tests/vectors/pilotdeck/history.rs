//! Groups `tool_pairs` and `trailing_user`: histories repaired by [`normalize`].
//!
//! Our repair does more than the recorded functions, each of which does one thing: a history that
//! begins with the assistant gets an opening, and adjacent tool messages may be merged. So
//! histories are compared after our opening, and if they differ once more with adjacent messages of
//! one role joined. The rule says which comparison passed.

use std::sync::Arc;

use context_runtime::{
    FragmentData, Message, Part, Role,
    model::{HistoryRules, Unanswered, normalize},
};

use super::messages::{Inexpressible, decode};
use super::{Case, json};
use crate::encoding::items;
use crate::judge::{Difference, Outcome};

pub(super) fn judge_pairs(case: &Case) -> Outcome {
    judge(case, &HistoryRules::new(), Unanswered::Remove)
}

pub(super) fn judge_end(case: &Case) -> Outcome {
    let mut rules = HistoryRules::new();
    rules.assistant_last = false;
    judge(case, &rules, Unanswered::Answer)
}

fn judge(case: &Case, rules: &HistoryRules, unanswered: Unanswered) -> Outcome {
    let FragmentData::List(expected) = case.output() else {
        return Outcome::Skipped("no history came of it".to_owned());
    };
    let decoded = decode(items(case.input(), "messages")).and_then(|given| {
        let expected = decode(expected.as_slice())?;
        Ok((given.messages, expected.messages))
    });
    let (given, expected) = match decoded {
        Ok(decoded) => decoded,
        Err(Inexpressible(what)) => {
            return Outcome::Skipped(format!("our messages do not say {what}"));
        }
    };
    let ours = normalize(&given, rules, unanswered, false).messages.into_owned();
    let checked =
        if case.is_suspect() { sound(&given, &ours, rules) } else { equal(&expected, &ours) };
    Outcome::of(checked)
}

pub(super) fn equal(
    expected: &[Arc<Message>],
    ours: &[Arc<Message>],
) -> Result<String, Difference> {
    let behind = behind_opening(ours, expected);
    let opening = if behind.len() < ours.len() { " behind our opening" } else { "" };
    if expected == behind {
        return Ok(format!("equal{opening}"));
    }
    if joined(expected) == joined(behind) {
        return Ok(format!("equal{opening} with neighbours of one role joined"));
    }
    Err(Difference::new("equal", written(expected), written(ours)))
}

/// Returns our history without the opening, if the expected one begins with the assistant, which no
/// provider accepts.
fn behind_opening<'a>(ours: &'a [Arc<Message>], expected: &[Arc<Message>]) -> &'a [Arc<Message>] {
    let bare = expected.first().is_some_and(|first| first.role == Role::Assistant);
    match ours.split_first() {
        Some((first, rest)) if bare && first.plain_text() == HistoryRules::OPENING => rest,
        _ => ours,
    }
}

pub(super) fn joined(messages: &[Arc<Message>]) -> Vec<(Role, Vec<Part>)> {
    let mut joined: Vec<(Role, Vec<Part>)> = Vec::new();
    for message in messages {
        match joined.last_mut().filter(|(role, _)| *role == message.role) {
            Some((_, parts)) => parts.extend(message.parts.iter().cloned()),
            None => joined.push((message.role, message.parts.clone())),
        }
    }
    joined
}

/// Checks that calls and results are adjacent and one to one, that texts of users and models are
/// kept, and that the end is valid.
fn sound(
    given: &[Arc<Message>],
    ours: &[Arc<Message>],
    rules: &HistoryRules,
) -> Result<String, Difference> {
    let rule = "pairs valid, begins with the user, no text lost";
    let fault = |what: String| Difference::new(rule, what, written(ours));
    pairs_valid(ours).map_err(&fault)?;
    if ours.first().is_some_and(|first| first.role != Role::User) {
        return Err(fault("a message of the user first".to_owned()));
    }
    if !rules.assistant_last && ours.last().is_some_and(|last| last.role == Role::Assistant) {
        return Err(fault("no assistant last".to_owned()));
    }
    let said = |messages: &[Arc<Message>]| -> Vec<String> {
        let texts = messages.iter().map(|message| message.plain_text().into_owned());
        texts.filter(|text| !text.trim().is_empty()).collect()
    };
    let kept = said(ours).join("\n");
    match said(given).into_iter().find(|text| !kept.contains(text.as_str())) {
        Some(lost) => Err(fault(format!("the text {lost:?}"))),
        None => Ok(rule.to_owned()),
    }
}

/// Checks that every call has one result directly after its message and every result a call before
/// it.
pub(super) fn pairs_valid(messages: &[Arc<Message>]) -> Result<(), String> {
    let mut open: Vec<String> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let results = message.parts.iter().filter_map(|part| match part {
            Part::ToolResult(result) => Some(&result.call_id),
            _ => None,
        });
        for id in results {
            let call = open.iter().position(|open| open == id);
            open.remove(call.ok_or_else(|| format!("a call {id:?} in front of message {at}"))?);
        }
        // Results may be in several messages. Any other message closes the turn.
        if message.role != Role::Tool && !open.is_empty() {
            return Err(format!("results of {open:?} in front of message {at}"));
        }
        open.extend(message.parts.iter().filter_map(|part| match part {
            Part::ToolCall(call) => Some(call.id.clone()),
            _ => None,
        }));
    }
    if open.is_empty() { Ok(()) } else { Err(format!("results of {open:?} at the end")) }
}

/// Formats a history for people.
pub(super) fn written(messages: &[Arc<Message>]) -> String {
    let lines =
        messages.iter().map(|message| serde_json::to_string(&**message).unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// Formats a recorded value for people.
pub(super) fn shown(data: &FragmentData) -> String {
    serde_json::to_string_pretty(&json(data)).unwrap_or_default()
}
