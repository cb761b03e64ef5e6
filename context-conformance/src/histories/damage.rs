//! Typical damage to conversations.

use std::sync::Arc;

use context_core::message::ToolInput;
use context_core::{Json, Message, Part, Role};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use super::MessageList;

/// One kind of damage. An [`Index`] picks among the candidates. Without a candidate, the damage
/// does nothing.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Damage {
    /// A message is lost.
    Drop(Index),
    /// A message is duplicated at any position.
    Duplicate(Index, Index),
    /// Two messages are swapped.
    Swap(Index, Index),
    /// The conversation breaks off within a message: this many of its parts remain, the last one
    /// halved.
    Truncate(Index, Index),
    /// Everything before a message is lost.
    CutFront(Index),
    /// Two ids of calls or results are swapped.
    CrossIds(Index, Index),
    /// The id of a call or result is replaced.
    SetId(Index, String),
    /// The id of a call is replaced, everywhere it occurs.
    Rename(Index, String),
    /// The name of a call is replaced.
    SetName(Index, String),
    /// A text becomes blank.
    Blank(Index, &'static str),
    /// A part is lost.
    DropPart(Index),
    /// All media of a message are lost.
    StripMedia(Index),
    /// A message loses all its parts.
    Empty(Index),
    /// Results are moved before their calls.
    ResultsFirst(Index),
    /// A message of this role is inserted right after a message.
    Interrupt(Index, Role),
    /// The input of a call becomes invalid.
    SetInput(Index, String),
    /// The role of a message is replaced.
    SetRole(Index, Role),
    /// A message is split in two.
    Split(Index, Index),
    /// A message is joined with the next one of its role.
    Join(Index),
    /// A part is moved to another message.
    MovePart(Index, Index),
    /// A part of an unknown kind is added.
    AddUnknown(Index),
    /// A thinking block loses its signature.
    Unsign(Index),
}

/// Generates up to six damages.
pub fn damages() -> impl Strategy<Value = Vec<Damage>> {
    let at = any::<Index>;
    let role = || prop::sample::select(vec![Role::System, Role::User, Role::Assistant, Role::Tool]);
    let blank = prop::sample::select(vec!["", " ", "\n\t", "\u{3000}", "\u{1c}"]);
    let input = prop::sample::select(vec![
        "",
        "{\"cut",
        "[1]",
        "null",
        "3",
        "\"text\"",
        "{\"a\":1,\"a\":2}",
    ]);
    let one = prop_oneof![
        3 => at().prop_map(Damage::Drop),
        3 => (at(), at()).prop_map(|(at, to)| Damage::Duplicate(at, to)),
        3 => (at(), at()).prop_map(|(at, other)| Damage::Swap(at, other)),
        2 => (at(), at()).prop_map(|(at, part)| Damage::Truncate(at, part)),
        1 => at().prop_map(Damage::CutFront),
        3 => (at(), at()).prop_map(|(at, other)| Damage::CrossIds(at, other)),
        2 => (at(), odd()).prop_map(|(at, id)| Damage::SetId(at, id)),
        2 => (at(), odd()).prop_map(|(at, id)| Damage::Rename(at, id)),
        2 => (at(), odd()).prop_map(|(at, name)| Damage::SetName(at, name)),
        2 => (at(), blank).prop_map(|(at, blank)| Damage::Blank(at, blank)),
        2 => at().prop_map(Damage::DropPart),
        1 => at().prop_map(Damage::StripMedia),
        1 => at().prop_map(Damage::Empty),
        2 => at().prop_map(Damage::ResultsFirst),
        3 => (at(), role()).prop_map(|(at, role)| Damage::Interrupt(at, role)),
        2 => (at(), input).prop_map(|(at, input)| Damage::SetInput(at, input.to_owned())),
        1 => (at(), role()).prop_map(|(at, role)| Damage::SetRole(at, role)),
        1 => (at(), at()).prop_map(|(at, part)| Damage::Split(at, part)),
        1 => at().prop_map(Damage::Join),
        2 => (at(), at()).prop_map(|(at, to)| Damage::MovePart(at, to)),
        1 => at().prop_map(Damage::AddUnknown),
        1 => at().prop_map(Damage::Unsign),
    ];
    vec(one, 0..=6)
}

/// Generates ids and names that some provider refuses, and that collide after sanitizing.
fn odd() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => Just(String::new()),
        1 => Just("call_000".to_owned()),
        1 => Just("x".repeat(65)),
        1 => Just(format!("{}1", "y".repeat(300))),
        1 => Just(format!("{}2", "y".repeat(300))),
        1 => prop::sample::select(vec!["a b", "a.b", "a:b", "ä", "🦀", "1st", "functions.read:0", "call|fc_1", "\n"])
            .prop_map(str::to_owned),
    ]
}

impl Damage {
    /// Applies the damage to a history.
    pub fn apply(&self, history: &mut MessageList) {
        if history.is_empty() {
            return;
        }
        let len = history.len();
        match self {
            Self::Drop(at) => drop(history.remove(at.index(len))),
            Self::Duplicate(at, to) => {
                history.insert(to.index(len + 1), Arc::clone(&history[at.index(len)]))
            }
            Self::Swap(at, other) => history.swap(at.index(len), other.index(len)),
            Self::Truncate(at, part) => truncate(history, at.index(len), part),
            Self::CutFront(at) => drop(history.drain(..at.index(len))),
            Self::CrossIds(at, other) => cross(history, at, other),
            Self::SetId(at, id) => with_part(history, at, has_id, |part| set_id(part, id)),
            Self::Rename(at, id) => rename(history, at, id),
            Self::SetName(at, name) => with_part(history, at, is_call, |part| {
                if let Part::ToolCall(call) = part {
                    name.clone_into(&mut call.name);
                }
            }),
            Self::Blank(at, blank) => {
                with_part(history, at, is_text, |part| *part = Part::text(*blank))
            }
            Self::DropPart(at) => {
                if let Some((message, part)) = pick(history, at, |_| true) {
                    parts(history, message).remove(part);
                }
            }
            Self::StripMedia(at) => parts(history, at.index(len)).retain_mut(|part| {
                if let Part::ToolResult(result) = part {
                    result.output.retain(|part| !is_media(part));
                }
                !is_media(part)
            }),
            Self::Empty(at) => parts(history, at.index(len)).clear(),
            Self::ResultsFirst(at) => {
                let at = at.index(len);
                if let Some(tool) = (at..len).find(|i| history[*i].role == Role::Tool && *i > 0) {
                    history.swap(tool - 1, tool);
                }
            }
            Self::Interrupt(at, role) => {
                history.insert(at.index(len) + 1, Message::text(*role, "Wait!").into())
            }
            Self::SetInput(at, input) => with_part(history, at, is_call, |part| {
                if let Part::ToolCall(call) = part {
                    call.input = ToolInput::from_written(input.as_str());
                }
            }),
            Self::SetRole(at, role) => Arc::make_mut(&mut history[at.index(len)]).role = *role,
            Self::Split(at, part) => {
                let at = at.index(len);
                let parts = parts(history, at);
                let rest = parts.split_off(part.index(parts.len() + 1));
                let rest = Message::new(history[at].role, rest);
                history.insert(at + 1, rest.into());
            }
            Self::Join(at) => {
                let at = at.index(len);
                if history.get(at + 1).is_some_and(|next| next.role == history[at].role) {
                    let next = history.remove(at + 1);
                    parts(history, at).extend(next.parts.iter().cloned());
                }
            }
            Self::MovePart(at, to) => {
                if let Some((message, part)) = pick(history, at, |_| true) {
                    let part = parts(history, message).remove(part);
                    parts(history, to.index(len)).push(part);
                }
            }
            Self::AddUnknown(at) => {
                let part = Part::Unknown(Json::from(
                    &serde_json::json!({"type": "hologram", "text": "x"}),
                ));
                parts(history, at.index(len)).push(part);
            }
            Self::Unsign(at) => with_part(history, at, is_thought, |part| {
                if let Part::Reasoning(thought) = part {
                    (thought.signature, thought.encrypted) = (None, None);
                }
            }),
        }
    }
}

fn parts(history: &mut MessageList, at: usize) -> &mut Vec<Part> {
    &mut Arc::make_mut(&mut history[at]).parts
}

fn pick(history: &MessageList, at: &Index, holds: fn(&Part) -> bool) -> Option<(usize, usize)> {
    let places = |(i, message): (usize, &Arc<Message>)| {
        let fitting = message.parts.iter().enumerate().filter(|(_, part)| holds(part));
        fitting.map(|(part, _)| (i, part)).collect::<Vec<_>>()
    };
    let places: Vec<(usize, usize)> = history.iter().enumerate().flat_map(places).collect();
    (!places.is_empty()).then(|| *at.get(&places))
}

fn with_part(
    history: &mut MessageList,
    at: &Index,
    holds: fn(&Part) -> bool,
    act: impl FnOnce(&mut Part),
) {
    if let Some((message, part)) = pick(history, at, holds) {
        act(&mut parts(history, message)[part]);
    }
}

fn truncate(history: &mut MessageList, at: usize, part: &Index) {
    history.truncate(at + 1);
    let parts = parts(history, at);
    parts.truncate(part.index(parts.len() + 1));
    match parts.last_mut() {
        Some(Part::Text(text)) => {
            let half = text.text.chars().count() / 2;
            text.text = text.text.chars().take(half).collect::<String>().into();
        }
        Some(Part::Reasoning(thought)) => thought.signature = None,
        Some(Part::ToolCall(call)) => {
            let written = call.input.as_written();
            let half: String = written.chars().take(written.chars().count() / 2).collect();
            call.input = ToolInput::from_written(half);
        }
        _ => {}
    }
}

fn cross(history: &mut MessageList, at: &Index, other: &Index) {
    let (Some(a), Some(b)) = (pick(history, at, has_id), pick(history, other, has_id)) else {
        return;
    };
    let id = |(message, part): (usize, usize)| {
        id(&history[message].parts[part]).unwrap_or_default().to_owned()
    };
    let (of_a, of_b) = (id(a), id(b));
    set_id(&mut parts(history, a.0)[a.1], &of_b);
    set_id(&mut parts(history, b.0)[b.1], &of_a);
}

fn rename(history: &mut MessageList, at: &Index, new: &str) {
    let Some((message, part)) = pick(history, at, is_call) else { return };
    let old = id(&history[message].parts[part]).unwrap_or_default().to_owned();
    for message in history {
        if message.parts.iter().any(|part| id(part) == Some(&old)) {
            let same =
                Arc::make_mut(message).parts.iter_mut().filter(|part| id(part) == Some(&old));
            same.for_each(|part| set_id(part, new));
        }
    }
}

fn id(part: &Part) -> Option<&str> {
    match part {
        Part::ToolCall(call) => Some(&call.id),
        Part::ToolResult(result) => Some(&result.call_id),
        _ => None,
    }
}

fn set_id(part: &mut Part, id: &str) {
    match part {
        Part::ToolCall(call) => id.clone_into(&mut call.id),
        Part::ToolResult(result) => id.clone_into(&mut result.call_id),
        _ => {}
    }
}

fn has_id(part: &Part) -> bool {
    id(part).is_some()
}

fn is_call(part: &Part) -> bool {
    matches!(part, Part::ToolCall(_))
}

fn is_text(part: &Part) -> bool {
    matches!(part, Part::Text(_))
}

fn is_thought(part: &Part) -> bool {
    matches!(part, Part::Reasoning(_))
}

fn is_media(part: &Part) -> bool {
    matches!(part, Part::Image(_) | Part::Document(_) | Part::Audio(_))
}
