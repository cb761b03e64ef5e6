//! Which result answers which call.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;
use std::sync::Arc;

use context_core::message::is_blank;
use context_core::{Message, Part, Role};

/// Where a part is: its message and its position there.
pub(super) type Place = (usize, usize);

/// A call of the assistant.
#[derive(Debug)]
pub(super) struct Call<'a> {
    pub(super) place: Place,
    pub(super) id: &'a str,
    pub(super) name: &'a str,
    /// The result that answers it.
    pub(super) result: Option<Place>,
}

/// What a part is to its history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// Something that is sent.
    Content,
    /// A text without anything to read.
    Blank,
    /// A call of the assistant, by its number.
    Call(usize),
    /// A call of somebody else.
    StrayCall,
    /// The result of a call.
    Result(usize),
    /// A result without a call before it, or one too many.
    Orphan,
}

/// Calls in the order in which they stand, and the fate of every part.
#[derive(Debug)]
pub(super) struct Pairs<'a> {
    pub(super) calls: Vec<Call<'a>>,
    fates: Vec<Fate>,
    /// For each message, and behind the last, how many parts and how many calls come before it.
    before: Vec<(usize, usize)>,
    /// Whether two calls have one id.
    pub(super) repeats: bool,
}

/// The newest calls of one id: those the assistant made without anybody speaking in between.
#[derive(Debug)]
struct Newest {
    breath: usize,
    first: usize,
    more: Vec<usize>,
}

impl Newest {
    fn calls(&self) -> impl Iterator<Item = usize> {
        std::iter::once(self.first).chain(self.more.iter().copied())
    }
}

impl<'a> Pairs<'a> {
    /// Pairs by id, and where an id repeats by position: a result belongs to the newest calls of
    /// its id that come before it, to the first of them without one.
    pub(super) fn of(messages: &'a [Arc<Message>]) -> Self {
        let (calls, fates) = (Vec::new(), Vec::with_capacity(messages.len() * 2));
        let before = Vec::with_capacity(messages.len() + 1);
        let mut pairs = Self { calls, fates, before, repeats: false };
        let mut newest: HashMap<&str, Newest> = HashMap::new();
        let mut breath = 0;
        for (m, message) in messages.iter().enumerate() {
            pairs.before.push((pairs.fates.len(), pairs.calls.len()));
            if message.role != Role::Assistant && !message.parts.is_empty() {
                breath += 1;
            }
            for (p, part) in message.parts.iter().enumerate() {
                let fate = match part {
                    Part::Text(text) if is_blank(&text.text) => Fate::Blank,
                    Part::ToolCall(call) if message.role == Role::Assistant => {
                        let number = pairs.calls.len();
                        let alone = Newest { breath, first: number, more: Vec::new() };
                        match newest.entry(&call.id) {
                            Entry::Vacant(entry) => {
                                entry.insert(alone);
                            }
                            Entry::Occupied(mut entry) => {
                                pairs.repeats = true;
                                match entry.get_mut() {
                                    of_id if of_id.breath == breath => of_id.more.push(number),
                                    of_id => *of_id = alone,
                                }
                            }
                        }
                        pairs.calls.push(Call {
                            place: (m, p),
                            id: &call.id,
                            name: &call.name,
                            result: None,
                        });
                        Fate::Call(number)
                    }
                    Part::ToolCall(_) => Fate::StrayCall,
                    Part::ToolResult(result) => {
                        pairs.answer((m, p), newest.get(result.call_id.as_str()), messages)
                    }
                    _ => Fate::Content,
                };
                pairs.fates.push(fate);
            }
        }
        pairs.before.push((pairs.fates.len(), pairs.calls.len()));
        pairs
    }

    fn answer(&mut self, place: Place, calls: Option<&Newest>, messages: &[Arc<Message>]) -> Fate {
        let Some(newest) = calls else { return Fate::Orphan };
        let open = newest.calls().find(|call| self.calls[*call].result.is_none());
        let call = open.or_else(|| {
            // A failed attempt that was repeated: what came of it in the end is what counts.
            let failed = |call: &usize| {
                self.calls[*call].result.is_some_and(|result| is_error(messages, result))
            };
            newest.calls().find(|call| !is_error(messages, place) && failed(call))
        });
        let Some(call) = call else { return Fate::Orphan };
        if let Some((m, p)) = self.calls[call].result.replace(place) {
            let former = self.before[m].0 + p;
            self.fates[former] = Fate::Orphan;
        }
        Fate::Result(call)
    }

    /// What the parts of a message are.
    pub(super) fn fates(&self, message: usize) -> &[Fate] {
        &self.fates[self.before[message].0..self.before[message + 1].0]
    }

    /// The calls of a message.
    pub(super) fn calls_of(&self, message: usize) -> Range<usize> {
        self.before[message].1..self.before[message + 1].1
    }
}

fn is_error(messages: &[Arc<Message>], place: Place) -> bool {
    matches!(&messages[place.0].parts[place.1], Part::ToolResult(result) if result.is_error)
}
