//! Chrome trace events as JSON, for Perfetto and `chrome://tracing`.

use std::io::{self, Write};

use context_core::trajectory::{Measures, NodeId, TrajectoryNode, TrajectoryNodeKind};
use context_core::{Json, Timestamp};
use serde::Serialize;
use serde_json::json;

use crate::text::{agent_name, headline, started};
use context_trajectory::{AgentNode, Link, LinkKind, SessionGraph};

/// The number of characters of a node's content that are shown.
const HEADLINE: usize = 200;

#[derive(Serialize)]
struct Event<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cat: Option<&'a str>,
    ph: &'static str,
    pid: u64,
    tid: u64,
    /// The timestamp in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bp: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<Json>,
}

/// The details shown for a mark.
#[derive(Serialize)]
struct Details<'a> {
    node: NodeId,
    active: bool,
    headline: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    measures: Option<&'a Measures>,
}

impl<'a> Event<'a> {
    fn new(agent: u32, ph: &'static str, name: &'a str) -> Self {
        let pid = u64::from(agent) + 1;
        Self {
            name,
            cat: None,
            ph,
            pid,
            tid: 1,
            ts: None,
            dur: None,
            id: None,
            bp: None,
            args: None,
        }
    }

    fn at(mut self, at: Timestamp) -> Self {
        self.ts = Some(at.as_micros());
        self
    }

    fn id(mut self, category: &'a str, id: String) -> Self {
        (self.cat, self.id) = (Some(category), Some(id));
        self
    }
}

/// Writes a graph as Chrome trace events. An agent is a process with one track, on which each node
/// is a mark of one microsecond. Actions overlap, so each is an asynchronous begin/end pair next to
/// the track. An edge is an arrow between two marks.
///
/// An action begins and ends at its measured times. Without measurements it begins when it was
/// recorded and ends with its last change. Returns the errors of the writer.
pub fn write_chrome_trace(graph: &SessionGraph, mut out: impl Write) -> io::Result<()> {
    out.write_all(b"{\"displayTimeUnit\":\"ms\",\"traceEvents\":[")?;
    let mut events = Events { out: &mut out, first: true };
    for agent in graph.agents() {
        let number = agent.number();
        let name = agent_name(number);
        let named = Some(json!({ "name": name }).into());
        events.put(&Event { args: named.clone(), ..Event::new(number, "M", "process_name") })?;
        events.put(&Event { args: named, ..Event::new(number, "M", "thread_name") })?;
        let sort_index = Some(json!({ "sort_index": number }).into());
        events.put(&Event { args: sort_index, ..Event::new(number, "M", "process_sort_index") })?;
        for node in agent.nodes() {
            events.node(graph, AgentNode::new(number, node.id), node)?;
        }
    }
    for (number, link) in graph.links().enumerate() {
        events.arrow(graph, number, &link)?;
    }
    let about = json!({ "session": graph.session(), "user": graph.user() });
    write!(out, "],\"otherData\":{about}}}")
}

struct Events<W> {
    out: W,
    first: bool,
}

impl<W: Write> Events<W> {
    fn put(&mut self, event: &Event<'_>) -> io::Result<()> {
        self.out.write_all(if std::mem::take(&mut self.first) { b"\n" } else { b",\n" })?;
        Ok(serde_json::to_writer(&mut self.out, event)?)
    }

    fn node(
        &mut self,
        graph: &SessionGraph,
        id: AgentNode,
        node: &TrajectoryNode,
    ) -> io::Result<()> {
        let title = node.title().to_string();
        let about = Json::from_serialize(&Details {
            node: node.id,
            active: graph.is_active(id),
            headline: headline(node, HEADLINE),
            measures: node.measures.as_deref(),
        })?;
        let mark = Event::new(id.agent, "X", &title).at(started(node));
        self.put(&Event {
            cat: Some(node.kind().lower()),
            dur: Some(1),
            args: Some(about),
            ..mark
        })?;
        if node.kind() != TrajectoryNodeKind::Action {
            return Ok(());
        }
        let (tool, pair) = (node.body.text("action"), id.to_string());
        let args = Some(json!({ "title": title }).into());
        let begin = Event::new(id.agent, "b", tool).at(started(node)).id("action", pair.clone());
        self.put(&Event { args, ..begin })?;
        let args = Some(json!({ "success": node.body.get("success") }).into());
        let end = Event::new(id.agent, "e", tool).at(ended(node)).id("action", pair);
        self.put(&Event { args, ..end })
    }

    fn arrow(&mut self, graph: &SessionGraph, number: usize, link: &Link) -> io::Result<()> {
        let (Some(from), Some(to)) = (graph.node(link.from), graph.node(link.to)) else {
            return Ok(());
        };
        // Viewers do not draw arrows that lead back in time. A reference leads from the reader to
        // an older node, so its ends are swapped.
        let ends = match link.kind {
            LinkKind::Reference => [(link.to, to), (link.from, from)],
            _ => [(link.from, from), (link.to, to)],
        };
        let [(source, from), (target, to)] = ends;
        let id = format!("edge {number}");
        self.put(
            &Event::new(source.agent, "s", &link.name).at(started(from)).id("edge", id.clone()),
        )?;
        let end = Event::new(target.agent, "f", &link.name).at(started(to)).id("edge", id);
        self.put(&Event { bp: Some("e"), ..end })
    }
}

fn ended(node: &TrajectoryNode) -> Timestamp {
    let measured = node.measures.as_ref().and_then(|measures| measures.ended_at);
    let changed = node.versions.last().map(|version| version.at);
    measured.or(changed).unwrap_or(node.created_at).max(started(node))
}
