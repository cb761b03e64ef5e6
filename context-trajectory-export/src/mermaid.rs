//! Export to Mermaid flowcharts.

use std::io::{self, Write};

use context_core::base::display::{is_hidden, shown};
use context_core::trajectory::{TrajectoryNode, TrajectoryNodeKind};

use crate::text::{DiagramOptions, agent_caption, colours, file_id, headline, round_caption};
use context_trajectory::{AgentNode, LinkKind, SessionGraph};

/// Writes a graph as a Mermaid flowchart: a subgraph for each agent and each round, a class for
/// each node kind and for inactive branches.
///
/// Bridges are dashed, references dotted. Viewers refuse large charts, by default above 500 edges
/// or 50 000 characters. In that case export a part of the session, with a
/// [`Selection`](super::Selection). Returns the errors of the writer.
pub fn write_mermaid(
    graph: &SessionGraph,
    options: &DiagramOptions,
    mut out: impl Write,
) -> io::Result<()> {
    writeln!(out, "flowchart {}", if options.left_to_right { "LR" } else { "TD" })?;
    let mut dead = Vec::new();
    for agent in graph.agents() {
        let number = agent.number();
        writeln!(out, "  subgraph a{number} [{}]", quoted(&[&agent_caption(&agent)]))?;
        for round in agent.rounds() {
            writeln!(
                out,
                "    subgraph a{number}_r{} [{}]",
                round.number(),
                quoted(&[&round_caption(&round)])
            )?;
            for node in round.nodes() {
                let id = AgentNode::new(number, node.id);
                let (open, close) = shape(node.kind());
                let name = file_id(id);
                let kind = node.kind().lower();
                writeln!(out, "      {name}{open}{}{close}:::{kind}", label(node, options))?;
                if !graph.is_active(id) {
                    dead.push(name);
                }
            }
            writeln!(out, "    end")?;
        }
        writeln!(out, "  end")?;
    }
    let (mut bridges, mut references) = (Vec::new(), Vec::new());
    for (at, link) in graph.links().enumerate() {
        let name = &*link.name;
        let (arrow, label) = match link.kind {
            LinkKind::Flow => ("-->", quoted(&[name])),
            LinkKind::Reference => {
                references.push(at.to_string());
                ("-.->", quoted(&[name]))
            }
            LinkKind::Bridge { missing } => {
                bridges.push(at.to_string());
                let gap = format!("{missing} missing");
                ("-.->", if missing == 0 { quoted(&[name]) } else { quoted(&[name, &gap]) })
            }
            LinkKind::Call => ("==>", quoted(&[name])),
        };
        writeln!(out, "  {} {arrow}|{label}| {}", file_id(link.from), file_id(link.to))?;
    }
    for kind in TrajectoryNodeKind::ALL {
        let (fill, stroke) = colours(kind);
        writeln!(out, "  classDef {} fill:{fill},stroke:{stroke},color:#111827", kind.lower())?;
    }
    writeln!(out, "  classDef dead opacity:0.45,stroke-dasharray:4 3")?;
    for name in dead {
        writeln!(out, "  class {name} dead")?;
    }
    if !bridges.is_empty() {
        writeln!(out, "  linkStyle {} stroke-dasharray:9 5", bridges.join(","))?;
    }
    if !references.is_empty() {
        writeln!(out, "  linkStyle {} stroke-dasharray:2 4", references.join(","))?;
    }
    Ok(())
}

fn shape(kind: TrajectoryNodeKind) -> (&'static str, &'static str) {
    match kind {
        TrajectoryNodeKind::Query | TrajectoryNodeKind::Response => ("([", "])"),
        TrajectoryNodeKind::State => ("(", ")"),
        TrajectoryNodeKind::Action => ("[", "]"),
        _ => ("[(", ")]"),
    }
}

fn label(node: &TrajectoryNode, options: &DiagramOptions) -> String {
    let (title, line) = (node.title().to_string(), headline(node, options.headline));
    if line.is_empty() { quoted(&[&title]) } else { quoted(&[&title, &line]) }
}

/// Returns lines as a quoted label. Characters with a meaning in Mermaid, or in the Markdown or
/// HTML of a label, are written as entities.
fn quoted(lines: &[&str]) -> String {
    let mut text = String::from("\"");
    for (at, line) in lines.iter().enumerate() {
        if at > 0 {
            text.push_str("<br/>");
        }
        let mut last = ' ';
        for c in line.chars() {
            match c {
                '(' | ')' | ',' | ':' | '/' | '\'' | '?' | '!' | ' ' => text.push(c),
                // List items begin with one of these.
                '-' | '+' if last.is_alphanumeric() => text.push(c),
                '.' if !last.is_ascii_digit() => text.push(c),
                '_' if last.is_ascii_alphanumeric() => text.push(c),
                c if c.is_ascii_alphanumeric() => text.push(c),
                c if c.is_control() || c.is_whitespace() => text.push(' '),
                c if is_hidden(c) => text.push_str(&shown(c).replace('\\', "#92;")),
                c if c.is_ascii() => text.push_str(&format!("#{};", u32::from(c))),
                // Mermaid uses these characters internally as markers around entities.
                'ﬂ' | '°' | '¶' | 'ß' => text.push_str(&format!("#{};", u32::from(c))),
                c => text.push(c),
            }
            last = c;
        }
    }
    text.push('"');
    text
}
