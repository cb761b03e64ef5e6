//! The packed form of nodes: several nodes in one byte string.
//!
//! Reading a chain costs time per row, and hardly any per byte, so stores keep runs of nodes in one
//! value. Concatenated packed runs are a packed run again. Readers slice the bodies without copying
//! them. Stores may use this form, but need not.
//!
//! A record, little-endian, version 2 of the layout:
//!
//! ```text
//! u32 CRC-32 of all other fields  u32 length of the fields after it
//! u8 kind (0 system, 1 user, 2 assistant, 3 tool, 4 boundary; +128: counted)
//! u8 length of the body's kind (0: "message")              u16 body version
//! u32 revision                    u32 tokens (0 if not counted)
//! i64 created at (microseconds)   u16 length of the id
//! id, body's kind, body
//! ```
//!
//! Every public function that reads version 2, except [`id_of`], compares the checksum of each
//! record it visits. Version 1 of the layout has no checksums, and only [`upgrade`] reads it. The
//! version of a store's schema determines the layout of a run, never the bytes themselves, so that
//! damage cannot select the layout without checksums.

mod salvage;

use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use crc32fast::Hasher;

use context_core::message::{LazyRun, NodeKind};
use context_core::{Chain, Encoded, Message, MessageId, Node, Role, Timestamp};

pub use self::salvage::{PackedPiece, salvage};

/// Length of the checksum before a record, in bytes.
const SUM: usize = 4;
/// Length of the fields from the length to the id's length, in bytes.
const HEADER: usize = 26;
/// The flag in the kind of a node with a token count.
const COUNTED: u8 = 128;

/// An error of packed bytes that are damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("packed nodes are broken at byte {offset}: {fault}")]
pub struct UnpackError {
    /// The offset of the damaged record in bytes.
    pub offset: usize,
    /// The kind of damage.
    pub fault: UnpackFault,
}

/// The kind of damage of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnpackFault {
    /// Inconsistent lengths, an unknown kind, or an id that is not UTF-8.
    #[error("no record begins there")]
    Frame,
    /// The checksum does not match the record.
    #[error("the checksum differs")]
    Checksum,
    /// The number of records is not the expected one.
    #[error("it has another number of records")]
    Count,
}

/// Appends a node to packed bytes. Ids are at most 65,535 bytes long, body kinds 255 bytes and
/// records 4 GiB. [`limits`](context_core::base::limits) keeps nodes far below.
pub fn pack(node: &Node, out: &mut Vec<u8>) {
    let body = node.body();
    let kind = if body.kind() == Message::KIND { "" } else { body.kind() };
    let id = node.id.as_str();
    let length = HEADER - 4 + id.len() + kind.len() + body.bytes().len();
    out.reserve(SUM + 4 + length);
    let start = out.len();
    out.extend_from_slice(&[0; SUM]);
    out.extend_from_slice(&(length as u32).to_le_bytes());
    out.push(kind_code(node.kind) | node.tokens.map_or(0, |_| COUNTED));
    out.push(kind.len() as u8);
    out.extend_from_slice(&body.version().to_le_bytes());
    out.extend_from_slice(&node.revision.to_le_bytes());
    out.extend_from_slice(&node.tokens.unwrap_or(0).to_le_bytes());
    out.extend_from_slice(&node.created_at.as_micros().to_le_bytes());
    out.extend_from_slice(&(id.len() as u16).to_le_bytes());
    out.extend_from_slice(id.as_bytes());
    out.extend_from_slice(kind.as_bytes());
    out.extend_from_slice(body.bytes());
    let sum = sum_of(&out[start + SUM..]);
    out[start..start + SUM].copy_from_slice(&sum);
}

/// Packs nodes into one run.
pub fn pack_all<'a>(nodes: impl IntoIterator<Item = &'a Arc<Node>>) -> Vec<u8> {
    let mut out = Vec::new();
    nodes.into_iter().for_each(|node| pack(node, &mut out));
    out
}

/// Unpacks a run. The bodies are slices of `bytes`.
pub fn unpack(bytes: &Bytes) -> Result<Vec<Arc<Node>>, UnpackError> {
    nodes(bytes, Layout::Checked)
}

/// Unpacks a run that [`count`] has checked, without comparing its checksums again.
fn unpack_counted(bytes: &Bytes) -> Vec<Arc<Node>> {
    nodes(bytes, Layout::Counted).expect("counted when the chain was made")
}

/// A packed run and the number of its nodes, from the first on, that belong to a chain.
#[derive(Clone, Debug)]
pub struct PackedRun {
    /// The packed nodes.
    pub bytes: Bytes,
    /// Number of nodes to take. `usize::MAX` for all.
    pub take: usize,
    /// Whether the run must have exactly `take` nodes.
    pub is_whole: bool,
}

/// Returns a chain of packed runs, behind `skipped` other nodes. Checks frames and checksums now
/// and reads the nodes when one of them is accessed.
pub fn chain(
    skipped: u64,
    runs: impl IntoIterator<Item = PackedRun>,
) -> Result<Chain, UnpackError> {
    let lazy = runs.into_iter().map(|PackedRun { bytes, take, is_whole }| {
        let count = count(&bytes)?;
        if is_whole && count != take {
            return Err(UnpackError { offset: bytes.len(), fault: UnpackFault::Count });
        }
        Ok(LazyRun { len: count.min(take), bytes, read: unpack_counted })
    });
    Ok(Chain::from_lazy(skipped, lazy.collect::<Result<Vec<_>, _>>()?))
}

/// Counts the nodes of a packed run, with the same checks as [`unpack`].
pub fn count(bytes: &[u8]) -> Result<usize, UnpackError> {
    let (mut n, mut offset) = (0, 0);
    while offset < bytes.len() {
        offset = Record::read(bytes, offset, Layout::Checked)?.end;
        n += 1;
    }
    Ok(n)
}

/// Splits a packed run before its `n`th node, without copying. If there are fewer nodes, the second
/// part is empty. The nodes before the split are checked.
pub fn split_at(bytes: &Bytes, n: usize) -> Result<(Bytes, Bytes), UnpackError> {
    let mut offset = 0;
    for _ in 0..n {
        if offset == bytes.len() {
            break;
        }
        offset = Record::read(bytes, offset, Layout::Checked)?.end;
    }
    Ok((bytes.slice(..offset), bytes.slice(offset..)))
}

/// Returns the id of the `n`th node of a packed run, from 0. Checks frames only: for runs whose
/// checksums [`count`] has compared.
pub fn id_of(bytes: &[u8], n: usize) -> Result<MessageId, UnpackError> {
    let mut offset = 0;
    for _ in 0..n {
        offset = Record::read(bytes, offset, Layout::Counted)?.end;
    }
    Ok(Record::read(bytes, offset, Layout::Counted)?.id())
}

/// Converts a run from version 1 of the layout to version 2, for stores that migrate older data.
pub fn upgrade(bytes: &[u8]) -> Result<Vec<u8>, UnpackError> {
    let mut out = Vec::with_capacity(bytes.len() + bytes.len() / 64);
    let mut offset = 0;
    while offset < bytes.len() {
        let end = Record::read(bytes, offset, Layout::Version1)?.end;
        let record = &bytes[offset..end];
        out.extend_from_slice(&sum_of(record));
        out.extend_from_slice(record);
        offset = end;
    }
    Ok(out)
}

/// Returns the checksum of a record.
fn sum_of(record: &[u8]) -> [u8; SUM] {
    /// Created once, because detecting the processor's features takes a tenth of the time of a
    /// short record.
    static BLANK: LazyLock<Hasher> = LazyLock::new(Hasher::new);

    let mut hasher = BLANK.clone();
    hasher.update(record);
    hasher.finalize().to_le_bytes()
}

fn nodes(bytes: &Bytes, layout: Layout) -> Result<Vec<Arc<Node>>, UnpackError> {
    let mut nodes = Vec::new();
    let mut offset = 0;
    while offset < bytes.len() {
        let record = Record::read(bytes, offset, layout)?;
        nodes.push(Arc::new(record.node(bytes)));
        offset = record.end;
    }
    Ok(nodes)
}

/// The layout of a record, and the checks to make.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// With a checksum to compare.
    Checked,
    /// With a checksum that was compared before.
    Counted,
    /// Without a checksum.
    Version1,
}

fn kind_code(kind: NodeKind) -> u8 {
    match kind {
        NodeKind::Message(Role::System) => 0,
        NodeKind::Message(Role::User) => 1,
        NodeKind::Message(Role::Assistant) => 2,
        NodeKind::Message(Role::Tool) => 3,
        NodeKind::Boundary => 4,
    }
}

fn kind_of(code: u8) -> Option<NodeKind> {
    Some(match code {
        0 => NodeKind::Message(Role::System),
        1 => NodeKind::Message(Role::User),
        2 => NodeKind::Message(Role::Assistant),
        3 => NodeKind::Message(Role::Tool),
        4 => NodeKind::Boundary,
        _ => return None,
    })
}

/// A record whose frame was checked.
struct Record<'a> {
    kind: NodeKind,
    header: &'a [u8; HEADER],
    id: &'a [u8],
    body_kind: &'a [u8],
    body: usize,
    end: usize,
}

/// Returns whether bytes are UTF-8. Most are short and ASCII, which is cheaper to check.
fn is_text(bytes: &[u8]) -> bool {
    bytes.is_ascii() || std::str::from_utf8(bytes).is_ok()
}

impl<'a> Record<'a> {
    fn read(bytes: &'a [u8], offset: usize, layout: Layout) -> Result<Self, UnpackError> {
        let broken = |fault| UnpackError { offset, fault };
        let sum = if layout == Layout::Version1 { 0 } else { SUM };
        let record = Self::try_read(bytes, offset + sum).ok_or(broken(UnpackFault::Frame))?;
        if layout == Layout::Checked {
            let start = offset + SUM;
            if sum_of(&bytes[start..record.end]) != bytes[offset..start] {
                return Err(broken(UnpackFault::Checksum));
            }
        }
        Ok(record)
    }

    /// Reads the record whose length field is at `offset`.
    fn try_read(bytes: &'a [u8], offset: usize) -> Option<Self> {
        let header: &[u8; HEADER] = bytes.get(offset..)?.first_chunk()?;
        let length = u32::from_le_bytes(*header.first_chunk()?) as usize;
        let end = (offset + 4).checked_add(length).filter(|end| *end <= bytes.len())?;
        let kind = kind_of(header[4] & !COUNTED)?;
        let id_start = offset + HEADER;
        let id_end = id_start + usize::from(u16::from_le_bytes([header[24], header[25]]));
        let body = id_end + usize::from(header[5]);
        let (id, body_kind) = (bytes.get(id_start..id_end)?, bytes.get(id_end..body)?);
        let is_text = is_text(id) && is_text(body_kind);
        (is_text && body <= end).then_some(Self { kind, header, id, body_kind, body, end })
    }

    /// Returns the id, which [`is_text`] has checked.
    fn id(&self) -> MessageId {
        MessageId::from(std::str::from_utf8(self.id).expect("checked with the frame"))
    }

    fn node(&self, bytes: &Bytes) -> Node {
        let u32_at = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| self.header[at + i]));
        let version = u16::from_le_bytes([self.header[6], self.header[7]]);
        let created_at = i64::from_le_bytes(std::array::from_fn(|i| self.header[16 + i]));
        let body = bytes.slice(self.body..self.end);
        let encoded = match self.body_kind {
            b"" => Encoded::new(Message::shared_kind(), version, body),
            kind => Encoded::new(&*String::from_utf8_lossy(kind), version, body),
        };
        let mut node =
            Node::from_encoded(self.id(), self.kind, Timestamp::from_micros(created_at), encoded);
        node.revision = u32_at(8);
        node.tokens = (self.header[4] & COUNTED != 0).then(|| u32_at(12));
        node
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    prop_compose! {
        fn any_node()(
            id in ".{0,40}", code in 0u8..5, version: u16, revision: u32,
            tokens in proptest::option::of(prop_oneof![Just(u32::MAX), 0u32..]), at: i64,
            body_kind in "[a-z]{1,12}", body: Vec<u8>,
        ) -> Arc<Node> {
            let encoded = Encoded::new(body_kind, version, body);
            let kind = kind_of(code).unwrap();
            let mut node = Node::from_encoded(id.into(), kind, Timestamp::from_micros(at), encoded);
            (node.revision, node.tokens) = (revision, tokens);
            Arc::new(node)
        }
    }

    proptest! {
        #[test]
        fn what_is_packed_is_unpacked(nodes in proptest::collection::vec(any_node(), 0..20)) {
            let bytes = Bytes::from(pack_all(&nodes));
            prop_assert_eq!(count(&bytes), Ok(nodes.len()));
            prop_assert_eq!(unpack(&bytes).unwrap(), nodes);
        }

        #[test]
        fn both_sides_of_a_cut_are_runs(nodes in proptest::collection::vec(any_node(), 0..9),
            n in 0usize..12) {
            let (front, back) = split_at(&pack_all(&nodes).into(), n).unwrap();
            let n = n.min(nodes.len());
            prop_assert_eq!(unpack(&front).unwrap(), &nodes[..n]);
            prop_assert_eq!(unpack(&back).unwrap(), &nodes[n..]);
        }

        #[test]
        fn any_bytes_unpack_or_are_refused(bytes: Vec<u8>) {
            let bytes = Bytes::from(bytes);
            prop_assert_eq!(count(&bytes).ok(), unpack(&bytes).ok().map(|nodes| nodes.len()));
        }

        #[test]
        fn any_flipped_bit_is_noticed(
            nodes in proptest::collection::vec(any_node(), 1..5), at: proptest::sample::Index,
                bit in 0u8..8,
        ) {
            let mut bytes = pack_all(&nodes);
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
            prop_assert!(count(&bytes).is_err());
            prop_assert!(unpack(&bytes.into()).is_err());
        }

        #[test]
        fn a_run_of_the_first_layout_is_upgraded_and_not_read(
            nodes in proptest::collection::vec(any_node(), 1..9),
        ) {
            let mut old = Vec::new();
            for node in &nodes {
                let mut record = Vec::new();
                pack(node, &mut record);
                old.extend_from_slice(&record[SUM..]);
            }
            prop_assert!(count(&old).is_err());
            prop_assert_eq!(unpack(&upgrade(&old).unwrap().into()).unwrap(), nodes);
        }

        #[test]
        fn a_cut_run_is_refused(nodes in proptest::collection::vec(any_node(), 1..5),
            cut in 1usize..30) {
            let bytes = pack_all(&nodes);
            let last = pack_all(&nodes[nodes.len() - 1..]).len();
            let keep = bytes.len() - cut.min(last - 1);
            prop_assert!(count(&bytes[..keep]).is_err());
        }
    }

    #[test]
    fn an_error_names_the_record_and_its_checksum() {
        let node = |id: &str| {
            let body = Encoded::new("message", 1, b"pay 100".to_vec());
            let kind = NodeKind::Message(Role::User);
            Arc::new(Node::from_encoded(id.into(), kind, Timestamp::from_micros(1), body))
        };
        let first = pack_all([&node("a")]).len();
        let mut bytes = pack_all([&node("a"), &node("b")]);
        let last = bytes.len() - 1;
        bytes[last] = b'9';
        let error = count(&bytes).unwrap_err();
        assert_eq!(error, UnpackError { offset: first, fault: UnpackFault::Checksum });
        assert_eq!(
            error.to_string(),
            format!("packed nodes are broken at byte {first}: the checksum differs")
        );
    }

    #[test]
    fn takes_only_a_part_of_a_packed_run_and_refuses_a_broken_one() {
        let run = pack_all(
            &(0..5)
                .map(|i| {
                    Arc::new(Node::new(
                        format!("m{i}"),
                        Message::from("text"),
                        Timestamp::default(),
                    ))
                })
                .collect::<Vec<_>>(),
        );
        let part = PackedRun { bytes: run.clone().into(), take: 2, is_whole: false };
        assert_eq!(chain(3, [part]).unwrap().head(), Some(&"m1".into()));
        let broken = run[..run.len() - 1].to_vec();
        let broken = PackedRun { bytes: broken.into(), take: 5, is_whole: false };
        assert!(chain(0, [broken]).is_err());
        for (take, is_fine) in [(4, false), (5, true), (6, false)] {
            let whole = PackedRun { bytes: run.clone().into(), take, is_whole: true };
            assert_eq!(chain(0, [whole]).is_ok(), is_fine);
        }
    }
}
