//! The labels of a round's nodes.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use hashbrown::HashTable;

use super::super::{TrajectoryNode, TrajectoryNodeKind};

/// Minimum number of digits of a number in a label.
pub(super) const DIGITS: usize = 5;

/// The nodes of a round, by number. `None` for removed nodes.
pub(super) type Nodes = [Option<Arc<TrajectoryNode>>];

/// An index of nodes by kind and label. The labels themselves are in the nodes, which each call
/// gets. Generated labels have rising numbers, so they need no hashes, and a new one is found to be
/// free without a look at far memory.
#[derive(Clone, Debug, Default)]
pub(super) struct LabelIndex {
    /// For each kind, the numbers of generated labels with the numbers of their nodes, in ascending
    /// order. A removed node keeps its entry.
    generated: [Vec<(u32, u32)>; TrajectoryNodeKind::ALL.len()],
    /// The numbers of nodes with other labels, with the hashes of the labels. The hashes have a
    /// random key, since labels may come from a model.
    chosen: HashTable<(u64, u32)>,
    hasher: RandomState,
}

impl LabelIndex {
    /// Returns the number of the node of a kind with this label.
    pub(super) fn find(&self, kind: TrajectoryNodeKind, label: &str, nodes: &Nodes) -> Option<u32> {
        let has_label = |ordinal: u32| {
            let node = nodes.get(ordinal as usize)?.as_ref()?;
            (node.kind() == kind && *node.label == *label).then_some(ordinal)
        };
        let generated = &self.generated[kind as usize];
        let number = generated_number(kind, label).filter(|number| {
            // A new label is behind all others.
            generated.last().is_some_and(|(last, _)| last >= number)
        });
        let at = number.and_then(|number| generated.binary_search_by_key(&number, |it| it.0).ok());
        at.and_then(|at| has_label(generated[at].1)).or_else(|| {
            if self.chosen.is_empty() {
                return None;
            }
            let hash = self.hasher.hash_one(label);
            let is_it =
                |(known, ordinal): &(u64, u32)| *known == hash && has_label(*ordinal).is_some();
            self.chosen.find(hash, is_it).map(|(_, ordinal)| *ordinal)
        })
    }

    /// Adds a node whose label no other node of its kind has.
    pub(super) fn insert(&mut self, node: &TrajectoryNode) {
        let generated = &mut self.generated[node.kind() as usize];
        match generated_number(node.kind(), &node.label) {
            Some(number) if generated.last().is_none_or(|(last, _)| *last < number) => {
                if generated.is_empty() {
                    // As many as an ordinary round has of a kind.
                    generated.reserve(16);
                }
                generated.push((number, node.id.ordinal));
            }
            _ => {
                let hash = self.hasher.hash_one(&*node.label);
                self.chosen.insert_unique(hash, (hash, node.id.ordinal), |(hash, _)| *hash);
            }
        }
    }

    /// Removes a node.
    pub(super) fn remove(&mut self, node: &TrajectoryNode) {
        let hash = self.hasher.hash_one(&*node.label);
        if let Ok(entry) = self.chosen.find_entry(hash, |(_, ordinal)| *ordinal == node.id.ordinal)
        {
            entry.remove();
        }
    }
}

/// Returns the number of a label, if a generated label of the kind has exactly this form.
fn generated_number(kind: TrajectoryNodeKind, label: &str) -> Option<u32> {
    let digits = label.strip_prefix(kind.lower())?;
    let is_padded = digits.len() == DIGITS || !digits.starts_with('0');
    let is_number = digits.len() >= DIGITS && digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_padded && is_number { digits.parse().ok() } else { None }
}
