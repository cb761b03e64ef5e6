//! The edges of a round, and for each node the lists of its edges.

use super::super::Edge;

/// The end of a list.
const NONE: u32 = u32::MAX;

/// The edges of a round. Each edge is part of up to two lists: the edges that lead from its source,
/// and the edges that lead to its target, if the target is in the round. The lists run through the
/// edges themselves, so that an edge is no allocation.
#[derive(Clone, Debug, Default)]
pub(super) struct EdgeLists {
    /// In the order of addition.
    slots: Vec<Slot>,
    /// By number of the node.
    nodes: Vec<[List; 2]>,
}

/// The end of an edge at which a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Source = 0,
    Target = 1,
}

#[derive(Clone, Debug)]
struct Slot {
    /// `None` if the edge was removed.
    edge: Option<Edge>,
    /// The next edge in the lists of the two ends.
    next: [u32; 2],
}

/// The first and the last edge of a list.
#[derive(Clone, Copy, Debug)]
struct List {
    first: u32,
    last: u32,
}

impl Default for List {
    fn default() -> Self {
        Self { first: NONE, last: NONE }
    }
}

impl EdgeLists {
    /// Makes space for this many nodes and edges.
    pub(super) fn reserve(&mut self, nodes: usize, edges: usize) {
        self.nodes.reserve(nodes);
        self.slots.reserve(edges);
    }

    /// Gives each node below a number its lists.
    pub(super) fn cover(&mut self, nodes: usize) {
        if self.nodes.len() < nodes {
            self.nodes.resize(nodes, Default::default());
        }
    }

    /// Returns all edges, in the order of addition.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Edge> {
        self.slots.iter().filter_map(|slot| slot.edge.as_ref())
    }

    /// Returns the edges that have a node at this end, in the order of addition.
    pub(super) fn of(&self, node: usize, end: End) -> impl Iterator<Item = &Edge> {
        let mut at = self.nodes.get(node).map_or(NONE, |lists| lists[end as usize].first);
        std::iter::from_fn(move || {
            let slot = self.slots.get(at as usize)?;
            at = slot.next[end as usize];
            slot.edge.as_ref()
        })
    }

    /// Adds an edge from one node to another one, or to one outside of the round.
    pub(super) fn push(&mut self, edge: Edge, from: usize, to: Option<usize>) {
        let index = self.slots.len() as u32;
        self.slots.push(Slot { edge: Some(edge), next: [NONE; 2] });
        self.append(index, from, End::Source);
        if let Some(to) = to {
            self.append(index, to, End::Target);
        }
    }

    fn append(&mut self, index: u32, node: usize, end: End) {
        let list = &mut self.nodes[node][end as usize];
        match list.first {
            NONE => list.first = index,
            _ => self.slots[list.last as usize].next[end as usize] = index,
        }
        list.last = index;
    }

    /// Removes the edges of a node of this round.
    pub(super) fn remove(&mut self, node: usize, round: u32) {
        for (end, other) in [(End::Source, End::Target), (End::Target, End::Source)] {
            let mut at = std::mem::take(&mut self.nodes[node][end as usize]).first;
            while let Some(slot) = self.slots.get_mut(at as usize) {
                let (index, edge) = (at, slot.edge.take());
                at = slot.next[end as usize];
                let Some(edge) = edge else { continue };
                let neighbour = if other == End::Source { edge.from } else { edge.to };
                if neighbour.round == round {
                    self.unlink(index, neighbour.ordinal as usize, other);
                }
            }
        }
    }

    /// Takes an edge out of a list.
    fn unlink(&mut self, index: u32, node: usize, end: End) {
        let Self { slots, nodes } = self;
        let list = &mut nodes[node][end as usize];
        let behind = slots[index as usize].next[end as usize];
        let mut before = NONE;
        let mut at = list.first;
        while at != index {
            let Some(slot) = slots.get(at as usize) else { return };
            (before, at) = (at, slot.next[end as usize]);
        }
        match slots.get_mut(before as usize) {
            Some(slot) => slot.next[end as usize] = behind,
            None => list.first = behind,
        }
        if list.last == index {
            list.last = before;
        }
    }
}
