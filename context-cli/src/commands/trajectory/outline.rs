//! A session as lines or records, shared by `show` and `graph`.

use context_runtime::Json;
use context_runtime::trajectory::{
    AgentGraph, AgentNode, Relation, Round, RoundGraph, SessionGraph, TrajectoryNode,
    TrajectoryNodeKind,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::App;
use crate::error::Failure;
use crate::output::Style;
use crate::text::{clean, count, one_line, preview};

/// The number of characters of a node that are shown on one line.
const SHOWN: usize = 72;

/// JSON record of `trajectory show` and `trajectory graph --format json`: one node.
#[derive(Serialize, JsonSchema)]
pub(in crate::commands) struct NodeRecord<'a> {
    v: u32,
    session: &'a str,
    /// The calling agent, 0 for the main one.
    agent: u32,
    /// Whether the node is an active endpoint of its round.
    endpoint: bool,
    /// Whether the node is on an active branch, or is data of one.
    active: bool,
    /// The incoming edges, including bridges from earlier rounds.
    after: Vec<EdgeRecord>,
    /// The nodes that it refers to.
    refers_to: Vec<String>,
    #[schemars(with = "serde_json::Value")]
    node: &'a TrajectoryNode,
}

/// An incoming edge.
#[derive(Serialize, JsonSchema)]
pub(in crate::commands) struct EdgeRecord {
    from: String,
    name: String,
}

/// Writes the selected rounds of one agent or of all, as lines or as records.
pub(super) fn write(
    app: &mut App,
    graph: &SessionGraph,
    only: Option<u32>,
    records: bool,
) -> Result<(), Failure> {
    for agent in graph.agents().filter(|agent| only.is_none_or(|only| only == agent.number())) {
        for round in agent.rounds() {
            if !records {
                let head = heading(app, agent.number(), round);
                app.out.line(head)?;
            }
            for node in round.nodes() {
                match records {
                    true => record(app, graph, agent, node)?,
                    false => line(app, agent.number(), graph, round.round(), node)?,
                }
            }
        }
    }
    Ok(())
}

fn heading(app: &App, agent: u32, round: RoundGraph<'_>) -> String {
    let head = round.round().head();
    let mut name = format!("round {}", head.round.round);
    if agent > 0 {
        name = format!("agent {agent} {name}");
    }
    if let Some(parent) = head.parent {
        name = format!("{name}, called by {}", AgentNode::from(parent));
    }
    let facts = [
        round.state().as_str().to_owned(),
        count(round.round().len(), "node"),
        app.out.when(head.created_at),
    ]
    .join(" · ");
    format!("{} · {facts}", app.out.paint(Style::Bold, name))
}

fn line(
    app: &mut App,
    agent: u32,
    graph: &SessionGraph,
    round: &Round,
    node: &TrajectoryNode,
) -> Result<(), Failure> {
    let end = if round.endpoints().any(|id| id == node.id) { "*" } else { " " };
    let id = app.out.paint(Style::Yellow, format!("{:6}", node.id.to_string())).to_string();
    let before: Vec<String> =
        round.predecessors(node.id).map(|edge| edge.from.to_string()).collect();
    let before =
        if before.is_empty() { String::new() } else { format!("  ← {}", before.join(", ")) };
    let dead = if graph.is_active(AgentNode::new(agent, node.id)) { "" } else { "  (dead branch)" };
    let error = node.measures.as_ref().and_then(|measures| measures.error.as_deref());
    let error = error.map(|error| format!("  error: {}", preview(error, SHOWN)));
    let error = app.out.paint(Style::Red, error.unwrap_or_default()).to_string();
    let beside = app.out.paint(Style::Dim, format!("{before}{dead}")).to_string();
    let kind = node.kind().as_str();
    app.out.line(format_args!(
        "{end} {id} {kind:9} {}{error}{beside}",
        preview(&describe(node), SHOWN)
    ))
}

/// Describes a node in words.
fn describe(node: &TrajectoryNode) -> String {
    let headline = node.body.headline();
    if node.kind() != TrajectoryNodeKind::Action {
        return match headline.is_empty() {
            true => format!("({})", node.label),
            false => headline.to_owned(),
        };
    }
    let json =
        |name: &str| node.body.get(name).map(|value| value.to_json()).unwrap_or_else(|| "".into());
    let params = json("params");
    let params =
        if params.as_str() == "{}" { String::new() } else { format!(" {}", params.as_str()) };
    let output = json("output");
    let output = output.to_text().unwrap_or_else(|| output.as_str().to_owned());
    let success = node.body.get("success").map(|value| value.to_json());
    let outcome = match success.as_ref().map(Json::as_str) {
        _ if output == "Pending" => "",
        Some("true") => "",
        Some("false") => "failed: ",
        // Nothing that is not known is shown as a success.
        _ => "outcome unknown: ",
    };
    let output = if output.is_empty() { "(no output)".into() } else { one_line(&output) };
    format!("{headline}{params} → {outcome}{output}")
}

/// Writes a node as a record.
pub(super) fn record(
    app: &mut App,
    graph: &SessionGraph,
    side: AgentGraph<'_>,
    node: &TrajectoryNode,
) -> Result<(), Failure> {
    let (agent, trajectory) = (side.number(), side.trajectory());
    let after = trajectory.predecessors(node.id).into_iter();
    let round = trajectory.round(node.id.round);
    let refers = round.into_iter().flat_map(|round| round.edges_from(node.id));
    let refers = refers.filter(|edge| edge.relation() == Relation::Reference);
    app.out.record(&NodeRecord {
        v: 1,
        session: graph.session().as_str(),
        agent,
        endpoint: round.is_some_and(|round| round.endpoints().any(|id| id == node.id)),
        active: graph.is_active(AgentNode::new(agent, node.id)),
        after: after
            .map(|edge| EdgeRecord { from: edge.from.to_string(), name: edge.name.to_string() })
            .collect(),
        refers_to: refers.map(|edge| edge.to.to_string()).collect(),
        node,
    })
}

/// Returns the name of a node for use in another node's line.
pub(super) fn named(node: &TrajectoryNode) -> String {
    format!("{} {}", node.id, clean(&node.title().to_string()))
}
