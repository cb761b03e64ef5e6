//! The stored forms of nodes, of their changes and of edges. Numbers are little-endian, and texts
//! follow their length.
//!
//! ```text
//! node     1, kind, label, description, time of addition, author, values of its fields, messages, measures (JSON)
//! change   1, number, time, author, previous values of the fields, new values
//! edge     from, round of the end, to, length of the name, name, checksum; edges follow each other
//! ```
//!
//! The values of a node are in the order of the fields of its kind. A kind may gain further fields
//! at the end. An older node then has no values for them, which the field count tells.

use std::sync::Arc;

use context_core::trajectory::{
    Change, Changes, Edge, FieldValue, Measures, MessageLink, NodeBody, NodeId, TrajectoryNode,
    TrajectoryNodeKind, Version,
};
use context_core::{Json, Timestamp};

use crate::checksums;
use crate::error::{Fault, Result};

/// The form that is written.
const FORM: u8 = 1;
/// The maximum number of bytes of edges in one field, unless it has only one edge.
pub(crate) const EDGES_BYTES: usize = 4096;

pub(crate) fn broken() -> Fault {
    Fault::Corrupt("a round cannot be read", None)
}

pub(crate) fn write_node(node: &TrajectoryNode) -> Result<Vec<u8>> {
    let mut record = Writer(Vec::with_capacity(128 + node.body.bytes()));
    record.0.push(FORM);
    record.text(node.kind().lower())?.text(&node.label)?.text(&node.description)?;
    record.time(node.created_at).maybe(node.author.as_deref())?;
    record.length(node.body.iter().count())?;
    for (_, value) in node.body.iter() {
        record.value(value)?;
    }
    record.length(node.messages.len())?;
    for link in &node.messages {
        record.text(link.chat.as_str())?.text(link.message.as_str())?;
    }
    let measures =
        node.measures.as_ref().map(Json::from_serialize).transpose().map_err(|_| broken())?;
    record.maybe(measures.as_ref().map(Json::as_str))?;
    Ok(record.0)
}

/// Reads a node, without versions.
pub(crate) fn read_node(id: NodeId, record: &[u8]) -> Result<TrajectoryNode> {
    let mut record = Reader::of(record)?;
    let kind = TrajectoryNodeKind::from_name(record.text()?).map_err(|_| broken())?;
    let (label, description): (Arc<str>, Arc<str>) = (record.text()?.into(), record.text()?.into());
    let created_at = record.time()?;
    let author = record.maybe()?.map(Into::into);
    let fields = kind.fields().len();
    let mut values = Vec::with_capacity(fields);
    for _ in 0..record.length()? {
        values.push(Some(record.value()?));
    }
    values.resize(fields.max(values.len()), None);
    let body = NodeBody::from_values(kind, values).map_err(|_| broken())?;
    let mut node = TrajectoryNode::new(id, label, body, created_at);
    (node.description, node.author) = (description, author);
    for _ in 0..record.length()? {
        node.messages.push(MessageLink::new(record.text()?, record.text()?));
    }
    let measures = record.maybe()?.map(serde_json::from_str::<Measures>).transpose();
    node.measures = measures.map_err(|_| broken())?.map(Box::new);
    record.end(node)
}

pub(crate) fn write_change(version: &Version, now: &Changes) -> Result<Vec<u8>> {
    let mut record = Writer(vec![FORM]);
    record.number(version.number).time(version.at).maybe(version.author.as_deref())?;
    record.changes(&version.previous)?.changes(now)?;
    Ok(record.0)
}

pub(crate) fn read_change(id: NodeId, record: &[u8]) -> Result<Change> {
    let mut record = Reader::of(record)?;
    let (number, at, author) = (record.number()?, record.time()?, record.maybe()?.map(Into::into));
    let version = Version { number, at, author, previous: record.changes()? };
    let now = record.changes()?;
    record.end(Change::NodeChanged { id, version, now })
}

/// Appends an edge to others.
pub(crate) fn write_edge(edge: &Edge, edges: &mut Vec<u8>) -> Result<()> {
    let name = u16::try_from(edge.name.len()).map_err(|_| broken())?;
    let start = edges.len();
    for number in [edge.from.ordinal, edge.to.round, edge.to.ordinal] {
        edges.extend(number.to_le_bytes());
    }
    edges.extend(name.to_le_bytes());
    edges.extend(edge.name.as_bytes());
    let sum = checksums::edge(&edges[start..]);
    edges.extend(sum);
    Ok(())
}

/// Adds checksums to edges, which had none in the first layout.
pub(crate) fn seal_edges(edges: &[u8]) -> Result<Vec<u8>> {
    let (mut record, mut sealed) =
        (Reader(edges), Vec::with_capacity(edges.len() + edges.len() / 4));
    while !record.0.is_empty() {
        let start = record.0;
        let _numbers: [u8; 12] = record.array()?;
        let length = usize::from(u16::from_le_bytes(record.array()?));
        record.text_of(length)?;
        let edge = &start[..start.len() - record.0.len()];
        sealed.extend(edge);
        sealed.extend(checksums::edge(edge));
    }
    Ok(sealed)
}

/// Reads edges that begin in this round and appends them to `into`. `names` holds names that were
/// read, so that equal names share one allocation.
pub(crate) fn read_edges(
    round: u32,
    edges: &[u8],
    names: &mut Vec<Arc<str>>,
    into: &mut Vec<Edge>,
) -> Result<()> {
    let mut record = Reader(edges);
    while !record.0.is_empty() {
        let start = record.0;
        let from = NodeId::new(round, record.number()?);
        let to = NodeId::new(record.number()?, record.number()?);
        let length = usize::from(u16::from_le_bytes(record.array()?));
        let name = record.text_of(length)?;
        let edge = &start[..start.len() - record.0.len()];
        if checksums::edge(edge) != record.array()? {
            return Err(checksums::damaged());
        }
        let known = names.iter().find(|known| &***known == name).cloned();
        let name = known.unwrap_or_else(|| {
            let name: Arc<str> = name.into();
            // Only the first names are shared. Later ones are allocated once per edge.
            if names.len() < NAMES {
                names.push(name.clone());
            }
            name
        });
        into.push(Edge { from, to, name });
    }
    Ok(())
}

/// The number of edge names that are searched.
const NAMES: usize = 32;

const TEXT: u8 = 0;
const NO: u8 = 1;
const YES: u8 = 2;
const JSON: u8 = 3;

struct Writer(Vec<u8>);

impl Writer {
    fn number(&mut self, number: u32) -> &mut Self {
        self.0.extend(number.to_le_bytes());
        self
    }

    fn length(&mut self, length: usize) -> Result<&mut Self> {
        Ok(self.number(u32::try_from(length).map_err(|_| broken())?))
    }

    fn time(&mut self, time: Timestamp) -> &mut Self {
        self.0.extend(time.as_micros().to_le_bytes());
        self
    }

    fn text(&mut self, text: &str) -> Result<&mut Self> {
        self.length(text.len())?.0.extend(text.as_bytes());
        Ok(self)
    }

    fn maybe(&mut self, text: Option<&str>) -> Result<&mut Self> {
        self.0.push(u8::from(text.is_some()));
        match text {
            Some(text) => self.text(text),
            None => Ok(self),
        }
    }

    fn value(&mut self, value: &FieldValue) -> Result<&mut Self> {
        let (form, text) = match value {
            FieldValue::Text(text) => (TEXT, &**text),
            FieldValue::Flag(flag) => {
                self.0.push(if *flag { YES } else { NO });
                return Ok(self);
            }
            FieldValue::Json(json) => (JSON, json.as_str()),
            _ => {
                return Err(Fault::Corrupt(
                    "a field of a node has a form that this store does not know",
                    None,
                ));
            }
        };
        self.0.push(form);
        self.text(text)
    }

    fn changes(&mut self, changes: &Changes) -> Result<&mut Self> {
        self.length(changes.iter().count())?;
        for (name, value) in changes.iter() {
            self.text(name)?.value(value)?;
        }
        Ok(self)
    }
}

/// The rest of a record.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn of(record: &'a [u8]) -> Result<Self> {
        match record.split_first() {
            Some((&FORM, rest)) => Ok(Self(rest)),
            _ => Err(broken()),
        }
    }

    /// Returns the value that was read, or an error if bytes are left.
    fn end<T>(self, read: T) -> Result<T> {
        if self.0.is_empty() { Ok(read) } else { Err(broken()) }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk().ok_or_else(broken)?;
        self.0 = rest;
        Ok(*first)
    }

    fn number(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn length(&mut self) -> Result<usize> {
        usize::try_from(self.number()?).map_err(|_| broken())
    }

    fn time(&mut self) -> Result<Timestamp> {
        Ok(Timestamp::from_micros(i64::from_le_bytes(self.array()?)))
    }

    fn text(&mut self) -> Result<&'a str> {
        let length = self.length()?;
        self.text_of(length)
    }

    fn text_of(&mut self, length: usize) -> Result<&'a str> {
        let (text, rest) = self.0.split_at_checked(length).ok_or_else(broken)?;
        self.0 = rest;
        std::str::from_utf8(text).map_err(|_| broken())
    }

    fn maybe(&mut self) -> Result<Option<&'a str>> {
        match self.array()? {
            [0] => Ok(None),
            [1] => self.text().map(Some),
            _ => Err(broken()),
        }
    }

    fn value(&mut self) -> Result<FieldValue> {
        match self.array()? {
            [TEXT] => Ok(FieldValue::Text(self.text()?.into())),
            [NO] => Ok(FieldValue::Flag(false)),
            [YES] => Ok(FieldValue::Flag(true)),
            [JSON] => Json::from_text(self.text()?).map(FieldValue::Json).map_err(|_| broken()),
            _ => Err(broken()),
        }
    }

    fn changes(&mut self) -> Result<Changes> {
        let length = self.length()?;
        (0..length).map(|_| Ok((self.text()?, self.value()?))).collect()
    }
}
