//! The layout of the page: agents side by side, their rounds one below the other, and within a
//! round each node below its predecessors.
//!
//! Computations are boxes in lines by their distance from the question. Data stands next to the
//! computation that produced it, below the data that it is part of. All coordinates are integers,
//! so that the same graph gives the same page. Linear in nodes and edges, apart from sorting within
//! a line.

use std::collections::{HashMap, HashSet};

use context_core::trajectory::NodeId;

use context_trajectory::{AgentNode, RoundGraph, SessionGraph};

const BOX_WIDTH: i64 = 260;
const BOX_HEIGHT: i64 = 76;
const CHIP_WIDTH: i64 = 190;
const CHIP_HEIGHT: i64 = 26;
const CHIP_GAP: i64 = 6;
/// The distance from a box to its data, and between columns of data.
const BESIDE: i64 = 34;
/// The indentation of data that is part of other data.
const INDENT: i64 = 14;
/// The largest indentation depth.
const DEEPEST: usize = 3;
/// The distance between two columns of data.
const ACROSS: i64 = BESIDE + CHIP_WIDTH + INDENT * DEEPEST as i64;
/// The largest number of data nodes in a column.
const COLUMN: usize = 9;
/// The largest number of boxes in a line.
const LINE: usize = 8;
const ITEM_GAP: i64 = 34;
const LINE_GAP: i64 = 52;
const PADDING: i64 = 28;
const CAPTION: i64 = 40;
const BAND_GAP: i64 = 56;
const AGENT_GAP: i64 = 120;

/// The position and size of a node or round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rectangle {
    pub(super) x: i64,
    pub(super) y: i64,
    pub(super) width: i64,
    pub(super) height: i64,
    /// Whether the node is data next to a computation.
    pub(super) chip: bool,
}

/// The position of a round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Band<'a> {
    pub(super) agent: u32,
    pub(super) round: RoundGraph<'a>,
    pub(super) rectangle: Rectangle,
}

/// The complete layout.
pub(super) struct Layout<'a> {
    pub(super) bands: Vec<Band<'a>>,
    pub(super) rectangles: HashMap<AgentNode, Rectangle>,
}

impl<'a> Layout<'a> {
    pub(super) fn of(graph: &'a SessionGraph) -> Self {
        let mut layout = Self { bands: Vec::new(), rectangles: HashMap::new() };
        let mut left = 0;
        for agent in graph.agents() {
            let layouts: Vec<RoundLayout<'_>> =
                agent.rounds().map(|round| RoundLayout::of(graph, agent.number(), round)).collect();
            let from = layouts.iter().map(|layout| layout.from).min().unwrap_or_default() - PADDING;
            let to = layouts.iter().map(|layout| layout.to).max().unwrap_or_default() + PADDING;
            let mut top = 0;
            for RoundLayout { round, rectangles, height, .. } in layouts {
                // Next to its caller, unless an earlier round is in the way.
                let caller = round.parent().and_then(|parent| layout.rectangles.get(&parent));
                top = caller.map_or(top, |caller| top.max(caller.y - CAPTION));
                for (node, rectangle) in rectangles {
                    let (x, y) = (rectangle.x - from + left, rectangle.y + top + CAPTION);
                    layout.rectangles.insert(
                        AgentNode::new(agent.number(), node),
                        Rectangle { x, y, ..rectangle },
                    );
                }
                let (width, height) = (to - from, height + CAPTION + PADDING);
                let rectangle = Rectangle { x: left, y: top, width, height, chip: false };
                layout.bands.push(Band { agent: agent.number(), round, rectangle });
                top += height + BAND_GAP;
            }
            left += to - from + AGENT_GAP;
        }
        layout
    }
}

/// A box in a line, with its data.
struct Item {
    node: NodeId,
    /// The data nodes with their depths.
    data: Vec<(NodeId, usize)>,
}

impl Item {
    fn columns(&self) -> i64 {
        self.data.len().div_ceil(COLUMN) as i64
    }

    /// Returns the distance from the middle of the box to the right edge of its data.
    fn right(&self) -> i64 {
        BOX_WIDTH / 2 + self.columns() * ACROSS
    }

    fn height(&self) -> i64 {
        let rows = self.data.len().min(COLUMN) as i64;
        BOX_HEIGHT.max(rows * (CHIP_HEIGHT + CHIP_GAP) - CHIP_GAP)
    }
}

/// The middle of a box, and the middle it would have without neighbours.
#[derive(Clone, Copy)]
struct BoxPosition {
    middle: i64,
    ideal: i64,
}

/// A laid-out round, relative to the axis through its question.
struct RoundLayout<'a> {
    round: RoundGraph<'a>,
    rectangles: Vec<(NodeId, Rectangle)>,
    from: i64,
    to: i64,
    height: i64,
}

impl<'a> RoundLayout<'a> {
    fn of(graph: &SessionGraph, agent: u32, round: RoundGraph<'a>) -> Self {
        let mut layout = Self {
            round,
            rectangles: Vec::new(),
            from: -BOX_WIDTH / 2,
            to: BOX_WIDTH / 2,
            height: 0,
        };
        let shown = |node: NodeId| graph.shows(AgentNode::new(agent, node));
        let mut positions = HashMap::new();
        for line in lines(&round, shown) {
            layout.line(&line, &mut positions, shown);
        }
        layout.height = (layout.height - LINE_GAP).max(0);
        layout
    }

    /// Adds a line below the previous ones, with each box as close below its predecessors as its
    /// neighbours allow. A box that joins several branches is placed below the point where they
    /// parted, so that a long round does not drift to one side.
    fn line(
        &mut self,
        items: &[Item],
        positions: &mut HashMap<NodeId, BoxPosition>,
        shown: impl Fn(NodeId) -> bool,
    ) {
        let ideal = |item: &Item| {
            let before = self.round.round().predecessors(item.node).filter(|edge| shown(edge.from));
            let before: Vec<&BoxPosition> =
                before.filter_map(|edge| positions.get(&edge.from)).collect();
            match before[..] {
                [] => 0,
                [one] => one.middle,
                _ => {
                    before.iter().map(|position| position.ideal).sum::<i64>() / before.len() as i64
                }
            }
        };
        let mut line: Vec<(i64, &Item)> = items.iter().map(|item| (ideal(item), item)).collect();
        line.sort_by_key(|(ideal, item)| (*ideal, item.node));
        let (mut free, mut off, mut put) = (i64::MIN, 0, Vec::with_capacity(line.len()));
        for (ideal, item) in line {
            let middle = ideal.max(free.saturating_add(BOX_WIDTH / 2));
            free = middle + item.right() + ITEM_GAP;
            off += ideal - middle;
            put.push((BoxPosition { middle, ideal }, item));
        }
        let shift = off / (put.len().max(1) as i64);
        let (top, mut height) = (self.height, 0);
        for (position, item) in put {
            let middle = position.middle + shift;
            self.item(item, BoxPosition { middle, ..position }, top, positions);
            self.from = self.from.min(middle - BOX_WIDTH / 2);
            self.to = self.to.max(middle + item.right());
            height = height.max(item.height());
        }
        self.height += height + LINE_GAP;
    }

    fn item(
        &mut self,
        item: &Item,
        position: BoxPosition,
        top: i64,
        positions: &mut HashMap<NodeId, BoxPosition>,
    ) {
        positions.insert(item.node, position);
        let middle = position.middle;
        let x = middle - BOX_WIDTH / 2;
        let rectangle = Rectangle { x, y: top, width: BOX_WIDTH, height: BOX_HEIGHT, chip: false };
        self.rectangles.push((item.node, rectangle));
        for (at, (node, depth)) in item.data.iter().enumerate() {
            let (across, down) = ((at / COLUMN) as i64, (at % COLUMN) as i64);
            let x = middle + BOX_WIDTH / 2 + across * ACROSS + BESIDE + *depth as i64 * INDENT;
            let y = top + down * (CHIP_HEIGHT + CHIP_GAP);
            positions.insert(*node, position);
            self.rectangles.push((
                *node,
                Rectangle { x, y, width: CHIP_WIDTH, height: CHIP_HEIGHT, chip: true },
            ));
        }
    }
}

/// Returns the nodes of a round in lines, with data attached to the computation that produced it.
fn lines(round: &RoundGraph<'_>, shown: impl Fn(NodeId) -> bool) -> Vec<Vec<Item>> {
    let whole = round.round();
    let mut met: HashMap<NodeId, usize> = HashMap::new();
    let mut parts: HashMap<NodeId, Vec<NodeId>> = HashMap::new();
    let mut ranks: Vec<Vec<NodeId>> = Vec::new();
    let ordered = whole.order();
    let mut left: Vec<NodeId> = Vec::new();
    if ordered.len() < whole.len() {
        // The edges of a damaged round have cycles; the nodes on them are shown nevertheless.
        let known: HashSet<_> = ordered.iter().copied().collect();
        left.extend(whole.nodes().map(|node| node.id).filter(|node| !known.contains(node)));
    }
    for node in ordered.into_iter().chain(left).filter(|node| shown(*node)) {
        let before =
            || whole.predecessors(node).filter_map(|edge| Some((edge.from, *met.get(&edge.from)?)));
        let is_data = whole.node(node).is_some_and(|node| !node.kind().is_computation());
        let owner = before().next().filter(|_| is_data);
        let rank = match owner {
            Some((owner, rank)) => {
                parts.entry(owner).or_default().push(node);
                rank
            }
            None => {
                let rank = before().map(|(_, rank)| rank + 1).max().unwrap_or(0);
                if ranks.len() <= rank {
                    ranks.resize_with(rank + 1, Vec::new);
                }
                ranks[rank].push(node);
                rank
            }
        };
        met.insert(node, rank);
    }
    let items = ranks.into_iter().map(|rank| {
        let rank = rank.into_iter().map(|node| Item { node, data: data_below(node, &mut parts) });
        rank.collect::<Vec<_>>()
    });
    items.flat_map(in_lines).collect()
}

fn data_below(node: NodeId, parts: &mut HashMap<NodeId, Vec<NodeId>>) -> Vec<(NodeId, usize)> {
    let mut below = |node: NodeId, depth: usize| {
        let parts = parts.remove(&node).unwrap_or_default();
        parts.into_iter().rev().map(move |part| (part, depth.min(DEEPEST)))
    };
    let mut open: Vec<_> = below(node, 0).collect();
    let mut data = Vec::new();
    while let Some((next, depth)) = open.pop() {
        data.push((next, depth));
        open.extend(below(next, depth + 1));
    }
    data
}

fn in_lines(rank: Vec<Item>) -> Vec<Vec<Item>> {
    let mut lines: Vec<Vec<Item>> = Vec::new();
    for item in rank {
        match lines.last_mut().filter(|line| line.len() < LINE) {
            Some(line) => line.push(item),
            None => lines.push(vec![item]),
        }
    }
    lines
}
