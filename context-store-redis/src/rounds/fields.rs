//! The fields of a round's hash, and their conversion to a round.
//!
//! ```text
//! a          number of commits, of nodes, and of fields with edges: changes with every write
//! k          key of the last commit
//! h          head (JSON)
//! n<node>    a node as it was added, without later changes
//! v<node>    number of changes of a node; v<node>:<n> the nth change
//! e<n>       edges in the order in which they were added
//! ```
//!
//! A change is stored beside its node, so the cost of a write depends only on the change. Readers
//! apply the changes. A missing node, change or edge is reported as damage, and never yields a
//! smaller round.

use std::collections::BTreeMap;
use std::sync::Arc;

use context_core::trajectory::{Change, NodeId, RoundHead, RoundRecord, TrajectoryNode};

use crate::checksums;
use crate::error::{Fault, Result};
use crate::rounds::encoding::{broken, read_change, read_edges, read_node};
use crate::values::read_number;

/// All fields of a hash, with their values.
pub(crate) type Fields = Vec<(Vec<u8>, Vec<u8>)>;

pub(crate) fn read_head(head: &[u8]) -> Result<RoundHead> {
    serde_json::from_slice(checksums::opened("h", head)?).map_err(|_| broken())
}

/// Reads a round from its fields. Returns `None` if there are none.
pub(crate) fn read_round(operation: &'static str, fields: &Fields) -> Result<Option<RoundRecord>> {
    if fields.is_empty() {
        return Ok(None);
    }
    RoundFields::of(fields)?.round(operation).map(Some)
}

/// Returns the fields that belong to no round.
pub(crate) fn strays(fields: &Fields) -> Result<Vec<String>> {
    let strays = RoundFields::of(fields)?.strays;
    Ok(strays.into_iter().map(|field| String::from_utf8_lossy(field).into_owned()).collect())
}

/// The fields by kind.
struct RoundFields<'a> {
    counts: [u64; 3],
    head: RoundHead,
    nodes: Vec<(u32, &'a [u8])>,
    /// The number of changes of nodes.
    changed: u64,
    changes: BTreeMap<(u32, u64), &'a [u8]>,
    edges: BTreeMap<u64, &'a [u8]>,
    strays: Vec<&'a [u8]>,
}

impl<'a> RoundFields<'a> {
    fn of(fields: &'a Fields) -> Result<Self> {
        let (mut counts, mut head, mut changed) = (None, None, 0);
        let (mut nodes, mut strays) = (Vec::with_capacity(fields.len()), Vec::new());
        let (mut changes, mut edges) = (BTreeMap::new(), BTreeMap::new());
        for (field, value) in fields {
            let number = || field.get(1..).map(read_number);
            match field.first() {
                Some(b'a') if field.len() == 1 => counts = Some(read_counts(value)?),
                Some(b'h') if field.len() == 1 => head = Some(read_head(value)?),
                Some(b'k') if field.len() == 1 => drop(checksums::opened("k", value)?),
                Some(b'n') if let Some(Ok(node)) = number() => {
                    nodes.push((narrow(node)?, &value[..]))
                }
                Some(b'e') if let Some(Ok(n)) = number() => drop(edges.insert(n, &value[..])),
                Some(b'v') if let Some(Ok(_)) = number() => changed += read_number(value)?,
                Some(b'v') if let Some(place) = read_place(field) => {
                    changes.insert(place, &value[..]);
                }
                _ => strays.push(&field[..]),
            }
        }
        nodes.sort_unstable_by_key(|(node, _)| *node);
        let (counts, head) = (counts.ok_or_else(broken)?, head.ok_or_else(broken)?);
        Ok(Self { counts, head, nodes, changed, changes, edges, strays })
    }

    fn round(self, operation: &'static str) -> Result<RoundRecord> {
        const MISSING: Fault =
            Fault::Corrupt("a node, a change or an edge of a round is missing", None);
        let [revision, nodes, chunks] = self.counts;
        let round = self.head.round.round;
        let whole = self.nodes.len() as u64 == nodes
            && self.edges.len() as u64 == chunks
            && self.edges.keys().zip(0..).all(|(n, expected)| *n == expected)
            && self.changes.len() as u64 == self.changed
            && self.head.revision == revision;
        if !whole {
            return Err(MISSING);
        }
        let node = |(node, record): (u32, &[u8])| {
            let record = checksums::opened(&format!("n{node}"), record)?;
            read_node(NodeId::new(round, node), record).map(Arc::new)
        };
        let nodes =
            self.nodes.into_iter().map(node).collect::<Result<Vec<Arc<TrajectoryNode>>>>()?;
        let (mut edges, mut names) = (Vec::new(), Vec::new());
        for chunk in self.edges.values() {
            read_edges(round, chunk, &mut names, &mut edges)?;
        }
        let change = |((node, _), record): (&(u32, u64), &&[u8])| {
            let record = checksums::opened(&format!("v{node}"), record)?;
            read_change(NodeId::new(round, *node), record)
        };
        let changes = self.changes.iter().map(change).collect::<Result<Vec<Change>>>()?;
        let mut record = RoundRecord::new(self.head.clone(), nodes, edges);
        if !changes.is_empty() {
            record.apply(&changes, &self.head).map_err(|error| error.during(operation))?;
        }
        Ok(record)
    }
}

/// Parses the node and the number of a change.
fn read_place(field: &[u8]) -> Option<(u32, u64)> {
    let colon = field.iter().position(|byte| *byte == b':')?;
    let node = read_number(field.get(1..colon)?).ok()?;
    Some((u32::try_from(node).ok()?, read_number(&field[colon + 1..]).ok()?))
}

fn read_counts(value: &[u8]) -> Result<[u64; 3]> {
    let mut numbers = value.split(|byte| *byte == b' ').map(read_number);
    let mut next = || numbers.next().unwrap_or_else(|| Err(broken()));
    Ok([next()?, next()?, next()?])
}

fn narrow(number: u64) -> Result<u32> {
    u32::try_from(number).map_err(|_| broken())
}
