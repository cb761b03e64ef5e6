//! The values of a chain: where each was first seen, and which answers hold it.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher};

use context_core::{Chain, Message, Role};

use super::scan::{Located, answered, is_asked_for, seen, seen_in};
use super::sections::{Section, SectionPlace};
use super::shape::canonical;
use super::tokens::Token;

/// Maximum number of values that are kept: seven eighths of a table of 2^21 entries.
pub(super) const MAX_VALUES: usize = 1_835_008;
/// Maximum number of values of one answer that are linked.
pub(super) const MAX_LINKS: usize = 256;

/// The number of no message.
pub(super) const NONE: u32 = u32::MAX;

/// The occurrences of one value. Messages are numbered from 1; 0 is the system prompt.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    /// The first message.
    first: u32,
    /// The newest message.
    newest: u32,
    /// The newest message with the value in a part that no model wrote.
    newest_source: u32,
    /// The number of messages.
    pub(super) messages: u32,
    /// Whether a tool result holds the value as a whole string of JSON.
    is_known: bool,
}

/// A value of an answer that was seen before.
#[derive(Clone, Copy)]
pub(super) struct StoredLink {
    pub(super) value: u64,
    pub(super) first: u32,
    /// The newest message that no model wrote, before the answer. [`NONE`] if there is none.
    pub(super) last: u32,
}

/// Keys are hashes already.
#[derive(Clone, Copy, Default)]
pub(super) struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {}

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// Values by their hash.
pub(super) type ByHash<T> = HashMap<u64, T, BuildHasherDefault<Identity>>;

/// The table of values.
#[derive(Clone)]
pub(super) struct Table {
    /// Keyed at random: content of strangers must not be able to make hashes equal.
    hasher: RandomState,
    pub(super) entries: ByHash<Entry>,
    pub(super) links: Vec<StoredLink>,
    /// The answers with links: number and end of the links.
    pub(super) answers: Vec<(u32, usize)>,
    /// The number of messages with values.
    pub(super) messages: u32,
    limit: usize,
    pub(super) forgotten: u64,
}

impl Table {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            hasher: RandomState::new(),
            entries: ByHash::default(),
            links: Vec::new(),
            answers: Vec::new(),
            messages: 0,
            limit,
            forgotten: 0,
        }
    }

    pub(super) fn hash(&self, token: &Token<'_>) -> u64 {
        self.hasher.hash_one(&*canonical(token.value, token.kind))
    }

    pub(super) fn add_prompt(&mut self, prompt: &str) {
        let section = Section::plain(SectionPlace::Text, prompt);
        self.messages += 1;
        seen_in(&section, true, &mut |value| self.insert(&value, 0, true));
    }

    pub(super) fn add(&mut self, chain: &Chain, position: usize) {
        let Some(node) = chain.get(position).filter(|node| node.role().is_some()) else { return };
        let Ok(message) = node.message() else { return };
        if message.is_placeholder() {
            return;
        }
        let number = number(position);
        self.messages += 1;
        if message.role == Role::Assistant {
            self.link(message, number);
        }
        let of_model = message.role == Role::Assistant;
        seen(message, &mut |value| {
            let is_source = !of_model || matches!(value.section.place, SectionPlace::Result(_));
            self.insert(&value, number, is_source);
        });
    }

    /// Links an answer to the messages before it.
    fn link(&mut self, message: &Message, number: u32) {
        let start = self.links.len();
        let mut held = ByHash::<()>::default();
        answered(message, &mut |value| {
            let hash = self.hash(&value.token);
            let Some(entry) = self.entries.get(&hash) else { return false };
            if !is_asked_for(&value, entry.is_known) || self.links.len() - start >= MAX_LINKS {
                return false;
            }
            if held.insert(hash, ()).is_none() {
                let (first, last) = (entry.first, entry.newest_source);
                self.links.push(StoredLink { value: hash, first, last });
            }
            true
        });
        if self.links.len() > start {
            self.answers.push((number, self.links.len()));
        }
    }

    fn insert(&mut self, value: &Located<'_, '_>, number: u32, is_source: bool) {
        let hash = self.hash(&value.token);
        if self.entries.len() >= self.limit && !self.entries.contains_key(&hash) {
            self.forget();
        }
        let entry = self.entries.entry(hash).or_insert(Entry {
            first: number,
            newest: NONE,
            newest_source: NONE,
            messages: 0,
            is_known: false,
        });
        if entry.newest != number {
            entry.newest = number;
            entry.messages += 1;
        }
        if is_source {
            entry.newest_source = number;
        }
        entry.is_known |= value.is_whole && matches!(value.section.place, SectionPlace::Result(_));
    }

    /// Makes room. Of the values that only one message holds, the older half is forgotten; if these
    /// are few, the half of all values that was seen longest ago.
    fn forget(&mut self) {
        let before = self.entries.len();
        let single = self.entries.values().filter(|entry| entry.messages == 1);
        if let Some(oldest) = median(single.map(|entry| entry.first).collect()) {
            self.entries.retain(|_, entry| entry.messages > 1 || entry.first > oldest);
        }
        if self.entries.len() > self.limit / 8 * 7 {
            let oldest = median(self.entries.values().map(|entry| entry.newest).collect());
            self.entries.retain(|_, entry| Some(entry.newest) > oldest);
        }
        self.forgotten += (before - self.entries.len()) as u64;
    }

    /// Returns the links of an answer.
    pub(super) fn links_of(&self, number: u32) -> &[StoredLink] {
        match self.answers.binary_search_by_key(&number, |(answer, _)| *answer) {
            Ok(at) => self.links_at(at),
            Err(_) => &[],
        }
    }

    pub(super) fn links_at(&self, at: usize) -> &[StoredLink] {
        let start = at.checked_sub(1).map_or(0, |before| self.answers[before].1);
        &self.links[start..self.answers[at].1]
    }
}

fn median(mut numbers: Vec<u32>) -> Option<u32> {
    let middle = numbers.len().checked_sub(1)? / 2;
    Some(*numbers.select_nth_unstable(middle).1)
}

/// Returns the number of the message at a position of the chain.
pub(super) fn number(position: usize) -> u32 {
    u32::try_from(position).map_or(NONE - 1, |position| position.min(NONE - 2) + 1)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use context_core::{MessageId, Node, Part, Timestamp};

    use super::super::{DataLink, ProvenanceIndex};
    use super::*;

    const ROUNDS: usize = 80;
    const LIMIT: usize = 64;

    fn id(round: usize, at: usize) -> MessageId {
        format!("m{round}.{at}").into()
    }

    /// Returns rounds of a result with values of its own and an answer. An answer names a new
    /// value, that of the task, and one of many rounds ago, which two answers name.
    fn chain() -> Chain {
        let task = Message::text(Role::User, "Look after ticket TASK-4711.");
        let first = Arc::new(Node::new("task", task, Timestamp::default()));
        let rounds = (1..=ROUNDS).flat_map(|round| {
            let call = format!("c{round}");
            let values: Vec<_> = (0..4).map(|at| format!("VAL{round}X{at}")).collect();
            let old = format!("VAL{}X1", round.saturating_sub(50) / 2 * 2 + 1);
            let messages = [
                Message::new(
                    Role::Assistant,
                    [Part::tool_call(call.as_str(), "look", serde_json::json!({}))],
                ),
                Message::new(Role::Tool, [Part::tool_result(call.as_str(), values.join(", "))]),
                Message::text(
                    Role::Assistant,
                    format!("TASK-4711: {}, and {old} of before.", values[0]),
                ),
            ];
            messages.into_iter().enumerate().map(move |(at, message)| {
                Arc::new(Node::new(id(round, at), message, Timestamp::default()))
            })
        });
        Chain::from_nodes(0, [first].into_iter().chain(rounds))
    }

    fn links(index: &ProvenanceIndex, round: usize) -> Vec<DataLink> {
        index.sources(&id(round, 2)).unwrap().links
    }

    fn holds(chain: &Chain, message: &MessageId, value: &str) -> bool {
        let node = &chain[chain.position(message).unwrap()];
        String::from_utf8_lossy(node.body().bytes()).contains(value)
    }

    #[test]
    fn a_full_table_forgets_and_answers_what_it_knows() {
        let chain = chain();
        let whole = ProvenanceIndex::of(&chain);
        let small = ProvenanceIndex::build(None, &chain, LIMIT);
        assert_eq!((whole.forgotten(), small.forgotten() > 0), (0, true));
        assert!(small.table.entries.len() <= LIMIT);
        for round in 1..=ROUNDS {
            let (all, kept) = (links(&whole, round), links(&small, round));
            let newest = format!("VAL{round}X0");
            for value in [newest.as_str(), "TASK-4711"] {
                // New values and those that many messages hold are not forgotten.
                let of = |links: &[DataLink]| {
                    links.iter().find(|link| link.value == value).map(|it| it.first.message.clone())
                };
                assert_eq!((of(&kept), of(&kept).is_some()), (of(&all), true), "{round}: {value}");
            }
            for link in kept {
                // It may miss the true source of a value, but names none that does not hold it.
                let source = link.first.message.unwrap();
                assert!(holds(&chain, &source, &link.value), "{round}: {}", link.value);
                assert!(chain.position(&source) < chain.position(&link.answer));
                let also =
                    |other: &DataLink| (&other.value, &other.place) == (&link.value, &link.place);
                assert!(all.iter().any(also), "{round}: {}", link.value);
            }
        }
        let has_old = |index| links(index, ROUNDS).iter().any(|link| link.value == "VAL31X1");
        assert_eq!((has_old(&whole), has_old(&small)), (true, false), "the oldest go first");
    }

    #[test]
    fn a_full_table_that_is_extended_is_the_one_that_is_built_at_once() {
        let chain = chain();
        let mut index = ProvenanceIndex::build(None, &chain.prefix(100), LIMIT);
        index.extend(&chain);
        let built = ProvenanceIndex::build(None, &chain, LIMIT);
        assert_eq!(index.forgotten(), built.forgotten());
        for round in 1..=ROUNDS {
            assert_eq!(links(&index, round), links(&built, round), "{round}");
        }
    }
}
