//! The graph alone: adding nodes to a round, and selecting active branches.

use std::collections::{BTreeSet, HashMap};
use std::hint::black_box;
use std::sync::Arc;

use context_runtime::trajectory::{BridgeFrom, Edge, NodeBody, NodeId, Trajectory, TrajectoryNode};

use crate::Bench;
use crate::board::Row;
use crate::data::{self, GrowingRound};

/// The number of nodes that a paired round adds.
const ADDED: usize = 300;

/// The floor: a list of the nodes, and a map of labels.
#[derive(Default)]
struct PlainGraph {
    nodes: Vec<Arc<TrajectoryNode>>,
    labels: HashMap<Arc<str>, usize>,
}

impl PlainGraph {
    fn add(&mut self, body: NodeBody) {
        let node = data::plain(self.nodes.len(), body);
        self.labels.insert(node.label.clone(), self.nodes.len());
        self.nodes.push(node);
    }
}

fn bodies(first: usize) -> Vec<NodeBody> {
    (first..first + ADDED).map(data::body).collect()
}

fn grow(growing: &mut GrowingRound, bodies: Vec<NodeBody>) {
    for body in bodies {
        black_box(growing.add(body));
    }
}

pub(crate) async fn add(bench: &mut Bench) {
    const CASE: &str = "add a node";
    const FLAT: &str = "add a node, against one to a small round";
    const CHANGE: &str = "change a node, against one of a small round";
    let round = || data::agent("add").round(0);
    let rounds = bench.options.rounds;
    for n in [100, 8_000, 100_000] {
        let (mut growing, _) = GrowingRound::of(round(), n);
        let mut plain = PlainGraph::default();
        (0..n).for_each(|i| plain.add(data::body(i)));
        if bench.options.has(CASE) {
            let mut row = Row::new(CASE, n, "ns", Some(4.0)).skip_first(2);
            for _ in 0..rounds + 2 {
                let new = bodies(growing.next);
                row.ours(ADDED, async { grow(&mut growing, new) }).await;
                let new = bodies(growing.next);
                row.floor(ADDED, async { new.into_iter().for_each(|body| plain.add(body)) }).await;
            }
            bench.board.add(row);
        }
        if n < 100_000 {
            continue;
        }
        let (mut small, _) = GrowingRound::of(round(), 100);
        if bench.options.has(FLAT) {
            let mut row = Row::new(FLAT, n, "ns", Some(1.2)).skip_first(2);
            for _ in 0..rounds + 2 {
                let new = bodies(growing.next);
                row.ours(ADDED, async { grow(&mut growing, new) }).await;
                let new = bodies(small.next);
                row.floor(ADDED, async { grow(&mut small, new) }).await;
            }
            bench.board.add(row);
        }
        if bench.options.has(CHANGE) {
            let mut row = Row::new(CHANGE, n, "ns", Some(1.2)).skip_first(2);
            for paired in 0..rounds + 2 {
                row.ours(ADDED, async { change(&mut growing, paired) }).await;
                row.floor(ADDED, async { change(&mut small, paired) }).await;
            }
            bench.board.add(row);
        }
    }
}

/// Changes the newest actions, each once.
fn change(growing: &mut GrowingRound, paired: usize) {
    let number = growing.round.round().round;
    let end = growing.next - growing.next % 3;
    for i in 0..ADDED {
        let ordinal = end - 1 - 3 * (i % 30);
        let changes = data::output(paired * ADDED + i);
        let id = NodeId::new(number, ordinal as u32);
        black_box(growing.round.change(id, &changes, None, data::at(i)).unwrap());
    }
}

/// The floor: the predecessors of each node, as lists of numbers.
struct AdjacencyLists {
    nodes: Vec<NodeId>,
    edges: Vec<(Edge, usize, usize)>,
    before: Vec<Vec<usize>>,
    /// The successors of each node.
    behind: Vec<Vec<usize>>,
    ends: Vec<usize>,
}

impl AdjacencyLists {
    fn new(trajectory: &Trajectory) -> Self {
        let nodes: Vec<NodeId> = trajectory.nodes().map(|node| node.id).collect();
        let places: HashMap<NodeId, usize> = nodes.iter().copied().zip(0..).collect();
        let edges: Vec<_> =
            trajectory.edges().map(|edge| (places[&edge.from], places[&edge.to], edge)).collect();
        let mut before = vec![Vec::new(); nodes.len()];
        let mut behind = vec![Vec::new(); nodes.len()];
        for (from, to, edge) in edges.iter().filter(|(.., edge)| edge.from.round == edge.to.round) {
            before[*to].push(*from);
            if !trajectory.node(edge.to).unwrap().kind().is_computation() {
                behind[*from].push(*to);
            }
        }
        let ends =
            trajectory.rounds().flat_map(|round| round.endpoints()).map(|id| places[&id]).collect();
        let edges = edges.into_iter().map(|(from, to, edge)| (edge, from, to)).collect();
        Self { nodes, edges, before, behind, ends }
    }

    fn pruned(&self) -> (BTreeSet<NodeId>, Vec<Edge>) {
        let mut live = vec![false; self.nodes.len()];
        let mut open = self.ends.clone();
        while let Some(at) = open.pop() {
            if !std::mem::replace(&mut live[at], true) {
                open.extend(&self.before[at]);
            }
        }
        for at in 0..live.len() {
            if live[at] {
                self.behind[at].iter().for_each(|hanging| live[*hanging] = true);
            }
        }
        let nodes =
            self.nodes.iter().zip(&live).filter(|(_, live)| **live).map(|(id, _)| *id).collect();
        let kept = self.edges.iter().filter(|(_, from, to)| live[*from] && live[*to]);
        (nodes, kept.map(|(edge, ..)| edge.clone()).collect())
    }
}

pub(crate) async fn prune(bench: &mut Bench) {
    const CASE: &str = "prune rounds of 40";
    const TIMES: usize = 10;
    if !bench.options.has(CASE) {
        return;
    }
    for rounds in [50, 500] {
        let made = data::rounds(&data::agent("prune"), 0..rounds);
        let trajectory =
            Trajectory::new(made.into_iter().map(|(round, _)| round), BridgeFrom::default());
        let lists = AdjacencyLists::new(&trajectory);
        let pruned = trajectory.pruned();
        let (nodes, edges) = lists.pruned();
        assert_eq!((&pruned.nodes, pruned.edges.len()), (&nodes, edges.len()), "both do the same");
        let mut row = Row::new(CASE, trajectory.len(), "us", Some(4.0)).skip_first(2);
        for _ in 0..bench.options.rounds + 2 {
            row.ours(TIMES, async {
                for _ in 0..TIMES {
                    black_box(trajectory.pruned());
                }
            })
            .await;
            row.floor(TIMES, async {
                for _ in 0..TIMES {
                    black_box(lists.pruned());
                }
            })
            .await;
        }
        bench.board.add(row);
    }
}
