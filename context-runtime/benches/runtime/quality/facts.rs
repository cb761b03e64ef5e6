//! Facts that are asked for later.
//!
//! A fact is a [value](super::values) that a user or a tool named first. An answer asks for it if
//! its text or the input of one of its calls has the value, and none of the [`DISTANCE`] messages
//! before it does: it has to come from further back. Values of the system prompt are no facts,
//! because they are always sent.

use std::collections::HashMap;
use std::sync::Arc;

use context_runtime::{Message, Part, Role};
use serde_json::Value;

use super::values::{cue, texts, values};

/// The number of messages before an answer in which an asked fact does not occur.
pub(crate) const DISTANCE: usize = 10;

/// A fact where it is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fact {
    pub(crate) value: String,
    /// The words in front of the value where it is used: the key of an argument, or words of the
    /// text. They are what a model can search for that does not know the value.
    pub(crate) cue: String,
}

/// The last mention of a value.
struct Mention {
    at: usize,
    /// Whether a user or a tool named it first, after the system prompt.
    is_fact: bool,
}

/// Returns the facts that each answer of a conversation asks for, by the index of the answer.
pub(crate) fn asked(messages: &[Arc<Message>]) -> HashMap<usize, Vec<Fact>> {
    let mut known: HashMap<String, Mention> = HashMap::new();
    let mut asked: HashMap<usize, Vec<Fact>> = HashMap::new();
    for (at, message) in messages.iter().enumerate() {
        if message.role == Role::Assistant {
            let mut facts: Vec<Fact> = Vec::new();
            for fact in used(message) {
                let is_asked = known
                    .get(&fact.value)
                    .is_some_and(|mention| mention.is_fact && at - mention.at > DISTANCE);
                if is_asked && facts.iter().all(|other| other.value != fact.value) {
                    facts.push(fact);
                }
            }
            if !facts.is_empty() {
                asked.insert(at, facts);
            }
        }
        let is_fact = matches!(message.role, Role::User | Role::Tool);
        for text in texts(message) {
            for (_, value) in values(&text) {
                match known.get_mut(value) {
                    Some(mention) => mention.at = at,
                    None => _ = known.insert(value.to_owned(), Mention { at, is_fact }),
                }
            }
        }
    }
    asked
}

/// Returns the values that an answer uses.
fn used(message: &Message) -> Vec<Fact> {
    let mut facts = Vec::new();
    for part in &message.parts {
        match part {
            Part::Text(text) => facts.extend(values(&text.text).map(|(start, value)| Fact {
                value: value.to_owned(),
                cue: cue(&text.text, start, 3),
            })),
            Part::ToolCall(call) => {
                if let Ok(input) = call.input.parse::<Value>() {
                    arguments(&input, "", &mut facts);
                }
            }
            _ => {}
        }
    }
    facts
}

/// Adds the values of the strings and numbers of an input, each with its key as the cue.
fn arguments(input: &Value, key: &str, facts: &mut Vec<Fact>) {
    match input {
        Value::Object(fields) => {
            fields.iter().for_each(|(key, value)| arguments(value, key, facts));
        }
        Value::Array(items) => items.iter().for_each(|item| arguments(item, key, facts)),
        Value::String(text) => {
            facts.extend(
                values(text).map(|(_, value)| Fact { value: value.to_owned(), cue: words_of(key) }),
            );
        }
        Value::Number(number) => facts.extend(
            values(&number.to_string())
                .map(|(_, value)| Fact { value: value.to_owned(), cue: words_of(key) }),
        ),
        Value::Null | Value::Bool(_) => {}
    }
}

/// Returns the words of a key: `reservation_id` is `reservation id`.
fn words_of(key: &str) -> String {
    let words = key.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}
