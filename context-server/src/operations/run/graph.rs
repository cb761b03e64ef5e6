//! A round as a drawing: steps from top to bottom, parallel ones side by side, data to the right.

use std::collections::HashMap;

use super::block::{read_rounds, state};
use super::graph_box::{GraphBox, GraphBoxKind, GraphEdge, RunGraph};
use super::line::RunLine;
use super::{Run, StepId, StepState};
use crate::OperationError;
use context_runtime::display;
use context_runtime::trajectory::{
    NodeId, Relation, RoundHead, RoundRecord, TrajectoryNode, TrajectoryNodeKind,
};

/// The most steps of a round that are drawn.
const STEPS: usize = 160;
/// The most data that is drawn beside a step.
const DATA: usize = 4;
/// Sizes in pixels at a scale of 1.
const WIDTH: usize = 264;
const HEIGHT: usize = 34;
const PITCH: usize = 52;
const GUTTER: usize = 28;
const MARGIN: usize = 12;
/// The longest text in a box, in characters.
const TEXT: usize = 31;

impl Run {
    /// Draws the round of a step, or the newest round of the main agent in which more happened than
    /// a question. Of a large round, the steps around that step are drawn.
    pub async fn graph(&self, step: Option<StepId>) -> Result<RunGraph, OperationError> {
        let of_main = |head: &RoundHead| head.round.agent.agent == 0;
        let newest = self.heads.iter().rposition(|head| of_main(head) && head.nodes > 1);
        let newest = newest.or_else(|| self.heads.iter().rposition(of_main));
        let head = match step {
            Some(step) => self.head_of(step),
            None => newest.and_then(|at| u32::try_from(at).ok()),
        };
        let missing = || match step {
            Some(step) => context_runtime::Error::not_found("run", "step", step.to_string()),
            None => context_runtime::Error::not_found("run", "round", "0"),
        };
        let head = head.ok_or_else(missing)?;
        let mut records = read_rounds(self, &[head]).await?;
        let record = records.remove(&head).ok_or_else(missing)?;
        let mut drawing = Drawing::new(self, head, &record, step.map(|step| step.node));
        drawing.steps();
        drawing.data();
        drawing.neighbours();
        Ok(drawing.graph)
    }
}

struct Drawing<'a> {
    run: &'a Run,
    head: u32,
    record: &'a RoundRecord,
    /// The computations that are drawn.
    shown: Vec<&'a TrajectoryNode>,
    rows: HashMap<u32, usize>,
    lanes: HashMap<u32, usize>,
    lane_count: usize,
    tops: Vec<usize>,
    boxes: HashMap<u32, usize>,
    alive: Vec<u32>,
    graph: RunGraph,
}

impl<'a> Drawing<'a> {
    fn new(run: &'a Run, head: u32, record: &'a RoundRecord, selected: Option<NodeId>) -> Self {
        let steps: Vec<&TrajectoryNode> = record
            .nodes
            .iter()
            .map(|node| &**node)
            .filter(|it| it.kind().is_computation())
            .collect();
        let at = selected.map_or(0, |id| steps.partition_point(|node| node.id < id));
        let first = at.saturating_sub(STEPS / 2).min(steps.len().saturating_sub(STEPS));
        let last = (first + STEPS).min(steps.len());
        let graph = RunGraph {
            agent: record.head.round.agent.agent,
            round: record.head.round.round,
            left_out_before: first,
            left_out_after: steps.len() - last,
            ..RunGraph::default()
        };
        let mut drawing = Self {
            run,
            head,
            record,
            shown: steps[first..last].to_vec(),
            rows: HashMap::new(),
            lanes: HashMap::new(),
            lane_count: 1,
            tops: Vec::new(),
            boxes: HashMap::new(),
            alive: alive(record),
            graph,
        };
        drawing.arrange();
        drawing
    }

    fn flow(&self) -> impl Iterator<Item = (u32, u32)> + use<'a> {
        let round = self.record.head.round.round;
        let edges = self.record.edges.iter().filter(move |edge| {
            edge.relation() == Relation::Flow
                && edge.from.round == round
                && edge.from.ordinal < edge.to.ordinal
        });
        edges.map(|edge| (edge.from.ordinal, edge.to.ordinal))
    }

    /// Gives each step a row below all steps before it, and a lane that is free there.
    fn arrange(&mut self) {
        let mut before: HashMap<u32, Vec<u32>> = HashMap::new();
        for (from, to) in self.flow() {
            before.entry(to).or_default().push(from);
        }
        let mut ends: Vec<usize> = Vec::new();
        for node in &self.shown {
            let ordinal = node.id.ordinal;
            let earlier = before.get(&ordinal).into_iter().flatten();
            let earlier: Vec<u32> =
                earlier.copied().filter(|from| self.rows.contains_key(from)).collect();
            let row = earlier.iter().map(|from| self.rows[from] + 1).max().unwrap_or(0);
            let wanted = earlier.iter().map(|from| self.lanes[from]).min().unwrap_or(0);
            // A lane is free below its last step.
            let lane = (wanted..ends.len()).find(|lane| ends[*lane] <= row).unwrap_or(ends.len());
            if lane == ends.len() {
                ends.push(0);
            }
            ends[lane] = row + 1;
            self.rows.insert(ordinal, row);
            self.lanes.insert(ordinal, lane);
        }
        self.lane_count = ends.len().max(1);
        let mut beside = vec![1; self.rows.values().max().map_or(0, |row| row + 1)];
        let mut of_step: HashMap<u32, usize> = HashMap::new();
        for (from, to) in self.flow() {
            if self.rows.contains_key(&from) && self.is_data(to) {
                *of_step.entry(from).or_default() += 1;
            }
        }
        for node in &self.shown {
            let id = StepId::new(self.graph.agent, node.id);
            let agents = self.run.called(self.head, id).len();
            let data = of_step.get(&node.id.ordinal).copied().unwrap_or_default() + agents;
            let row: &mut usize = &mut beside[self.rows[&node.id.ordinal]];
            *row += data.min(DATA + 1).saturating_sub(1);
        }
        let mut top = MARGIN + if self.has_earlier() { PITCH } else { 0 };
        for lines in beside {
            self.tops.push(top);
            top += PITCH + (lines - 1) * (HEIGHT + 6);
        }
        self.tops.push(top);
    }

    fn node(&self, ordinal: u32) -> Option<&'a TrajectoryNode> {
        let at = self.record.nodes.binary_search_by_key(&ordinal, |node| node.id.ordinal).ok()?;
        self.record.nodes.get(at).map(|node| &**node)
    }

    fn is_data(&self, ordinal: u32) -> bool {
        self.node(ordinal).is_some_and(|node| !node.kind().is_computation())
    }

    fn has_earlier(&self) -> bool {
        self.neighbour(-1).is_some()
    }

    /// Returns the head of the round before or after.
    fn neighbour(&self, by: i64) -> Option<usize> {
        let at = usize::try_from(i64::from(self.head) + by).ok()?;
        let head = self.run.heads.get(at)?;
        (head.round.agent.agent == self.graph.agent).then_some(at)
    }

    fn push(&mut self, drawn: GraphBox) -> usize {
        self.graph.width = self.graph.width.max(drawn.x + drawn.width + MARGIN);
        self.graph.height = self.graph.height.max(drawn.y + drawn.height + MARGIN);
        self.graph.boxes.push(drawn);
        self.graph.boxes.len() - 1
    }

    fn of_node(&self, node: &TrajectoryNode, kind: GraphBoxKind, x: usize, y: usize) -> GraphBox {
        let line = RunLine::of(node, self.graph.agent, 0, state(self.run, self.head));
        let name = line
            .tool
            .as_deref()
            .map_or_else(|| line.kind.to_owned(), |tool| display::preview(tool, TEXT));
        let room = TEXT.saturating_sub(name.chars().count()).max(6);
        GraphBox {
            kind,
            node: Some(line.node),
            name,
            text: display::preview(&line.text, room),
            state: line.state,
            dead: self.alive.binary_search(&node.id.ordinal).is_err(),
            x,
            y,
            width: WIDTH,
            height: HEIGHT,
            params: line.params,
        }
    }

    fn steps(&mut self) {
        for node in self.shown.clone() {
            let ordinal = node.id.ordinal;
            let x = MARGIN + self.lanes[&ordinal] * (WIDTH + GUTTER);
            let drawn = self.of_node(node, GraphBoxKind::Step, x, self.tops[self.rows[&ordinal]]);
            let at = self.push(drawn);
            self.boxes.insert(ordinal, at);
        }
        for (from, to) in self.flow() {
            self.connect(from, to, false);
        }
    }

    fn connect(&mut self, from: u32, to: u32, reference: bool) {
        if let (Some(from), Some(to)) = (self.boxes.get(&from), self.boxes.get(&to)) {
            let dead = self.graph.boxes[*from].dead || self.graph.boxes[*to].dead;
            self.graph.edges.push(GraphEdge { from: *from, to: *to, reference, dead });
        }
    }

    /// Draws data and sub-agents beside the steps that they belong to.
    fn data(&mut self) {
        let x = MARGIN + self.lane_count * (WIDTH + GUTTER) + GUTTER;
        let mut free: HashMap<usize, usize> = HashMap::new();
        let mut data: HashMap<u32, Vec<u32>> = HashMap::new();
        for (from, to) in self.flow().filter(|(_, to)| self.is_data(*to)) {
            data.entry(from).or_default().push(to);
        }
        for node in self.shown.clone() {
            let ordinal = node.id.ordinal;
            let row = self.rows[&ordinal];
            let mut y = *free.entry(row).or_insert(self.tops[row]);
            let agents = self.run.called(self.head, StepId::new(self.graph.agent, node.id));
            let made = data.remove(&ordinal).unwrap_or_default();
            let all = agents.len() + made.len();
            let mut drawn = Vec::new();
            for agent in agents {
                let name = format!("agent {}", agent.node.agent);
                let text = display::preview(&agent.text, TEXT - name.len().min(TEXT - 6));
                drawn.push((
                    None,
                    GraphBox {
                        kind: GraphBoxKind::Agent,
                        node: Some(agent.node),
                        name,
                        text,
                        state: StepState::Unknown,
                        dead: false,
                        x,
                        y: 0,
                        width: WIDTH,
                        height: HEIGHT,
                        params: None,
                    },
                ));
            }
            for to in made {
                let Some(node) = self.node(to) else { continue };
                let mut one = self.of_node(node, GraphBoxKind::Data, x, 0);
                one.dead = self.alive.binary_search(&ordinal).is_err();
                drawn.push((Some(to), one));
            }
            let more = all.saturating_sub(DATA);
            drawn.truncate(DATA);
            if more > 0 {
                drawn.push((
                    None,
                    GraphBox {
                        kind: GraphBoxKind::More,
                        node: Some(StepId::new(self.graph.agent, node.id)),
                        name: format!("{more} more"),
                        text: String::new(),
                        state: StepState::Data,
                        dead: false,
                        x,
                        y: 0,
                        width: WIDTH,
                        height: HEIGHT,
                        params: None,
                    },
                ));
            }
            for (of, one) in drawn {
                let at = self.push(GraphBox { y, ..one });
                if let Some(of) = of {
                    self.boxes.insert(of, at);
                }
                let from = self.boxes[&ordinal];
                let dead = self.graph.boxes[from].dead;
                self.graph.edges.push(GraphEdge { from, to: at, reference: false, dead });
                y += HEIGHT + 6;
            }
            free.insert(row, y);
        }
        let round = self.record.head.round.round;
        for edge in &self.record.edges {
            if edge.relation() == Relation::Reference && edge.to.round == round {
                self.connect(edge.from.ordinal, edge.to.ordinal, true);
            }
        }
    }

    /// Draws the questions of the rounds before and after, which the round continues.
    fn neighbours(&mut self) {
        let bottom = self.tops.last().copied().unwrap_or(MARGIN);
        for (by, y) in [(-1, MARGIN), (1, bottom)] {
            let Some(at) = self.neighbour(by) else { continue };
            let head = &self.run.heads[at];
            let node = NodeId::new(head.round.round, head.query.unwrap_or_default());
            let drawn = GraphBox {
                kind: GraphBoxKind::Round,
                node: (head.nodes > 0).then(|| StepId::new(self.graph.agent, node)),
                name: format!("round {}", head.round.round),
                text: display::preview(&head.title, TEXT - 10),
                state: StepState::Unknown,
                dead: false,
                x: MARGIN,
                y,
                width: WIDTH,
                height: HEIGHT,
                params: None,
            };
            let at = self.push(drawn);
            let ends = if by < 0 {
                self.record.head.query.into_iter().collect::<Vec<_>>()
            } else {
                let alive = self.shown.iter().filter(|node| {
                    node.kind() == TrajectoryNodeKind::Response
                        && self.alive.binary_search(&node.id.ordinal).is_ok()
                });
                let responses: Vec<u32> = alive.map(|node| node.id.ordinal).collect();
                if responses.is_empty() { self.record.head.endpoints.clone() } else { responses }
            };
            for step in ends {
                let Some(of) = self.boxes.get(&step).copied() else { continue };
                let (from, to) = if by < 0 { (at, of) } else { (of, at) };
                self.graph.edges.push(GraphEdge { from, to, reference: false, dead: false });
            }
        }
    }
}

/// Returns the numbers of the nodes that led to the ends of the round, in order. All nodes if the
/// round has no end.
fn alive(record: &RoundRecord) -> Vec<u32> {
    let all = record.nodes.iter().map(|node| node.id.ordinal);
    if record.head.endpoints.is_empty() {
        return all.collect();
    }
    let mut before: HashMap<u32, Vec<u32>> = HashMap::new();
    for edge in record.edges.iter().filter(|edge| edge.relation() == Relation::Flow) {
        before.entry(edge.to.ordinal).or_default().push(edge.from.ordinal);
    }
    let (mut open, mut alive) = (record.head.endpoints.clone(), Vec::new());
    let mut seen = std::collections::HashSet::new();
    while let Some(at) = open.pop() {
        if seen.insert(at) {
            open.extend(before.remove(&at).unwrap_or_default());
            alive.push(at);
        }
    }
    // An answer ends the round and is no end to go on from.
    let is_response = |ordinal: u32| {
        let at = record.nodes.binary_search_by_key(&ordinal, |node| node.id.ordinal);
        at.is_ok_and(|at| record.nodes[at].kind() == TrajectoryNodeKind::Response)
    };
    for edge in record.edges.iter().filter(|edge| edge.relation() == Relation::Flow) {
        if seen.contains(&edge.from.ordinal)
            && is_response(edge.to.ordinal)
            && seen.insert(edge.to.ordinal)
        {
            alive.push(edge.to.ordinal);
        }
    }
    alive.sort_unstable();
    alive
}
