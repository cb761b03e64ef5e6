//! Writing a round as the texts of its files.

use std::collections::HashSet;
use std::fmt::Write as _;

use context_core::Json;
use context_core::base::display::shown;
use context_core::trajectory::{
    Edge, FieldValue, NodeId, RoundRecord, TrajectoryNode, TrajectoryNodeKind, edge,
};

use super::text::pretty;

/// The version of the file format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Generation {
    /// The first version: edges are named `links`, there is no `Response`, and a `State` has only
    /// its text.
    First,
    /// The second version, which dataagent writes today: edges are named `edges`.
    #[default]
    Second,
}

/// The texts of a round's files.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Export {
    /// The graph file.
    pub graph: String,
    /// The pointer file: the question and the open ends.
    pub pointers: String,
    /// The parts that could not be written, apart from those that the format never holds.
    pub left_out: Vec<Omission>,
}

/// A part that could not be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Omission {
    /// The format has no such node kind. Edges from and to the node are left out too.
    #[error("{} is of a kind that the form does not have", shown(.node))]
    Kind {
        /// The node.
        node: String,
    },
    /// The format has no such field, and the node has a value for it.
    #[error("{field} of {} has no place in the form", shown(.node))]
    Field {
        /// The node.
        node: String,
        /// The field.
        field: &'static str,
    },
    /// The format allows one edge between two nodes, and an earlier edge was written.
    #[error("a second edge {name:?} leads from {} to {}", shown(.from), shown(.to))]
    SecondEdge {
        /// The source.
        from: String,
        /// The target.
        to: String,
        /// The name of the edge.
        name: String,
    },
    /// A reference to another round.
    #[error("{} refers to {}, which is of another round", shown(.from), shown(.to))]
    Reference {
        /// The source.
        from: String,
        /// The target.
        to: NodeId,
    },
    /// A node of an earlier round has the same name, so dataagent treats the two as one.
    #[error("{} is also a node of an earlier round", shown(.node))]
    SameName {
        /// The node.
        node: String,
    },
}

/// Writes a round. Nodes are in their order, edges are ordered by source.
pub fn export_round(record: &RoundRecord, generation: Generation) -> Export {
    let mut left_out = Vec::new();
    let first = generation == Generation::First;
    let (mut nodes, mut written) = (Vec::new(), HashSet::new());
    for node in &record.nodes {
        if first && node.kind() == TrajectoryNodeKind::Response {
            left_out.push(Omission::Kind { node: title(node) });
            continue;
        }
        written.insert(node.id);
        nodes.push(vertex(node, first, &mut left_out));
    }
    let name_of = |id: NodeId| {
        let at = record.nodes.binary_search_by_key(&id, |node| node.id).ok()?;
        Some(title(&record.nodes[at]))
    };
    let mut sorted: Vec<&Edge> = record.edges.iter().collect();
    sorted.sort_by_key(|edge| edge.from);
    let (mut edges, mut pairs) = (Vec::new(), HashSet::new());
    for Edge { from, to, name } in sorted {
        let (Some(source), target) = (name_of(*from), name_of(*to)) else { continue };
        let Some(target) = target else {
            if edge::Relation::of(name) == edge::Relation::Reference {
                left_out.push(Omission::Reference { from: source, to: *to });
            }
            continue;
        };
        if !written.contains(from) || !written.contains(to) {
            continue;
        }
        if !pairs.insert((*from, *to)) {
            left_out.push(Omission::SecondEdge { from: source, to: target, name: (**name).into() });
            continue;
        }
        edges.push(
            Entries::default()
                .text("edge_type", name)
                .text("source", &source)
                .text("target", &target),
        );
    }
    let mut graph = Entries::default();
    graph.raw("directed", "true");
    graph.raw("multigraph", "false");
    graph.raw("graph", "{}");
    graph.raw("nodes", &list(nodes.into_iter().map(Entries::end)));
    graph.raw(if first { "links" } else { "edges" }, &list(edges.into_iter().map(Entries::end)));
    let round = record.head.round.round;
    let named = |ordinal: &u32| name_of(NodeId::new(round, *ordinal)).map(|name| quoted(&name));
    let there = |ordinal: &&u32| written.contains(&NodeId::new(round, **ordinal));
    let mut pointers = Entries::default();
    let query = record.head.query.as_ref().and_then(named);
    pointers.raw("initial_pt", query.as_deref().unwrap_or("null"));
    pointers.raw("current_pt", &list(record.head.endpoints.iter().filter(there).filter_map(named)));
    pointers.raw("messages", "{}");
    Export { graph: pretty(&graph.end()), pointers: pretty(&pointers.end()), left_out }
}

/// Writes a node. The round of a question comes after its fields, that of other nodes before, as in
/// files of dataagent.
fn vertex(node: &TrajectoryNode, first: bool, left_out: &mut Vec<Omission>) -> Entries {
    let kind = node.kind();
    let round = node.id.round.to_string();
    let mut entries =
        Entries::default().text("node_type", kind.as_str()).text("description", &node.description);
    if kind != TrajectoryNodeKind::Query {
        entries.raw("run_id", &round);
    }
    for (field, value) in node.body.iter() {
        match entry_name(kind, field.name, first) {
            // A backup path is only written if there is a backup.
            Some("path_backup") if is_empty(value) => {}
            Some(name) => entries.raw(name, value.to_json().as_str()),
            None if is_empty(value) => {}
            None => left_out.push(Omission::Field { node: title(node), field: field.name }),
        }
    }
    if kind == TrajectoryNodeKind::Query {
        entries.raw("run_id", &round);
    }
    entries.text("id", &title(node))
}

/// Returns the name of a field in the format, or `None` if the format has no such field.
fn entry_name(kind: TrajectoryNodeKind, field: &'static str, first: bool) -> Option<&'static str> {
    match (kind, field) {
        (TrajectoryNodeKind::State, "content") if first => Some("state"),
        (TrajectoryNodeKind::State, _) if first => None,
        (_, "raw_user_query" | "path_backup") if first => None,
        // The format spells it this way.
        (TrajectoryNodeKind::State, "uncertainty") => Some("uncentainty"),
        _ => Some(field),
    }
}

fn is_empty(value: &FieldValue) -> bool {
    value.as_text().is_some_and(str::is_empty)
}

fn title(node: &TrajectoryNode) -> String {
    node.title().to_string()
}

fn quoted(text: &str) -> String {
    Json::from(text).as_str().to_owned()
}

fn list(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    format!("[{}]", items.join(","))
}

/// A JSON object that is being written.
#[derive(Default)]
struct Entries(String);

impl Entries {
    fn raw(&mut self, name: &str, json: &str) {
        let separator = if self.0.is_empty() { "" } else { "," };
        write!(self.0, "{separator}{}:{json}", quoted(name))
            .expect("writing to a string cannot fail");
    }

    fn text(mut self, name: &str, text: &str) -> Self {
        self.raw(name, &quoted(text));
        self
    }

    fn end(self) -> String {
        format!("{{{}}}", self.0)
    }
}
