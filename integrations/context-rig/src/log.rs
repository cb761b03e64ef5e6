//! A log, as the messages on a branch make it.

use std::collections::HashMap;
use std::io;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use context_runtime::compaction::shown;
use context_runtime::store::{Chain, Node, StoredBoundary};
use context_runtime::{BranchName, ChatRef, Message, MessageId, Part};
use rig_core::message::Message as RigMessage;
use rig_memory::FORMAT;
use serde_json::{Map, Value, json};

use crate::convert::to_rig;
use crate::error::invalid;
use crate::record::{Entry, Kept, LOG, Place, Push, Stamp};

/// The branch whose logs have the lineage that rig gave them.
const MAIN: &str = "main";

/// A log and the head of the branch that it was read from.
pub(crate) struct Log {
    pub(crate) bytes: Vec<u8>,
    pub(crate) head: Option<MessageId>,
}

impl Log {
    /// Makes the log of a branch. Fails if a message of it cannot be read, so that no log is
    /// silently shorter than it was.
    pub(crate) fn of(chat: &ChatRef, branch: &BranchName, chain: &Chain) -> io::Result<Self> {
        let mut writer = Writer {
            name: chat.chat.as_str(),
            branch: branch.as_str(),
            bytes: Vec::new(),
            next: Stamp::default(),
            next_id: 0,
            open: None,
            tools: HashMap::new(),
        };
        let start = match StoredBoundary::in_force(chain) {
            Some((position, _)) => {
                writer.window(chain, position)?;
                position + 1
            }
            None => 0,
        };
        for node in chain.iter().skip(start) {
            writer.node(node)?;
        }
        writer.close();
        Ok(Self { bytes: writer.bytes, head: chain.head().cloned() })
    }
}

/// Writes a log, record by record.
struct Writer<'a> {
    name: &'a str,
    branch: &'a str,
    bytes: Vec<u8>,
    /// The stamp of the next record, without its time.
    next: Stamp,
    /// The id of the next entry.
    next_id: u64,
    /// The record that is being rebuilt.
    open: Option<Push>,
    /// The names of the tools by the calls that named them.
    tools: HashMap<String, String>,
}

impl Writer<'_> {
    /// Writes the messages that a compaction shows, as one log that begins with them.
    fn window(&mut self, chain: &Chain, position: usize) -> io::Result<()> {
        let Some(boundary) = chain.get(position) else { return Ok(()) };
        self.header(&boundary.id, boundary);
        let front = shown(&chain.prefix(position + 1));
        let mut shown = front.iter().map(|shown| &shown.node).filter(|node| node.is_shown());
        shown.try_for_each(|message| self.foreign(message))
    }

    fn node(&mut self, node: &Node) -> io::Result<()> {
        if node.role().is_none() {
            return Ok(());
        }
        let message = node.message().map_err(invalid)?;
        let kept = message.metadata.get(LOG).map(|kept| kept.parse::<Kept>().map_err(invalid));
        match kept.transpose()? {
            Some(Kept::Entry(place)) => self.entry(message, place, node)?,
            Some(Kept::Text(text)) => self.text(text.as_bytes()),
            Some(Kept::Bytes(bytes)) => self.text(&STANDARD.decode(bytes).map_err(invalid)?),
            Some(Kept::InText) => {}
            Some(Kept::Restart) => {
                (self.open, self.next, self.next_id) = (None, Stamp::default(), 0);
                self.bytes.clear();
            }
            None if node.is_shown() => self.foreign(node)?,
            None => {}
        }
        Ok(())
    }

    /// Writes an entry of rig into its record.
    fn entry(&mut self, message: &Message, place: Place, node: &Node) -> io::Result<()> {
        let message = self.message(message)?;
        if self.open.as_ref().is_none_or(|open| open.stamp != place.record) {
            self.close();
            if self.bytes.is_empty() {
                self.header(&node.id, node);
            }
            self.open = Some(Push::new(place.record.clone(), Vec::new()));
        }
        let Place { author, id, made, .. } = place;
        self.next_id = self.next_id.max(id.map_or(0, |id| id.saturating_add(1)));
        if let Some(open) = &mut self.open {
            open.entries.push(Entry { message, author, id, made });
        }
        Ok(())
    }

    /// Writes a message of another program as a record of its own.
    fn foreign(&mut self, node: &Node) -> io::Result<()> {
        self.close();
        if self.bytes.is_empty() {
            self.header(&node.id, node);
        }
        let message = self.message(node.message().map_err(invalid)?)?;
        let stamp = Stamp { t: millis(node), ..self.next.clone() };
        let entry = Entry { message, author: None, id: Some(self.next_id), made: None };
        self.next_id = self.next_id.saturating_add(1);
        self.open = Some(Push::new(stamp, vec![entry]));
        self.close();
        Ok(())
    }

    /// Converts a message. Results that do not name their tool get the name from its call.
    fn message(&mut self, message: &Message) -> io::Result<RigMessage> {
        for call in message.tool_calls() {
            self.tools.insert(call.id.clone(), call.name.clone());
        }
        let is_unnamed = |part: &Part| matches!(part, Part::ToolResult(r) if r.name.is_none());
        if !message.parts.iter().any(is_unnamed) {
            return to_rig(message).map_err(invalid);
        }
        let mut named = message.clone();
        for part in &mut named.parts {
            if let Part::ToolResult(result) = part {
                result.name = result.name.take().or(self.tools.get(&result.call_id).cloned());
            }
        }
        to_rig(&named).map_err(invalid)
    }

    /// Writes text of rig. The header of a branch beside the first has a lineage of its own.
    fn text(&mut self, text: &[u8]) {
        self.close();
        let is_first = self.bytes.is_empty();
        let Ok(mut record) = serde_json::from_slice::<Map<String, Value>>(text) else {
            self.bytes.extend_from_slice(text);
            return;
        };
        self.advance(&record);
        let lineage = record.get("lineage").and_then(Value::as_u64);
        match lineage.filter(|_| is_first && self.branch != MAIN) {
            Some(lineage) => {
                let own = lineage_of(&[self.branch, &lineage.to_string()]);
                record.insert("lineage".to_owned(), own.into());
                self.line(&Value::Object(record));
            }
            None => self.bytes.extend_from_slice(text),
        }
    }

    /// Writes the header of a log that rig did not begin.
    fn header(&mut self, first: &MessageId, node: &Node) {
        let header = json!({
            "seq": self.next.seq,
            "n": self.next.n,
            "t": millis(node),
            "type": "header",
            "format": FORMAT,
            "log": self.name,
            "lineage": lineage_of(&[self.branch, first.as_str()]),
        });
        self.line(&header);
        (self.next.seq, self.next.n) = (self.next.seq + 1, self.next.n + 1);
    }

    fn line(&mut self, record: &Value) {
        self.bytes.extend_from_slice(record.to_string().as_bytes());
        self.bytes.push(b'\n');
    }

    /// Ends the record that is being rebuilt.
    fn close(&mut self) {
        let Some(push) = self.open.take() else { return };
        // Messages that were read from JSON can be written as JSON.
        self.bytes.extend(push.line().unwrap_or_default());
        self.next.seq = push.stamp.seq.saturating_add(1);
        self.next.n = push.stamp.n.saturating_add(1);
    }

    /// Notes the stamp and the ids of a record, so that those of later ones are new.
    fn advance(&mut self, record: &Map<String, Value>) {
        let number = |key: &str| record.get(key).and_then(Value::as_u64);
        self.next.seq = number("seq").map_or(self.next.seq, |seq| seq.saturating_add(1));
        self.next.n = number("n").map_or(self.next.n, |n| n.saturating_add(1));
        let lists = ["entries", "with"].into_iter().filter_map(|key| record.get(key)?.as_array());
        let ids = lists.flatten().filter_map(|entry| entry.get("id")?.as_u64());
        let after = ids.map(|id| id.saturating_add(1));
        let of_state = record.get("state").and_then(|state| state.get("next_id")?.as_u64());
        self.next_id = after.chain(of_state).fold(self.next_id, u64::max);
    }
}

fn millis(node: &Node) -> u64 {
    u64::try_from(node.created_at.as_micros() / 1000).unwrap_or_default()
}

/// Returns a lineage that rig accepts: the FNV-1a hash of the texts, without the two values that
/// mean none.
fn lineage_of(texts: &[&str]) -> u64 {
    let bytes = texts.iter().flat_map(|text| text.bytes().chain([0xff]));
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    hash.clamp(1, u64::MAX - 1)
}
