//! Spans become rounds.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use context_core::trajectory::{
    AgentRef, NewNode, NewQuery, NodeBody, NodeId, NodeTitle, ParentNode, Round, RoundState,
    TrajectoryNodeKind, edge,
};
use context_core::{Json, Timestamp};
use serde_json::Value;

use super::error::OtlpError;
use super::messages::{SpanCall, shown};
use super::spans::{Span, SpanKind};

type SpanName<'a> = (&'a str, &'a str);

/// The steps of one round: the spans of an agent without those of its sub-agents.
#[derive(Default)]
struct Steps<'a> {
    /// The span of the agent. `None` for a trace without one.
    agent: Option<&'a Span>,
    spans: Vec<&'a Span>,
    sub_agents: Vec<&'a Span>,
}

/// Returns the rounds of a session, by agent and number.
pub(super) fn of_session(main: &AgentRef, spans: &[Span]) -> Result<Vec<Round>, OtlpError> {
    // An empty id stands for what is in no agent of a trace. The first span of each round is its
    // earliest, since spans come by time.
    let mut steps: HashMap<SpanName<'_>, Steps<'_>> = HashMap::new();
    let mut top: Vec<SpanName<'_>> = Vec::new();
    for span in spans {
        let around = span.agent.as_deref();
        let name = (&*span.trace, around.unwrap_or_default());
        if span.kind == SpanKind::Agent {
            steps.entry((&span.trace, &span.id)).or_default().agent = Some(span);
            match around {
                Some(_) => steps.entry(name).or_default().sub_agents.push(span),
                None => top.push((&span.trace, &span.id)),
            }
            continue;
        }
        let known = steps.entry(name).or_default();
        if around.is_none() && known.spans.is_empty() {
            top.push(name);
        }
        known.spans.push(span);
    }
    let mut builder = Builder { main, rounds: BTreeMap::new(), nodes: HashMap::new(), agents: 0 };
    let mut open: VecDeque<(SpanName<'_>, Option<ParentNode>)> =
        top.into_iter().map(|name| (name, None)).collect();
    while let Some((name, parent)) = open.pop_front() {
        let Some(steps) = steps.remove(&name) else { continue };
        let number = builder.round(&steps, parent)?;
        for agent in steps.sub_agents {
            let around = agent.parent.as_deref();
            let caller = around.and_then(|id| builder.nodes.get(&(&*agent.trace, id)).copied());
            let caller = caller.map(|node| ParentNode { agent: number, node });
            open.push_back(((&agent.trace, &agent.id), caller));
        }
    }
    Ok(builder.rounds.into_values().flatten().collect())
}

struct Builder<'a> {
    main: &'a AgentRef,
    rounds: BTreeMap<u32, Vec<Round>>,
    /// The node of each span.
    nodes: HashMap<SpanName<'a>, NodeId>,
    agents: u32,
}

/// The facts about a tool call: its result, by the tool's span or a later message.
#[derive(Default)]
struct CallFacts<'a> {
    span: Option<&'a Span>,
    result: Option<Value>,
}

impl<'a> Builder<'a> {
    /// Builds a round, and returns the number of its agent.
    fn round(&mut self, steps: &Steps<'a>, parent: Option<ParentNode>) -> Result<u32, OtlpError> {
        let is_main = parent.is_none();
        let number = if is_main { 0 } else { self.agents + 1 };
        self.agents = self.agents.max(number);
        let agent = AgentRef { agent: number, ..self.main.clone() };
        let before = self.rounds.get(&number).and_then(|rounds| rounds.last());
        let first = steps.agent.into_iter().chain(steps.spans.iter().copied()).next();
        let start = first.map_or_else(Timestamp::default, |span| span.start);
        let next = self.rounds.get(&number).map_or(0, Vec::len) as u32;
        let mut round = Round::new(agent.round(next), start);
        if let Some(before) = before {
            round = round.continuing(&before.head());
        }
        if let Some(parent) = parent {
            round = round.below(parent);
        }
        let mut builder = RoundBuilder::new(round, steps, start)?;
        builder.steps()?;
        self.nodes.extend(builder.nodes.drain());
        self.rounds.entry(number).or_default().push(builder.finished());
        Ok(number)
    }
}

struct RoundBuilder<'a, 's> {
    round: Round,
    steps: &'s Steps<'a>,
    calls: HashMap<&'a str, CallFacts<'a>>,
    /// Spans of tools that belong to a call.
    of_calls: HashSet<SpanName<'a>>,
    nodes: HashMap<SpanName<'a>, NodeId>,
    /// The query or the latest conclusion, which actions follow.
    cause: NodeId,
    /// The nodes at which the round goes on: the cause, or its actions.
    tails: Vec<NodeId>,
    end: Timestamp,
}

impl<'a, 's> RoundBuilder<'a, 's> {
    fn new(mut round: Round, steps: &'s Steps<'a>, start: Timestamp) -> Result<Self, OtlpError> {
        let models = || steps.spans.iter().filter(|span| span.kind == SpanKind::Model);
        let conversations = steps.agent.into_iter().chain(models().copied());
        let mut conversations = conversations.map(|span| &span.messages);
        let system = conversations.clone().find(|messages| !messages.system.is_empty());
        let question = conversations.find_map(|messages| {
            let said = messages.input.iter().rev().filter(|message| message.role == "user");
            said.map(|message| message.text.as_str()).find(|text| !text.trim().is_empty())
        });
        let (query, _) = round.ask(NewQuery::new(question.unwrap_or_default()), start)?;
        for text in system.iter().flat_map(|messages| &messages.system) {
            let new = NewNode::new(NodeBody::knowledge("system", text.as_str()), [query]);
            round.add(new.edge("find_relevant_knowledge"), start)?;
        }
        let mut calls: HashMap<&'a str, CallFacts<'a>> = HashMap::new();
        for call in models().flat_map(|span| &span.messages.output).flat_map(|said| &said.calls) {
            calls.entry(&call.id).or_default();
        }
        let results = models().flat_map(|span| &span.messages.input);
        for (id, result) in results.flat_map(|message| &message.results) {
            if let Some(facts) = calls.get_mut(id.as_str()) {
                facts.result.get_or_insert_with(|| result.clone());
            }
        }
        let mut of_calls = HashSet::new();
        for span in steps.spans.iter().filter(|span| span.kind == SpanKind::Tool) {
            let facts = span.call_id().and_then(|id| calls.get_mut(id));
            if let Some(facts) = facts.filter(|facts| facts.span.is_none()) {
                facts.span = Some(span);
                of_calls.insert((&*span.trace, &*span.id));
            }
        }
        let mut nodes = HashMap::new();
        nodes.extend(steps.agent.map(|agent| ((&*agent.trace, &*agent.id), query)));
        let tails = vec![query];
        Ok(Self { round, steps, calls, of_calls, nodes, cause: query, tails, end: start })
    }

    fn steps(&mut self) -> Result<(), OtlpError> {
        let last = self.steps.spans.iter().rposition(|span| span.kind == SpanKind::Model);
        for (at, span) in self.steps.spans.iter().enumerate() {
            self.end = self.end.max(span.end.unwrap_or(span.start));
            match span.kind {
                SpanKind::Model => self.model(span, last == Some(at))?,
                _ if self.of_calls.contains(&(&*span.trace, &*span.id)) => {}
                _ => self.tool(span)?,
            }
        }
        if let Some(agent) = self.steps.agent {
            self.end = self.end.max(agent.end.unwrap_or(agent.start));
            let query = self.nodes[&(&*agent.trace, &*agent.id)];
            self.others(agent, query)?;
        }
        Ok(())
    }

    fn model(&mut self, span: &'a Span, is_last: bool) -> Result<(), OtlpError> {
        let output = &span.messages.output;
        let joined = |texts: Vec<&str>| texts.join("\n").trim_matches('\n').to_owned();
        let text = joined(output.iter().map(|message| &*message.text).collect());
        let thoughts = joined(output.iter().map(|message| &*message.reasoning).collect());
        let calls: Vec<&'a SpanCall> = output.iter().flat_map(|message| &message.calls).collect();
        let is_answer = is_last && calls.is_empty() && span.error.is_none();
        let body = if is_answer { NodeBody::response(text) } else { NodeBody::state(text) };
        let body = match thoughts.is_empty() {
            true => body,
            false => body.with("reasoning_content", thoughts)?,
        };
        let new = NewNode::new(body, self.tails.clone()).measure(span.measures());
        let (node, _) = self.round.add(new, span.start)?;
        self.nodes.insert((&span.trace, &span.id), node);
        self.others(span, node)?;
        if is_answer {
            return Ok(());
        }
        (self.cause, self.tails) = (node, vec![node]);
        for call in calls {
            let facts = self.calls.remove(call.id.as_str()).unwrap_or_default();
            self.call(span, call, facts)?;
        }
        Ok(())
    }

    fn call(
        &mut self,
        model: &'a Span,
        call: &SpanCall,
        facts: CallFacts<'a>,
    ) -> Result<(), OtlpError> {
        let arguments = match (&call.arguments, facts.span) {
            (Value::Null, Some(span)) => span.arguments(),
            (Value::Null, None) => Value::Object(Default::default()),
            (known, _) => known.clone(),
        };
        let result = facts.span.and_then(Span::result).or(facts.result);
        let error = facts.span.and_then(|span| span.error.as_ref());
        let body = action_body(&call.name, arguments, result, error.is_some())?;
        let mut new = NewNode::new(body, [self.cause]);
        let label = NodeTitle { kind: TrajectoryNodeKind::Action, label: call.id.as_str().into() };
        // Some programs restart call ids with each request.
        if !call.id.is_empty() && self.round.find(&label).is_none() {
            new = new.label(label.label);
        }
        let at = facts.span.map_or(model.end.unwrap_or(model.start), |span| span.start);
        let new = match facts.span {
            Some(span) => new.measure(span.measures()),
            None => new,
        };
        let node = self.action(new, at)?;
        if let Some(span) = facts.span {
            self.nodes.insert((&span.trace, &span.id), node);
            self.others(span, node)?;
        }
        Ok(())
    }

    /// A span of a tool that no model asked for.
    fn tool(&mut self, span: &'a Span) -> Result<(), OtlpError> {
        let body = action_body(span.tool(), span.arguments(), span.result(), span.error.is_some())?;
        let new = NewNode::new(body, [self.cause]).measure(span.measures());
        let node = self.action(new, span.start)?;
        self.nodes.insert((&span.trace, &span.id), node);
        self.others(span, node)
    }

    /// Adds an action beside the others of its cause.
    fn action(&mut self, new: NewNode, at: Timestamp) -> Result<NodeId, OtlpError> {
        let is_first = self.tails == [self.cause];
        let new = if is_first { new } else { new.append() };
        let (node, _) = self.round.add(new, at)?;
        if is_first {
            self.tails.clear();
        }
        self.tails.push(node);
        Ok(node)
    }

    /// Keeps the attributes that nothing else holds.
    fn others(&mut self, span: &Span, node: NodeId) -> Result<(), OtlpError> {
        let others = span.other_attributes();
        if others.is_empty() {
            return Ok(());
        }
        let body = NodeBody::knowledge("attributes", Value::Object(others).to_string());
        self.round.add(NewNode::new(body, [node]).edge(edge::PRODUCES), span.start)?;
        Ok(())
    }

    fn finished(mut self) -> Round {
        let failed = self.steps.agent.is_some_and(|agent| agent.error.is_some());
        let state = if failed { RoundState::Interrupted } else { RoundState::Closed };
        self.round.set_state(state, self.end);
        self.round
    }
}

fn action_body(
    name: &str,
    arguments: Value,
    result: Option<Value>,
    has_failed: bool,
) -> Result<NodeBody, OtlpError> {
    let arguments = Json::from_serialize(&arguments)?;
    let body = NodeBody::action(name, arguments);
    let Some(result) = result else { return Ok(body) };
    let result = Json::from(shown(&result).as_str());
    Ok(body.with("output", result)?.with("success", !has_failed)?)
}
