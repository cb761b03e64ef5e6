//! Provenance: the messages from which the data in an answer came, found in the messages alone.
//!
//! A [`ProvenanceIndex`] of a chain answers two questions. [`sources`](ProvenanceIndex::sources)
//! of an answer: which values in its text and in the arguments of its calls occur in earlier
//! messages, and where was each first seen? [`uses`](ProvenanceIndex::uses) of a tool result or
//! another message: which later answers hold values that were first seen in it?
//!
//! ```
//! use std::sync::Arc;
//!
//! use context_runtime::provenance::{AnswerPlace, ProvenanceIndex, SourcePlace};
//! use context_runtime::store::{Chain, Node};
//! use context_runtime::{Message, Part, Role, Timestamp};
//!
//! let message = |id: &str, role, part| {
//!     Arc::new(Node::new(id, Message::new(role, [part]), Timestamp::default()))
//! };
//! let chain = Chain::from_nodes(0, [
//!     message("m1", Role::User, Part::text("Cancel my trip to Oslo, please.")),
//!     message("m2", Role::Assistant, Part::tool_call("c1", "trips", serde_json::json!({}))),
//!     message("m3", Role::Tool, Part::tool_result("c1", r#"{"trips": [{"id": "EHGLP3"}]}"#)),
//!     message("m4", Role::Assistant,
//!         Part::tool_call("c2", "cancel", serde_json::json!({"id": "EHGLP3"}))),
//! ]);
//! let index = ProvenanceIndex::of(&chain);
//!
//! let links = index.sources(&"m4".into()).unwrap().links;
//! assert_eq!((links.len(), links[0].value.as_str()), (1, "EHGLP3"));
//! assert!(matches!(&links[0].place, AnswerPlace::Argument { pointer, .. } if pointer == "/id"));
//! let source = &links[0].first;
//! assert_eq!(source.message, Some("m3".into()));
//! assert!(matches!(&source.place,
//!     SourcePlace::ToolResult { tool: Some(tool), .. } if tool == "trips"));
//! assert_eq!(index.uses(&"m3".into()).unwrap().links, links); // the inverse
//! ```
//!
//! # Values
//!
//! In JSON: strings of at least three characters and numbers of at least three digits or with
//! decimals. In texts: ids (letters with digits), e-mail addresses, numbers, dates, times, URLs,
//! paths, identifiers of code, and quoted texts. A plain word of a text counts if a tool result
//! holds it as a whole JSON string, such as a class of fares. Common words never count.
//!
//! Values are compared as whole tokens: `EHGLP3` is not found in `XEHGLP34`. Case matters except
//! in e-mail addresses. JSON is unescaped first. `1,339.00` equals `1339`; other forms of the same
//! thing, such as `May 19` and `2024-05-19`, are not recognized. A link states that a value is the
//! same, which is evidence and no proof that it was read there. Data edges that a recorder wrote
//! are in [`trajectory`](crate::trajectory).
//!
//! # Limits
//!
//! Indexing takes time linear in the length of the texts. The index keeps 1,835,008 values, about
//! 80 MB; when it is full, it forgets those that only one message held, oldest first
//! ([`forgotten`](ProvenanceIndex::forgotten)). A value that was forgotten and is seen again counts
//! as new: its source is then the message where it was seen again. 256 values of an answer are
//! linked, 256 KiB of each text are searched, and [`uses`](ProvenanceIndex::uses) looks at 1,000
//! answers. An index also holds the chain, whose messages it parsed. Values in more than three
//! quarters of at least 16 messages link nothing.

mod index;
mod link;
mod locate;
mod scan;
mod sections;
mod shape;
mod tokens;

use std::collections::BTreeMap;
use std::sync::Arc;

use context_core::{Chain, MessageId};

use self::index::{ByHash, MAX_VALUES, NONE, StoredLink, Table, number};
pub use self::link::{AnswerPlace, DataLink, Occurrence, Provenance, Quote, SourcePlace};
use self::locate::Locator;
use self::scan::{Located, answered};
use self::sections::SectionPlace;
pub use self::shape::ValueKind;

/// Maximum number of answers that [`ProvenanceIndex::uses`] looks at.
const MAX_USES: usize = 1_000;

/// The values of a chain: where each was first seen, and which answers hold it.
///
/// Built once per chain with [`of`](Self::of), and [extended](Self::extend) when messages are
/// added. The [module](self) describes values and limits.
#[derive(Clone)]
pub struct ProvenanceIndex {
    prompt: Option<Arc<str>>,
    chain: Chain,
    table: Table,
    limit: usize,
}

impl ProvenanceIndex {
    /// Indexes a chain. Nodes that are boundaries, placeholders or unreadable hold no values.
    pub fn of(chain: &Chain) -> Self {
        Self::build(None, chain, MAX_VALUES)
    }

    /// Indexes a chain and the system prompt that was sent with it, which counts as a source before
    /// the first message.
    pub fn with_system_prompt(prompt: impl Into<Arc<str>>, chain: &Chain) -> Self {
        Self::build(Some(prompt.into()), chain, MAX_VALUES)
    }

    fn build(prompt: Option<Arc<str>>, chain: &Chain, limit: usize) -> Self {
        let mut index = Self { prompt, chain: Chain::default(), table: Table::new(limit), limit };
        index.rebuild(chain);
        index
    }

    fn rebuild(&mut self, chain: &Chain) {
        self.table = Table::new(self.limit);
        if let Some(prompt) = &self.prompt {
            self.table.add_prompt(prompt);
        }
        self.chain = chain.clone();
        (0..chain.len()).for_each(|position| self.table.add(chain, position));
    }

    /// Brings the index to a newer state of its chain. Only added messages are indexed. If messages
    /// were changed or removed, or the chain is another one, everything is indexed again.
    pub fn extend(&mut self, chain: &Chain) {
        let indexed = self.chain.len();
        let grown = self.chain.generation() == chain.generation()
            && self.chain.skipped() == chain.skipped()
            && self.chain.common_prefix(chain) == indexed;
        if grown {
            self.chain = chain.clone();
            (indexed..chain.len()).for_each(|position| self.table.add(chain, position));
        } else {
            self.rebuild(chain);
        }
    }

    /// Returns the indexed chain.
    pub fn chain(&self) -> &Chain {
        &self.chain
    }

    /// Returns the number of values that were forgotten because there were too many.
    pub fn forgotten(&self) -> u64 {
        self.table.forgotten
    }

    /// Returns the sources of an answer: the values in its texts and in the arguments of its calls
    /// that earlier messages hold. Each value is returned once for each text and argument. Empty
    /// for other messages. `None` if the chain has no such message.
    pub fn sources(&self, answer: &MessageId) -> Option<Provenance> {
        let number = number(self.chain.position(answer)?);
        let mut locator = Locator::new(self);
        let mut links = self.links(number, self.table.links_of(number), &mut locator);
        sort(&mut links);
        Some(Provenance { links, answers_left_out: 0 })
    }

    /// Returns the uses of a message, mostly of a tool result or a user message: the values of
    /// later answers that were first seen in it. `None` if the chain has no such message.
    pub fn uses(&self, source: &MessageId) -> Option<Provenance> {
        Some(self.uses_of(number(self.chain.position(source)?)))
    }

    /// Returns the uses of the system prompt, like [`uses`](Self::uses). Empty if the index was not
    /// given one.
    pub fn uses_of_system_prompt(&self) -> Provenance {
        self.uses_of(0)
    }

    fn uses_of(&self, source: u32) -> Provenance {
        let (mut locator, mut answers) = (Locator::new(self), Vec::new());
        for (at, (answer, _)) in self.table.answers.iter().enumerate() {
            let mut links = self.table.links_at(at).to_vec();
            links.retain(|link| link.first == source);
            if !links.is_empty() {
                answers.push((*answer, links));
            }
        }
        let answers_left_out = answers.len().saturating_sub(MAX_USES);
        answers.truncate(MAX_USES);
        locator.prepare(source, answers.iter().flat_map(|(_, links)| links).map(|link| link.value));
        let mut links: Vec<_> = answers
            .iter()
            .flat_map(|(answer, links)| self.links(*answer, links, &mut locator))
            .collect();
        sort(&mut links);
        Provenance { links, answers_left_out }
    }

    /// Returns stored links of an answer in full, in the order of the answer.
    fn links(
        &self,
        answer: u32,
        stored: &[StoredLink],
        locator: &mut Locator<'_>,
    ) -> Vec<DataLink> {
        let Some(node) = self.node(answer) else { return Vec::new() };
        let Ok(message) = node.message() else { return Vec::new() };
        let all: ByHash<()> = self.table.links_of(answer).iter().map(|l| (l.value, ())).collect();
        let wanted: ByHash<&StoredLink> = stored.iter().map(|link| (link.value, link)).collect();
        let mut places = BTreeMap::<u32, Vec<u64>>::new();
        for link in stored {
            places.entry(link.first).or_default().push(link.value);
            places.entry(link.last).or_default().push(link.value);
        }
        for (number, values) in places.into_iter().filter(|(number, _)| *number != NONE) {
            locator.prepare(number, values.into_iter());
        }
        let mut links: Vec<DataLink> = Vec::new();
        answered(message, &mut |value| {
            let hash = self.table.hash(&value.token);
            if let Some(link) = wanted.get(&hash)
                && let Some(link) = self.link(&value, link, &node.id, locator)
                && !links.iter().any(|other| other.value == link.value && other.place == link.place)
            {
                links.push(link);
            }
            all.contains_key(&hash)
        });
        links
    }

    fn link(
        &self,
        value: &Located<'_, '_>,
        stored: &StoredLink,
        answer: &MessageId,
        locator: &Locator<'_>,
    ) -> Option<DataLink> {
        let messages = self.table.entries.get(&stored.value).map_or(2, |entry| entry.messages);
        let all = self.table.messages;
        if all >= 16 && u64::from(messages) * 4 > u64::from(all) * 3 {
            return None;
        }
        let place = match value.section.place {
            SectionPlace::Call(call) => AnswerPlace::Argument {
                call_id: call.id.clone(),
                tool: call.name.clone(),
                pointer: value.json.map_or_else(String::new, |(path, _)| path.pointer()),
            },
            _ => AnswerPlace::Text,
        };
        let kind = value.token.kind;
        let last = (stored.last != NONE && stored.last != stored.first)
            .then(|| locator.get(stored.last, stored.value))
            .flatten();
        Some(DataLink {
            value: value.token.value.to_owned(),
            kind,
            strength: strength(kind, messages, all),
            messages,
            answer: answer.clone(),
            place,
            first: locator.get(stored.first, stored.value)?,
            last,
        })
    }

    /// Returns the node with a number.
    fn node(&self, number: u32) -> Option<&Arc<context_core::Node>> {
        self.chain.get(number.checked_sub(1)? as usize)
    }
}

/// Returns the strength of a value that so many of all messages hold.
fn strength(kind: ValueKind, messages: u32, all: u32) -> f64 {
    let others = f64::from(messages.saturating_sub(1).max(1));
    // In a short chat, a few messages are no sign of a common value.
    let rarity = 1.0 - others.ln() / f64::from(all.max(100)).ln();
    let weight = match kind {
        ValueKind::Word => 0.5,
        ValueKind::Number => 0.8,
        _ => 1.0,
    };
    (rarity.clamp(0.0, 1.0) * weight * 1_000.0).round() / 1_000.0
}

/// Sorts links by strength. Equal ones stay in the order of the chain.
fn sort(links: &mut [DataLink]) {
    links.sort_by(|a, b| b.strength.total_cmp(&a.strength));
}

impl std::fmt::Debug for ProvenanceIndex {
    /// States sizes, not content.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProvenanceIndex")
            .field("messages", &self.table.messages)
            .field("values", &self.table.entries.len())
            .field("links", &self.table.links.len())
            .finish_non_exhaustive()
    }
}
