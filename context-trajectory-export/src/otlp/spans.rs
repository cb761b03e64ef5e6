//! The spans of a session, and the links between them.

use std::collections::HashMap;

use context_core::Timestamp;
use context_core::trajectory::{
    FieldValue, Measures, RoundState, TrajectoryNode, TrajectoryNodeKind,
};
use serde::Serialize;

use super::form::{Attributes, Event, Span, SpanId, SpanKind, SpanLink, Status};
use super::ids::{AgentRound, Ids};
use super::names::{attribute, operation};
use crate::text::{agent_name, failed, started};
use context_trajectory::{AgentNode, Link, LinkKind, RoundGraph, SessionGraph};

/// The error type of failures without a known one.
const OTHER: &str = "_OTHER";

/// Returns the spans of the selected part of a session: for each round its own span, and then those
/// of its nodes.
pub(super) fn spans(graph: &SessionGraph, content: bool) -> Vec<Span> {
    let mut spans = Spans {
        graph,
        content,
        ids: Ids::of(graph),
        spans: Vec::new(),
        of: HashMap::new(),
        rounds: HashMap::new(),
    };
    for agent in graph.agents() {
        for round in agent.rounds() {
            spans.round(agent.number(), &round);
        }
    }
    // The caller of a round may come after the round.
    for agent in graph.agents() {
        for round in agent.rounds() {
            spans.hang((agent.number(), round.number()), &round);
        }
    }
    for link in graph.links() {
        spans.link(&link);
    }
    spans.spans
}

struct Spans<'a> {
    graph: &'a SessionGraph,
    content: bool,
    ids: Ids,
    spans: Vec<Span>,
    /// The index of the span that contains each node.
    of: HashMap<AgentNode, usize>,
    rounds: HashMap<AgentRound, usize>,
}

impl Spans<'_> {
    fn round(&mut self, agent: u32, round: &RoundGraph<'_>) {
        let at = self.spans.len();
        let (mut from, mut to) = (round.round().head().created_at, round.round().head().updated_at);
        self.rounds.insert((agent, round.number()), at);
        self.spans.push(self.round_span((agent, round.number()), round));
        let mut nodes = round.nodes().peekable();
        while let Some(node) = nodes.next() {
            let next = nodes.peek().map_or(round.round().head().updated_at, |next| next.created_at);
            let (start, end) = (started(node), ended(node, next));
            (from, to) = (from.min(start), to.max(end));
            let id = AgentNode::new(agent, node.id);
            if has_span(node) {
                self.of.insert(id, self.spans.len());
                let parent = self.spans[at].span_id;
                self.spans.push(self.node(id, node, parent, [start, end], round));
            }
        }
        let round_span = &mut self.spans[at];
        (round_span.start_time_unix_nano, round_span.end_time_unix_nano) =
            (from.into(), to.max(from).into());
        self.attach_data(agent, round, at);
    }

    /// Assigns nodes without a span of their own to the span of the node that they belong to.
    fn attach_data(&mut self, agent: u32, round: &RoundGraph<'_>, round_span: usize) {
        for id in round.round().order() {
            let id = AgentNode::new(agent, id);
            if !self.graph.shows(id) || self.of.contains_key(&id) {
                continue;
            }
            let is_data = self.graph.node(id).is_some_and(|node| !node.kind().is_computation());
            let mut before = round.round().predecessors(id.node).filter(|_| is_data);
            let owner = before.find_map(|edge| self.of.get(&AgentNode::new(agent, edge.from)));
            self.of.insert(id, owner.copied().unwrap_or(round_span));
        }
        for node in round.nodes() {
            let id = AgentNode::new(agent, node.id);
            let at = *self.of.entry(id).or_insert(round_span);
            let name = match node.kind() {
                _ if node.kind() == TrajectoryNodeKind::Query || has_span(node) => continue,
                TrajectoryNodeKind::Response => "context.response",
                _ => "context.data",
            };
            let attributes =
                self.about(id, node).some_text(attribute::PATH, Some(node.body.text("path")));
            let event = Event { time_unix_nano: node.created_at.into(), name, attributes };
            self.spans[at].events.push(event);
        }
    }

    fn round_span(&self, id: AgentRound, round: &RoundGraph<'_>) -> Span {
        let (agent, name) = (id.0, agent_name(id.0));
        let (head, state) = (round.round().head(), round.state());
        let mut attributes = Attributes::default()
            .text(attribute::OPERATION, operation::INVOKE_AGENT)
            .text(attribute::SPAN_KIND, "AGENT")
            .text(attribute::CONVERSATION, self.graph.session().as_str())
            .text(attribute::USER, self.graph.user().as_str())
            .text(attribute::AGENT_ID, agent.to_string())
            .text(attribute::AGENT_NAME, &*name)
            .number(attribute::ROUND, Some(round.number().into()))
            .text(attribute::ROUND_STATE, state.as_str());
        if self.content {
            let of = |kind| round.nodes().filter(move |node| node.kind() == kind);
            let questions = of(TrajectoryNodeKind::Query)
                .map(|node| Message::new("user", [("text", node.body.text("query"))]));
            let answers =
                of(TrajectoryNodeKind::Response).map(|node| message_of(node, "response", "stop"));
            attributes = attributes
                .some_text(
                    attribute::INPUT_MESSAGES,
                    as_json(&questions.collect::<Vec<_>>()).as_deref(),
                )
                .some_text(
                    attribute::OUTPUT_MESSAGES,
                    as_json(&answers.collect::<Vec<_>>()).as_deref(),
                );
        }
        let mut status = Status::default();
        if state == RoundState::Interrupted {
            attributes = attributes.text(attribute::ERROR, state.as_str());
            status = Status::ERROR;
        }
        Span {
            trace_id: self.ids.trace(id),
            span_id: self.ids.round(id),
            parent_span_id: None,
            name: format!("{} {name}", operation::INVOKE_AGENT),
            kind: SpanKind::Internal,
            start_time_unix_nano: head.created_at.into(),
            end_time_unix_nano: head.updated_at.into(),
            attributes,
            events: Vec::new(),
            links: Vec::new(),
            status,
        }
    }

    fn node(
        &self,
        id: AgentNode,
        node: &TrajectoryNode,
        parent: SpanId,
        [start, end]: [Timestamp; 2],
        round: &RoundGraph<'_>,
    ) -> Span {
        let attributes =
            self.about(id, node).text(attribute::CONVERSATION, self.graph.session().as_str());
        let (name, kind, mut attributes) = match node.kind() {
            TrajectoryNodeKind::Action => self.tool(node, attributes),
            _ => self.chat(node, attributes, round),
        };
        let mut status = Status::default();
        if failed(node) {
            let error = node.measures.as_ref().and_then(|measures| measures.error.as_deref());
            attributes = attributes.text(attribute::ERROR, error.unwrap_or(OTHER));
            status = Status::ERROR;
        }
        Span {
            trace_id: self.ids.trace((id.agent, id.node.round)),
            span_id: self.ids.node(id),
            parent_span_id: Some(parent),
            name,
            kind,
            start_time_unix_nano: start.into(),
            end_time_unix_nano: end.into(),
            attributes,
            events: Vec::new(),
            links: Vec::new(),
            status,
        }
    }

    fn tool(
        &self,
        node: &TrajectoryNode,
        attributes: Attributes,
    ) -> (String, SpanKind, Attributes) {
        let tool = node.body.text("action");
        let mut attributes = attributes
            .text(attribute::OPERATION, operation::EXECUTE_TOOL)
            .text(attribute::SPAN_KIND, "TOOL")
            .text(attribute::TOOL_NAME, tool)
            .text(attribute::TOOL_CALL_ID, &*node.label);
        if self.content {
            let json = |name| node.body.get(name).map(|value| value.to_json().as_str().to_owned());
            attributes = attributes
                .some_text(attribute::TOOL_ARGUMENTS, json("params").as_deref())
                .some_text(attribute::TOOL_RESULT, json("output").as_deref());
        }
        (format!("{} {tool}", operation::EXECUTE_TOOL), SpanKind::Internal, attributes)
    }

    fn chat(
        &self,
        node: &TrajectoryNode,
        attributes: Attributes,
        round: &RoundGraph<'_>,
    ) -> (String, SpanKind, Attributes) {
        let unknown = Measures::default();
        let took = node.measures.as_deref().unwrap_or(&unknown);
        let mut attributes = attributes
            .text(attribute::OPERATION, operation::CHAT)
            .text(attribute::SPAN_KIND, "LLM")
            .some_text(attribute::PROVIDER, took.provider.as_deref())
            .some_text(attribute::MODEL, took.model.as_deref())
            .number(attribute::INPUT_TOKENS, took.input_tokens)
            .number(attribute::OUTPUT_TOKENS, took.output_tokens)
            .number(attribute::CACHE_READ_TOKENS, took.cache_read_tokens)
            .number(attribute::CACHE_WRITE_TOKENS, took.cache_write_tokens)
            .number(attribute::REASONING_TOKENS, took.reasoning_tokens)
            .fraction(attribute::COST, took.cost_usd);
        if self.content {
            let mut after =
                round.round().successors(node.id).filter_map(|edge| round.round().node(edge.to));
            let called = after.any(|node| node.kind() == TrajectoryNodeKind::Action);
            let text =
                if node.kind() == TrajectoryNodeKind::Response { "response" } else { "content" };
            let message = message_of(node, text, if called { "tool_call" } else { "stop" });
            attributes =
                attributes.some_text(attribute::OUTPUT_MESSAGES, as_json(&[message]).as_deref());
        }
        let name = match took.model.as_deref() {
            Some(model) => format!("{} {model}", operation::CHAT),
            None => operation::CHAT.into(),
        };
        (name, SpanKind::Client, attributes)
    }

    fn about(&self, id: AgentNode, node: &TrajectoryNode) -> Attributes {
        Attributes::default()
            .text(attribute::NODE, id.to_string())
            .text(attribute::NODE_KIND, node.kind().as_str())
            .text(attribute::NODE_LABEL, &*node.label)
            .flag(attribute::ACTIVE, self.graph.is_active(id))
    }

    fn link(&mut self, link: &Link) {
        // A reference is attached to the reading node, every other link to the later node.
        let (here, other, missing) = match link.kind {
            LinkKind::Reference => (link.from, link.to, 0),
            LinkKind::Flow => (link.to, link.from, 0),
            LinkKind::Bridge { missing } => (link.to, link.from, missing),
            LinkKind::Call => return,
        };
        let (Some(here), Some(there)) = (self.of.get(&here).copied(), self.of.get(&other)) else {
            return;
        };
        let (trace_id, span_id) = (self.spans[*there].trace_id, self.spans[*there].span_id);
        let from_question =
            self.graph.node(other).is_some_and(|node| node.kind() == TrajectoryNodeKind::Query);
        if here == *there || (from_question && self.spans[here].parent_span_id == Some(span_id)) {
            return;
        }
        let attributes = Attributes::default()
            .text(attribute::EDGE, &*link.name)
            .text(attribute::EDGE_NODE, other.to_string())
            .number(
                attribute::EDGE_MISSING,
                Some(u64::from(missing)).filter(|missing| *missing > 0),
            );
        self.spans[here].links.push(SpanLink { trace_id, span_id, attributes });
    }

    /// Makes the round's span a child of the span of the node that called the round, if both are in
    /// one trace.
    fn hang(&mut self, id: AgentRound, round: &RoundGraph<'_>) {
        let caller = round.parent().filter(|_| !self.ids.begins_trace(id));
        let Some(caller) = caller.and_then(|caller| self.of.get(&caller)) else { return };
        let caller = self.spans[*caller].span_id;
        if let Some(at) = self.rounds.get(&id) {
            self.spans[*at].parent_span_id = Some(caller);
        }
    }
}

/// Returns whether a node is a call of a model or of a tool. An answer is a call of its own only if
/// it has a model or token counts; otherwise the preceding conclusion or action may have been the
/// same call.
fn has_span(node: &TrajectoryNode) -> bool {
    match node.kind() {
        TrajectoryNodeKind::State | TrajectoryNodeKind::Action => true,
        TrajectoryNodeKind::Response => {
            let took = node.measures.as_deref();
            took.is_some_and(|took| {
                took.model.is_some() || took.input_tokens.or(took.output_tokens).is_some()
            })
        }
        _ => false,
    }
}

/// Returns the end time of a node: the measured one, else the time of an action's last change, else
/// the start of the next node.
fn ended(node: &TrajectoryNode, next: Timestamp) -> Timestamp {
    let measured = node.measures.as_ref().and_then(|measures| measures.ended_at);
    let changed = node
        .versions
        .last()
        .filter(|_| node.kind() == TrajectoryNodeKind::Action)
        .map(|version| version.at);
    measured.or(changed).unwrap_or(next).max(started(node))
}

/// A message in the form of OpenTelemetry.
#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    parts: Vec<Part<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    finish_reason: Option<&'static str>,
}

#[derive(Serialize)]
struct Part<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    content: &'a str,
}

impl<'a> Message<'a> {
    fn new(role: &'static str, parts: impl IntoIterator<Item = (&'static str, &'a str)>) -> Self {
        let parts = parts.into_iter().filter(|(_, content)| !content.is_empty());
        Self {
            role,
            parts: parts.map(|(kind, content)| Part { kind, content }).collect(),
            finish_reason: None,
        }
    }
}

fn message_of<'a>(node: &'a TrajectoryNode, field: &str, why: &'static str) -> Message<'a> {
    let thought =
        node.body.get("reasoning_content").and_then(FieldValue::as_text).unwrap_or_default();
    let message =
        Message::new("assistant", [("reasoning", thought), ("text", node.body.text(field))]);
    Message { finish_reason: Some(why), ..message }
}

/// Returns the messages as JSON, or `None` if there are none.
fn as_json(messages: &[Message<'_>]) -> Option<String> {
    let some = (!messages.is_empty()).then_some(messages)?;
    serde_json::to_string(some).ok()
}
