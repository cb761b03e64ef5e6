//! The order in which a round happened.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use context_core::trajectory::{NodeId, Round};

/// Returns the nodes in topological order of the flow; of several possible next nodes, the one
/// recorded first. Steps of parallel branches are thus ordered by their time. Linear in nodes and
/// edges, apart from a heap.
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
