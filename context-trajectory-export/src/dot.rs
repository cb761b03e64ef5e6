//! Export to Graphviz DOT.

use std::io::{self, Write};

use context_core::base::display::{is_hidden, shown};
use context_core::trajectory::{TrajectoryNode, TrajectoryNodeKind};

use crate::text::{DiagramOptions, agent_caption, colours, file_id, headline, round_caption};
use context_trajectory::{AgentNode, Link, LinkKind, SessionGraph};

/// Writes a graph as Graphviz DOT: a cluster for each agent and each round, a class for each node
/// kind, inactive branches dashed.
///
/// Bridges are dashed. References are dotted and do not affect the layout. Returns the errors of
/// the writer.
pub fn write_dot(
    graph: &SessionGraph,
    options: &DiagramOptions,
    mut out: impl Write,
) -> io::Result<()> {
    let direction = if options.left_to_right { "LR" } else { "TB" };
    writeln!(out, "digraph trajectory {{")?;
    writeln!(out, "  graph [rankdir={direction}, fontname=\"sans-serif\"];")?;
    writeln!(out, "  node [fontname=\"sans-serif\", style=filled];")?;
    writeln!(out, "  edge [fontname=\"sans-serif\", fontsize=10];")?;
    for agent in graph.agents() {
        let number = agent.number();
        writeln!(out, "  subgraph cluster_a{number} {{")?;
        writeln!(out, "    label={};", quoted(&[&agent_caption(&agent)]))?;
        for round in agent.rounds() {
            writeln!(out, "    subgraph cluster_a{number}_r{} {{", round.number())?;
            writeln!(out, "      label={};", quoted(&[&round_caption(&round)]))?;
            for node in round.nodes() {
                let id = AgentNode::new(number, node.id);
                writeln!(
                    out,
                    "      {} [{}];",
                    file_id(id),
                    attributes(node, graph.is_active(id), options)
                )?;
            }
            writeln!(out, "    }}")?;
        }
        writeln!(out, "  }}")?;
    }
    for link in graph.links() {
        let (from, to) = (file_id(link.from), file_id(link.to));
        writeln!(out, "  {from} -> {to} [{}];", link_attributes(&link))?;
    }
    writeln!(out, "}}")
}

fn attributes(node: &TrajectoryNode, active: bool, options: &DiagramOptions) -> String {
    let shape = match node.kind() {
        TrajectoryNodeKind::Query | TrajectoryNodeKind::Response => "oval",
        TrajectoryNodeKind::State => "note",
        TrajectoryNodeKind::Action => "box",
        TrajectoryNodeKind::Table | TrajectoryNodeKind::Column => "cylinder",
        TrajectoryNodeKind::File | TrajectoryNodeKind::Script => "folder",
        _ => "component",
    };
    let (fill, colour) = colours(node.kind());
    let (style, class) = if active { ("filled", "") } else { ("filled,dashed", " dead") };
    let (title, line) = (node.title().to_string(), headline(node, options.headline));
    let lines: &[&str] = if line.is_empty() { &[&title] } else { &[&title, &line] };
    let label = quoted(lines);
    let kind = node.kind().lower();
    format!(
        "label={label}, class=\"{kind}{class}\", shape={shape}, style=\"{style}\", fillcolor=\"{fill}\", color=\"{colour}\""
    )
}

fn link_attributes(link: &Link) -> String {
    match link.kind {
        LinkKind::Flow => format!("label={}", quoted(&[&link.name])),
        LinkKind::Reference => {
            format!("label={}, style=dotted, constraint=false", quoted(&[&link.name]))
        }
        LinkKind::Bridge { missing: 0 } => format!("label={}, style=dashed", quoted(&[&link.name])),
        LinkKind::Bridge { missing } => {
            format!("label={}, style=dashed", quoted(&[&link.name, &format!("{missing} missing")]))
        }
        LinkKind::Call => format!("label={}, style=bold", quoted(&[&link.name])),
    }
}

/// Returns lines as a quoted DOT string. Entities are interpreted in strings, so `&` is escaped.
fn quoted(lines: &[&str]) -> String {
    let mut text = String::from("\"");
    for (at, line) in lines.iter().enumerate() {
        if at > 0 {
            text.push_str("\\n");
        }
        for c in line.chars() {
            match c {
                '"' => text.push_str("\\\""),
                '\\' => text.push_str("\\\\"),
                '&' => text.push_str("&amp;"),
                '\n' => text.push_str("\\n"),
                c if c.is_control() => text.push(' '),
                c if is_hidden(c) => text.push_str(&shown(c).replace('\\', "\\\\")),
                c => text.push(c),
            }
        }
    }
    text.push('"');
    text
}
