//! Matching of results with calls.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;
use std::sync::Arc;

use context_core::{Message, Part, Role};

/// The position of a part: its message, and its index in the message.
pub(super) type PartPosition = (usize, usize);

/// A call of the assistant.
#[derive(Debug)]
pub(super) struct Call<'a> {
    pub(super) position: PartPosition,
    pub(super) id: &'a str,
    pub(super) name: &'a str,
    /// The position of its result.
    pub(super) result: Option<PartPosition>,
}

/// The classification of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartClass {
    /// Content that is sent.
    Content,
    /// A blank text.
    Blank,
    /// A call of the assistant, by number.
    Call(usize),
    /// A call in a message of another role.
    StrayCall,
    /// The result of a call.
    Result(usize),
    /// A result without a preceding call, or a redundant one.
    Orphan,
}

/// The calls in order, and the classification of every part.
#[derive(Debug)]
pub(super) struct Pairs<'a> {
    pub(super) calls: Vec<Call<'a>>,
    classes: Vec<PartClass>,
    /// For each message, and at the end, the number of parts and calls before it.
    before: Vec<(usize, usize)>,
    /// Whether two calls have the same id.
    pub(super) repeats: bool,
}

/// The newest calls with one id: those that the assistant made without a message of another role in
/// between.
#[derive(Debug)]
struct NewestCalls {
    run: usize,
    first: usize,
    more: Vec<usize>,
}

impl NewestCalls {
    fn calls(&self) -> impl Iterator<Item = usize> {
        std::iter::once(self.first).chain(self.more.iter().copied())
    }
}

impl<'a> Pairs<'a> {
    /// Pairs by id, and if an id repeats, by position: a result belongs to the first call without a
    /// result among the newest preceding calls with its id.
    pub(super) fn of(messages: &'a [Arc<Message>]) -> Self {
        let (calls, classes) = (Vec::new(), Vec::with_capacity(messages.len() * 2));
        let before = Vec::with_capacity(messages.len() + 1);
        let mut pairs = Self { calls, classes, before, repeats: false };
        let mut newest: HashMap<&str, NewestCalls> = HashMap::new();
        let mut run = 0;
        for (m, message) in messages.iter().enumerate() {
            pairs.before.push((pairs.classes.len(), pairs.calls.len()));
            if message.role != Role::Assistant && !message.parts.is_empty() {
                run += 1;
            }
            for (p, part) in message.parts.iter().enumerate() {
                let class = match part {
                    Part::Text(text) if text.text.is_blank() => PartClass::Blank,
                    Part::ToolCall(call) if message.role == Role::Assistant => {
                        let number = pairs.calls.len();
                        let alone = NewestCalls { run, first: number, more: Vec::new() };
                        match newest.entry(&call.id) {
                            Entry::Vacant(entry) => {
                                entry.insert(alone);
                            }
                            Entry::Occupied(mut entry) => {
                                pairs.repeats = true;
                                match entry.get_mut() {
                                    of_id if of_id.run == run => of_id.more.push(number),
                                    of_id => *of_id = alone,
                                }
                            }
                        }
                        pairs.calls.push(Call {
                            position: (m, p),
                            id: &call.id,
                            name: &call.name,
                            result: None,
                        });
                        PartClass::Call(number)
                    }
                    Part::ToolCall(_) => PartClass::StrayCall,
                    Part::ToolResult(result) => {
                        pairs.answer((m, p), newest.get(result.call_id.as_str()), messages)
                    }
                    _ => PartClass::Content,
                };
                pairs.classes.push(class);
            }
        }
        pairs.before.push((pairs.classes.len(), pairs.calls.len()));
        pairs
    }

    fn answer(
        &mut self,
        position: PartPosition,
        calls: Option<&NewestCalls>,
        messages: &[Arc<Message>],
    ) -> PartClass {
        let Some(newest) = calls else { return PartClass::Orphan };
        let open = newest.calls().find(|call| self.calls[*call].result.is_none());
        let call = open.or_else(|| {
            // A failed attempt that was repeated: the final result counts.
            let failed = |call: &usize| {
                self.calls[*call].result.is_some_and(|result| is_error(messages, result))
            };
            newest.calls().find(|call| !is_error(messages, position) && failed(call))
        });
        let Some(call) = call else { return PartClass::Orphan };
        if let Some((m, p)) = self.calls[call].result.replace(position) {
            let former = self.before[m].0 + p;
            self.classes[former] = PartClass::Orphan;
        }
        PartClass::Result(call)
    }

    /// Returns the classification of a message's parts.
    pub(super) fn classes(&self, message: usize) -> &[PartClass] {
        &self.classes[self.before[message].0..self.before[message + 1].0]
    }

    /// Returns the calls of a message.
    pub(super) fn calls_of(&self, message: usize) -> Range<usize> {
        self.before[message].1..self.before[message + 1].1
    }
}

fn is_error(messages: &[Arc<Message>], position: PartPosition) -> bool {
    matches!(&messages[position.0].parts[position.1], Part::ToolResult(result) if result.is_error)
}
