//! Reading a round from the texts of its files.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use context_core::base::{JsonMap, limits};
use context_core::store::RoundCommit;
use context_core::trajectory::{
    Change, Edge, NodeId, RoundHead, RoundRecord, RoundRef, RoundState, TrajectoryNode,
    TrajectoryNodeKind, edge,
};
use context_core::{Json, Timestamp};

use super::document::{Pointers, read_graph, read_pointers};
use super::finding::{ImportFinding, Problem};
use super::flow::closing;
use super::node::read_vertex;

/// Numbers in caller-chosen labels from here on do not advance the counter.
const HIGHEST: u32 = 1_000_000_000;
const DIGITS: usize = 5;

/// An imported round.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RoundImport {
    /// The round, or `None` if nothing could be read.
    pub round: Option<RoundRecord>,
    /// The findings.
    pub findings: Vec<ImportFinding>,
}

impl RoundImport {
    /// Returns the commits that create the round in a store: one, unless the round is very large.
    /// The commit keys are deterministic, so the commits may be sent again.
    pub fn commits(&self) -> Vec<RoundCommit> {
        self.round.as_ref().map(commits).unwrap_or_default()
    }
}

/// Reads a round from the text of its graph and, if given, of its pointers. `at` is the time of
/// everything in the round.
pub fn import_round(
    round: &RoundRef,
    graph: &str,
    pointers: Option<&str>,
    at: Timestamp,
) -> RoundImport {
    let mut problems = Vec::new();
    let record = read_round(round, graph, pointers, at, &mut |problem| problems.push(problem));
    let record = record.map_err(|problem| problems.push(problem)).ok();
    let findings = problems.into_iter().map(|problem| ImportFinding::new("", problem)).collect();
    RoundImport { round: record, findings }
}

fn read_round(
    round: &RoundRef,
    graph: &str,
    pointers: Option<&str>,
    at: Timestamp,
    report: &mut impl FnMut(Problem),
) -> Result<RoundRecord, Problem> {
    let graph = read_graph(graph, report)?;
    let pointers = pointers.map(|text| read_pointers(text, report)).unwrap_or_default();
    let (nodes, places) = read_nodes(&graph.nodes, round.round, at, report);
    let query = find_query(&nodes, &places, &pointers, report);
    let edges = read_edges(&graph.edges, query, &nodes, &places, report);
    let mut head = RoundHead::new(round.clone(), at);
    head.revision = 1;
    head.state = RoundState::Closed;
    head.query = query.map(|index| index as u32);
    if let Some(index) = query {
        let text = nodes[index].body.headline();
        head.title = text[..text.floor_char_boundary(RoundHead::TITLE_BYTES)].into();
    }
    let mut ends: Vec<u32> = Vec::new();
    for name in pointers.ends {
        match places.get(&name) {
            Some(index) => ends.push(*index as u32),
            None => report(Problem::LostPointer { node: name }),
        }
    }
    ends.sort_unstable();
    ends.dedup();
    head.endpoints = ends;
    head.next = nodes.len() as u32;
    head.nodes = head.next;
    for node in &nodes {
        let number = &mut head.numbers[node.kind() as usize];
        *number = (*number).max(next_number(node.kind(), &node.label));
    }
    Ok(RoundRecord::new(head, nodes, edges))
}

/// Reads the vertices as nodes, and returns the position of each by its name in the file.
fn read_nodes(
    list: &[Json],
    round: u32,
    at: Timestamp,
    report: &mut impl FnMut(Problem),
) -> (Vec<Arc<TrajectoryNode>>, HashMap<String, usize>) {
    let (mut nodes, mut places) = (Vec::<Arc<TrajectoryNode>>::new(), HashMap::new());
    let mut titles = HashSet::new();
    for (index, json) in list.iter().enumerate() {
        let Some(vertex) = read_vertex(index, json, round, report) else { continue };
        if !titles.insert((vertex.body.kind(), vertex.label.clone())) {
            report(Problem::DuplicateNode { node: vertex.name });
            continue;
        }
        if nodes.len() == limits::MAX_ROUND_NODES {
            report(Problem::TooLarge { node: vertex.name });
            continue;
        }
        let id = NodeId::new(round, nodes.len() as u32);
        let mut node = TrajectoryNode::new(id, vertex.label, vertex.body, at);
        node.description = vertex.description;
        places.insert(vertex.name, nodes.len());
        nodes.push(Arc::new(node));
    }
    (nodes, places)
}

/// Returns the question of the round: the one that the pointers name, or the first.
fn find_query(
    nodes: &[Arc<TrajectoryNode>],
    places: &HashMap<String, usize>,
    pointers: &Pointers,
    report: &mut impl FnMut(Problem),
) -> Option<usize> {
    let is_query = |index: &usize| nodes[*index].kind() == TrajectoryNodeKind::Query;
    let mut queries = (0..nodes.len()).filter(is_query);
    let first = queries.next();
    match queries.count() {
        0 => {}
        more => report(Problem::SeveralQueries { count: more + 1 }),
    }
    let Some(name) = &pointers.query else { return first };
    match places.get(name).copied().filter(is_query) {
        None => {
            report(Problem::LostPointer { node: name.clone() });
            first
        }
        known => known,
    }
}

fn read_edges(
    list: &[Json],
    query: Option<usize>,
    nodes: &[Arc<TrajectoryNode>],
    places: &HashMap<String, usize>,
    report: &mut impl FnMut(Problem),
) -> Vec<Edge> {
    let mut read: Vec<(usize, usize, String)> = Vec::new();
    let mut seen = HashSet::new();
    for (index, json) in list.iter().enumerate() {
        let Some(Ends { from, to, name, map }) = ends_of(json) else {
            report(Problem::BadEdge { index });
            continue;
        };
        if name == edge::CONTINUES_TO {
            report(Problem::Bridge { from, to });
            continue;
        }
        let (Some(source), Some(target)) = (places.get(&from).copied(), places.get(&to).copied())
        else {
            report(Problem::Dangling { from, to, name });
            continue;
        };
        if !seen.insert((source, target, name.clone())) {
            report(Problem::DuplicateEdge { from, to, name });
            continue;
        }
        for (key, value) in map {
            report(Problem::EdgeAttribute { from: from.clone(), to: to.clone(), name: key, value });
        }
        read.push((source, target, name));
    }
    // References are not part of the flow, so they close no cycle.
    let is_flow = |name: &str| edge::Relation::of(name) == edge::Relation::Flow;
    let flow: Vec<_> = read
        .iter()
        .filter(|(_, _, name)| is_flow(name))
        .map(|(from, to, _)| (*from, *to))
        .collect();
    let mut closing = closing(nodes.len(), query, &flow).into_iter();
    let mut edges = Vec::with_capacity(read.len());
    for (from, to, name) in read {
        if is_flow(&name) && closing.next().unwrap_or(false) {
            let title = |index: usize| nodes[index].title().to_string();
            report(Problem::Cycle { from: title(from), to: title(to), name });
        } else {
            edges.push(Edge::new(nodes[from].id, nodes[to].id, name));
        }
    }
    edges
}

struct Ends {
    from: String,
    to: String,
    name: String,
    /// The other entries of the edge.
    map: JsonMap,
}

fn ends_of(json: &Json) -> Option<Ends> {
    let mut map = json.parse::<JsonMap>().ok()?;
    let from = map.shift_remove("source")?.to_text()?;
    let to = map.shift_remove("target")?.to_text()?;
    let (name, other) = (map.shift_remove("edge_type"), map.shift_remove("relationship"));
    let name = name.or(other)?.to_text().filter(|name| name.len() <= limits::MAX_ID_BYTES)?;
    Some(Ends { from, to, name, map })
}

/// Returns the number after that of a generated label, or 0 for any other label.
fn next_number(kind: TrajectoryNodeKind, label: &str) -> u32 {
    let digits = label.strip_prefix(kind.lower()).filter(|digits| digits.len() >= DIGITS);
    let digits = digits.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    let number =
        digits.and_then(|digits| digits.parse::<u32>().ok()).filter(|number| *number < HIGHEST);
    number.map_or(0, |number| number + 1)
}

/// Returns the commits that create a round. Each one leaves a sound round, so an interrupted import
/// leaves a valid part.
pub(super) fn commits(record: &RoundRecord) -> Vec<RoundCommit> {
    let nodes = record.nodes.iter().map(|node| Change::NodeAdded { node: node.clone() });
    let edges = record.edges.iter().map(|edge| Change::EdgeAdded { edge: edge.clone() });
    let changes: Vec<Change> = nodes.chain(edges).collect();
    let mut commits = Vec::new();
    let (mut there, mut chunks) = (0_u32, changes.chunks(limits::MAX_COMMIT_ITEMS).peekable());
    let mut revision = 0;
    // The key is a hash of the content, so that a different round is not taken for a repetition of
    // this one.
    let content = serde_json::to_vec(&changes).expect("nodes and edges print as JSON");
    let content = blake3::hash(&content).to_hex();
    loop {
        let chunk = chunks.next().unwrap_or_default();
        there +=
            chunk.iter().filter(|change| matches!(change, Change::NodeAdded { .. })).count() as u32;
        revision += 1;
        let mut head = record.head.clone();
        head.revision = revision;
        let last = chunks.peek().is_none();
        if !last {
            head.state = RoundState::Open;
            head.nodes = there;
            head.endpoints.retain(|end| *end < there);
            head.query = head.query.filter(|query| *query < there);
        }
        commits.push(RoundCommit::new(
            format!("import-{revision}-{}", &content[..16]),
            chunk.to_vec(),
            head,
        ));
        if last {
            return commits;
        }
    }
}
