//! Selection of the old results.

use std::collections::HashMap;
use std::sync::Arc;

use context_core::{Message, Part, Role};

use crate::options::KeepNewest;

/// The position of a part: its message, and its index in the message.
pub(crate) type PartPosition = (usize, usize);

/// The results that may be shortened, and the first message that stays.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    pub(crate) positions: Vec<PartPosition>,
    /// The first message that stays as it is.
    pub(crate) end: usize,
}

/// The calls with one id in one message.
#[derive(Debug, Default)]
struct Calls<'a> {
    message: usize,
    names: Vec<&'a str>,
    answered: usize,
}

/// Returns the results of the requested tools, except the newest and those that the model has not
/// answered yet. A result belongs to the newest message before it that calls with its id, and there
/// to the first call without a result.
pub(crate) fn candidates(
    messages: &[Arc<Message>],
    keep: KeepNewest,
    is_included: impl Fn(Option<&str>) -> bool,
) -> Candidates {
    let mut positions = positions(messages, is_included);
    let kept = match keep {
        KeepNewest::Results(count) => positions.len().saturating_sub(count),
        KeepNewest::Messages(count) => first_of_newest(&positions, count),
    };
    let read = messages.iter().rposition(|message| message.role == Role::Assistant).unwrap_or(0);
    let unread = positions.partition_point(|(message, _)| *message < read);
    let end = positions.get(kept.min(unread)).map_or(read, |(message, _)| (*message).min(read));
    positions.truncate(kept.min(unread));
    Candidates { positions, end }
}

/// Returns how many places precede those in the newest `count` messages.
fn first_of_newest(positions: &[PartPosition], count: usize) -> usize {
    let (mut messages, mut last) = (0, None);
    for (at, (message, _)) in positions.iter().enumerate().rev() {
        if last != Some(*message) {
            (messages, last) = (messages + 1, Some(*message));
        }
        if messages > count {
            return at + 1;
        }
    }
    0
}

fn positions(
    messages: &[Arc<Message>],
    is_included: impl Fn(Option<&str>) -> bool,
) -> Vec<PartPosition> {
    let mut calls: HashMap<&str, Calls<'_>> = HashMap::new();
    let mut verdicts: HashMap<Option<&str>, bool> = HashMap::new();
    let mut positions = Vec::new();
    for (m, message) in messages.iter().enumerate() {
        for (p, part) in message.parts.iter().enumerate() {
            match part {
                Part::ToolCall(call) if message.role == Role::Assistant => {
                    let of_id = calls.entry(&call.id).or_default();
                    if of_id.message != m {
                        *of_id = Calls { message: m, ..Calls::default() };
                    }
                    of_id.names.push(&call.name);
                }
                Part::ToolResult(result) => {
                    let called = calls.get_mut(result.call_id.as_str()).and_then(|calls| {
                        let name = calls.names.get(calls.answered).or(calls.names.last()).copied();
                        calls.answered += 1;
                        name
                    });
                    let name = called.or(result.name.as_deref());
                    if *verdicts.entry(name).or_insert_with(|| is_included(name)) {
                        positions.push((m, p));
                    }
                }
                _ => {}
            }
        }
    }
    positions
}
