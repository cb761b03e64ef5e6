//! The order in which a round happened.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use context_core::trajectory::{NodeId, Round};

/// The nodes in the order of the flow: each behind all that lead to it, and of those that could be
/// next, the one that was recorded first. So of branches that ran side by side, each step stands
/// where it was made. Takes time in proportion to nodes and edges, but for a heap.
pub(super) fn as_recorded(round: &Round) -> Vec<NodeId> {
    let mut waiting: HashMap<NodeId, usize> = HashMap::with_capacity(round.len());
    let mut ready = BinaryHeap::new();
    for node in round.nodes() {
        match round.predecessors(node.id).count() {
            0 => ready.push(Reverse(node.id)),
            before => {
                waiting.insert(node.id, before);
            }
        }
    }
    let mut order = Vec::with_capacity(round.len());
    while let Some(Reverse(id)) = ready.pop() {
        order.push(id);
        for edge in round.successors(id) {
            let Some(left) = waiting.get_mut(&edge.to) else { continue };
            *left -= 1;
            if *left == 0 {
                ready.push(Reverse(edge.to));
            }
        }
    }
    order
}
