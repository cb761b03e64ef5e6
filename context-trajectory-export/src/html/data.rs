//! The data of the page, as JSON in a script element.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, Write};

use context_core::base::display::{clean, is_hidden, shown};
use context_core::trajectory::{FieldValue, Measures, MessageLink, TrajectoryNode};
use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

use super::layout::{Band, Layout, Rectangle};
use crate::text::{agent_name, failed, headline, iso_time, round_caption};
use context_trajectory::{AgentNode, Link, LinkKind, SessionGraph};

/// The number of characters of a node's content shown in the drawing.
const HEADLINE: usize = 110;

#[derive(Serialize)]
struct Page<'a> {
    user: Cow<'a, str>,
    session: Cow<'a, str>,
    bands: Vec<RoundData<'a>>,
    nodes: Vec<NodeData<'a>>,
    links: Vec<LinkData>,
}

#[derive(Serialize)]
struct RoundData<'a> {
    #[serde(rename = "box")]
    rectangle: [i64; 4],
    agent: String,
    caption: String,
    state: &'a str,
}

#[derive(Serialize)]
struct NodeData<'a> {
    id: String,
    kind: &'static str,
    data: bool,
    label: Cow<'a, str>,
    line: String,
    active: bool,
    endpoint: bool,
    failed: bool,
    #[serde(rename = "box")]
    rectangle: [i64; 4],
    chip: bool,
    created: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    author: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    fields: Vec<Value<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    took: Option<Timing<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    messages: &'a [MessageLink],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    versions: Vec<VersionData<'a>>,
}

/// A field value. JSON is passed as text, so that numbers are shown as they were written.
#[derive(Serialize)]
struct Value<'a> {
    name: &'a str,
    text: Cow<'a, str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    json: bool,
}

#[derive(Serialize)]
struct Timing<'a> {
    started: Option<String>,
    ended: Option<String>,
    milliseconds: Option<i64>,
    #[serde(flatten)]
    measures: &'a Measures,
}

#[derive(Serialize)]
struct VersionData<'a> {
    number: u32,
    at: Option<String>,
    author: Option<&'a str>,
    was: Vec<Value<'a>>,
}

#[derive(Serialize)]
struct LinkData {
    from: usize,
    to: usize,
    name: std::sync::Arc<str>,
    kind: &'static str,
    #[serde(skip_serializing_if = "is_none")]
    missing: u32,
}

fn is_none(missing: &u32) -> bool {
    *missing == 0
}

fn corners(rectangle: Rectangle) -> [i64; 4] {
    [rectangle.x, rectangle.y, rectangle.width, rectangle.height]
}

impl<'a> Value<'a> {
    fn new(name: &'a str, value: &'a FieldValue) -> Self {
        match value {
            FieldValue::Text(text) => Self { name, text: (&**text).into(), json: false },
            FieldValue::Json(json) => Self { name, text: json.as_str().into(), json: true },
            other => Self { name, text: other.to_json().as_str().to_owned().into(), json: true },
        }
    }
}

impl<'a> NodeData<'a> {
    fn new(
        graph: &SessionGraph,
        id: AgentNode,
        node: &'a TrajectoryNode,
        rectangle: Rectangle,
        endpoint: bool,
    ) -> Self {
        let took = node.measures.as_deref().filter(|measures| !measures.is_empty());
        Self {
            id: id.to_string(),
            kind: node.kind().as_str(),
            data: !node.kind().is_computation(),
            label: clean(&node.label),
            line: shown(headline(node, HEADLINE)),
            active: graph.is_active(id),
            endpoint,
            failed: failed(node),
            rectangle: corners(rectangle),
            chip: rectangle.chip,
            created: iso_time(node.created_at),
            author: node.author.as_deref().map(clean),
            description: &node.description,
            fields: node.body.iter().map(|(field, value)| Value::new(field.name, value)).collect(),
            took: took.map(Timing::new),
            messages: &node.messages,
            versions: node.versions.iter().map(VersionData::new).collect(),
        }
    }
}

impl<'a> Timing<'a> {
    fn new(measures: &'a Measures) -> Self {
        let [started, ended] = [measures.started_at, measures.ended_at];
        let both = started.zip(ended);
        let milliseconds =
            both.map(|(from, to)| to.as_micros().saturating_sub(from.as_micros()) / 1000);
        Self {
            started: started.and_then(iso_time),
            ended: ended.and_then(iso_time),
            milliseconds,
            measures,
        }
    }
}

impl<'a> VersionData<'a> {
    fn new(version: &'a context_core::trajectory::Version) -> Self {
        Self {
            number: version.number,
            at: iso_time(version.at),
            author: version.author.as_deref(),
            was: version.previous.iter().map(|(name, value)| Value::new(name, value)).collect(),
        }
    }
}

/// Writes the data of the page. No text in it can close the surrounding script element.
pub(super) fn write_data(graph: &SessionGraph, out: &mut impl Write) -> io::Result<()> {
    let layout = Layout::of(graph);
    let (mut nodes, mut numbers) = (Vec::new(), HashMap::new());
    for Band { agent, round, .. } in &layout.bands {
        let endpoints = &round.round().head().endpoints;
        for node in round.nodes() {
            let id = AgentNode::new(*agent, node.id);
            let Some(rectangle) = layout.rectangles.get(&id) else { continue };
            numbers.insert(id, nodes.len());
            let endpoint = endpoints.binary_search(&node.id.ordinal).is_ok();
            nodes.push(NodeData::new(graph, id, node, *rectangle, endpoint));
        }
    }
    let links = graph.links().filter_map(|link| line(link, &numbers)).collect();
    let bands = layout.bands.iter().map(|band| RoundData {
        rectangle: corners(band.rectangle),
        agent: agent_name(band.agent),
        caption: round_caption(&band.round),
        state: band.round.state().as_str(),
    });
    let page = Page {
        user: clean(graph.user().as_str()),
        session: clean(graph.session().as_str()),
        bands: bands.collect(),
        nodes,
        links,
    };
    page.serialize(&mut Serializer::with_formatter(out, InScript))?;
    Ok(())
}

fn line(link: Link, numbers: &HashMap<AgentNode, usize>) -> Option<LinkData> {
    let (kind, missing) = match link.kind {
        LinkKind::Flow => ("flow", 0),
        LinkKind::Reference => ("reference", 0),
        LinkKind::Bridge { missing } => ("bridge", missing),
        LinkKind::Call => ("call", 0),
    };
    let [from, to] = [link.from, link.to].map(|end| numbers.get(&end).copied());
    Some(LinkData { from: from?, to: to?, name: link.name, kind, missing })
}

/// A JSON formatter that escapes everything that a script element or older JavaScript reads
/// differently from JSON, and hidden characters.
struct InScript;

impl Formatter for InScript {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(at) = rest.find(|c| matches!(c, '<' | '>' | '&') || is_hidden(c)) {
            out.write_all(&rest.as_bytes()[..at])?;
            let mut after = rest[at..].chars();
            for unit in after.next().unwrap_or_default().encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}")?;
            }
            rest = after.as_str();
        }
        out.write_all(rest.as_bytes())
    }
}
