//! Reading the sound records of a damaged run.

use std::sync::Arc;

use bytes::Bytes;
use context_core::{MessageId, Node};

use super::{Layout, Record, UnpackError};

/// A piece of a damaged run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PackedPiece {
    /// A record that is sound.
    Node(Arc<Node>),
    /// One record that is damaged, and that ends where its length says.
    Damaged {
        /// The id as it stands there, which may be damaged too.
        id: MessageId,
        /// The problem.
        error: UnpackError,
    },
    /// An unknown number of records, because the length of one of them is damaged.
    Gap {
        /// The problem.
        error: UnpackError,
    },
}

/// Returns the pieces of a run, which may be damaged anywhere or cut off. Every sound record is
/// among them: behind a record whose length is damaged, the next one is found by its checksum.
pub fn salvage(bytes: &Bytes) -> Vec<PackedPiece> {
    let mut pieces = Vec::new();
    let mut offset = 0;
    while offset < bytes.len() {
        let error = match Record::read(bytes, offset, Layout::Checked) {
            Ok(record) => {
                pieces.push(PackedPiece::Node(Arc::new(record.node(bytes))));
                offset = record.end;
                continue;
            }
            Err(error) => error,
        };
        let follows =
            |end: usize| end == bytes.len() || Record::read(bytes, end, Layout::Checked).is_ok();
        let framed = Record::read(bytes, offset, Layout::Counted).ok();
        if let Some(record) = framed.filter(|record| follows(record.end)) {
            pieces.push(PackedPiece::Damaged { id: record.id(), error });
            offset = record.end;
            continue;
        }
        pieces.push(PackedPiece::Gap { error });
        let next = (offset + 1..bytes.len())
            .find(|&next| Record::read(bytes, next, Layout::Checked).is_ok());
        offset = next.unwrap_or(bytes.len());
    }
    pieces
}

#[cfg(test)]
mod tests {
    use context_core::{Message, Timestamp};
    use proptest::prelude::*;

    use super::*;
    use crate::pack::pack_all;

    fn nodes(count: usize) -> Vec<Arc<Node>> {
        let text = |n: usize| format!("message {n} pays {}", "100 ".repeat(n * 7 % 40));
        let node = |n| Node::new(format!("m{n}"), Message::from(&*text(n)), Timestamp::default());
        (0..count).map(|n| Arc::new(node(n))).collect()
    }

    proptest! {
        #[test]
        fn every_record_that_was_not_touched_is_there(
            count in 1usize..20, at: proptest::sample::Index, bytes: Vec<u8>,
        ) {
            let nodes = nodes(count);
            let mut run = pack_all(&nodes);
            let start = at.index(run.len());
            let end = (start + bytes.len().max(1)).min(run.len());
            let new = bytes.iter().copied().chain([!run[start]]);
            run[start..end].iter_mut().zip(new).for_each(|(byte, new)| *byte = new);
            let mut touched = Vec::new();
            let mut offset = 0;
            for node in &nodes {
                let next = offset + pack_all([node]).len();
                if next <= start || offset >= end {
                    touched.push(node.clone());
                }
                offset = next;
            }
            let found: Vec<_> = salvage(&run.into()).into_iter().filter_map(|piece| match piece {
                PackedPiece::Node(node) => Some(node),
                _ => None,
            }).collect();
            // Bytes may have been overwritten with what they were.
            prop_assert!(touched.iter().all(|node| found.contains(node)), "{:?}", found);
            prop_assert!(found.iter().all(|node| nodes.contains(node)), "{:?}", found);
        }
    }

    #[test]
    fn a_damaged_body_is_one_record_and_a_damaged_length_is_a_gap() {
        let nodes = nodes(3);
        let first = pack_all(&nodes[..1]).len();
        let mut run = pack_all(&nodes);
        let last = run.len() - 1;
        run[first - 1] ^= 1;
        run[last] ^= 1;
        let kept = salvage(&run.clone().into());
        assert!(matches!(&kept[0], PackedPiece::Damaged { id, .. } if id.as_str() == "m0"));
        assert_eq!(kept[1], PackedPiece::Node(nodes[1].clone()));
        assert!(matches!(&kept[2], PackedPiece::Damaged { id, .. } if id.as_str() == "m2"));
        // The first two are damaged, the last one is sound again.
        run[first + 4] ^= 0x40;
        run[last] ^= 1;
        let kept = salvage(&run.into());
        assert!(matches!(kept[..], [PackedPiece::Gap { .. }, PackedPiece::Node(_)]), "{kept:?}");
    }
}
