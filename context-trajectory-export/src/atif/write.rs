//! Writing trajectories as ATIF.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::Arc;

use context_core::Json;
use context_core::trajectory::{
    Edge, FieldValue, Measures, NodeId, TrajectoryNode, TrajectoryNodeKind,
};

use super::form::{
    Agent, AgentExtra, Call, CallResult, Document, FinalMetrics, Metrics, NodeExtra, RoundExtra,
    Source, Step, SubagentRef, VERSION, extra,
};
use crate::text::{iso_time, started};
use context_trajectory::{AgentGraph, AgentNode, LinkKind, RoundGraph, SessionGraph};

/// Values that ATIF requires and a trajectory does not contain.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AtifOptions {
    /// The name of the agent system.
    pub name: String,
    /// The version of the agent system.
    pub version: String,
}

impl AtifOptions {
    /// Creates options for an agent system of this name and version.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self { name: name.into(), version: version.into() }
    }
}

/// Writes a graph in ATIF 1.7: one document, with the main agent as the root and the other agents
/// embedded. Returns the errors of the writer.
///
/// Active branches become steps; everything else goes into `extra`. The total cost of the root
/// includes every node of every agent, while token totals are those of the steps.
///
/// | trajectory | ATIF |
/// |---|---|
/// | question | user step |
/// | conclusion with the actions it triggered | agent step with tool calls and their observation |
/// | actions with another trigger | agent step without a message |
/// | answer | agent step, at the end of the round |
/// | measures of a conclusion or an answer | metrics of the step |
/// | sub-agent | embedded trajectory, always in the root, with a reference in the result of the call |
/// | labels, versions, measures, other fields | `extra.context` of the step or the call |
/// | data, inactive branches, edges, heads of rounds | `extra.context` of the trajectory |
pub fn write_atif(
    graph: &SessionGraph,
    options: &AtifOptions,
    mut out: impl Write,
) -> io::Result<()> {
    let mut called: HashMap<AgentNode, Vec<u32>> = HashMap::new();
    for link in graph.links().filter(|link| link.kind == LinkKind::Call) {
        let agents = called.entry(link.from).or_default();
        if agents.last() != Some(&link.to.agent) {
            agents.push(link.to.agent);
        }
    }
    let mut writer = Writer { graph, options, called };
    let mut root = None;
    let mut others = Vec::new();
    for agent in graph.agents() {
        let document = writer.document(agent.number(), Some(&agent))?;
        if agent.number() == 0 { root = Some(document) } else { others.push(document) }
    }
    let mut root = match root {
        Some(root) => root,
        None => writer.document(0, None)?,
    };
    root.session_id = Some(graph.session().as_str().to_owned());
    let measures =
        graph.agents().flat_map(|agent| agent.nodes()).filter_map(|node| node.measures.as_deref());
    let costs = measures.filter_map(|measures| measures.cost_usd).filter(|cost| cost.is_finite());
    if let Some(total) = &mut root.final_metrics {
        total.total_cost_usd = costs.fold(None, |sum, cost| Some(sum.unwrap_or(0.0) + cost));
    }
    root.subagent_trajectories = (!others.is_empty()).then_some(others);
    serde_json::to_writer(&mut out, &root)?;
    out.write_all(b"\n")
}

struct Writer<'a> {
    graph: &'a SessionGraph,
    options: &'a AtifOptions,
    called: HashMap<AgentNode, Vec<u32>>,
}

impl Writer<'_> {
    fn document(&mut self, number: u32, agent: Option<&AgentGraph<'_>>) -> io::Result<Document> {
        let (mut steps, mut rounds) = (Vec::new(), Vec::new());
        for round in agent.iter().flat_map(|agent| agent.rounds()) {
            rounds.push(self.round(number, &round, &mut steps)?);
        }
        if steps.is_empty() {
            // ATIF requires at least one step.
            steps.push(Step::new(Source::System, "Nothing is recorded."));
        }
        let mut total =
            FinalMetrics { total_steps: Some(steps.len() as u64), ..FinalMetrics::default() };
        for (step, id) in steps.iter_mut().zip(1..) {
            step.step_id = id;
            let Some(metrics) = &step.metrics else { continue };
            add(&mut total.total_prompt_tokens, metrics.prompt_tokens);
            add(&mut total.total_completion_tokens, metrics.completion_tokens);
            add(&mut total.total_cached_tokens, metrics.cached_tokens);
            if let Some(cost) = metrics.cost_usd {
                total.total_cost_usd = Some(total.total_cost_usd.unwrap_or(0.0) + cost);
            }
        }
        let AtifOptions { name, version } = self.options;
        Ok(Document {
            schema_version: "ATIF-v1.7".into(),
            session_id: None,
            trajectory_id: Some(trajectory_id(number)),
            agent: Agent { name: name.clone(), version: version.clone() },
            steps,
            final_metrics: Some(total),
            extra: extra(&AgentExtra { version: VERSION, agent: number, rounds })?,
            subagent_trajectories: None,
        })
    }

    fn round(
        &self,
        agent: u32,
        shown: &RoundGraph<'_>,
        steps: &mut Vec<Step>,
    ) -> io::Result<RoundExtra> {
        let round = shown.round();
        let (mut places, mut answers) = (HashMap::new(), Vec::new());
        let mut rest: Vec<Arc<TrajectoryNode>> = Vec::new();
        for id in round.order() {
            let here = AgentNode::new(agent, id);
            let Some(node) = round.node(id).filter(|_| self.graph.shows(here)) else { continue };
            match node.kind() {
                _ if !self.graph.is_active(here) => rest.push(node.clone()),
                TrajectoryNodeKind::Query => {
                    steps.push(self.step(here, node, Source::User, "query")?)
                }
                TrajectoryNodeKind::State => {
                    places.insert(id, steps.len());
                    steps.push(self.step(here, node, Source::Agent, "content")?);
                }
                TrajectoryNodeKind::Action => {
                    let before = round.predecessors(id).next().map_or(id, |edge| edge.from);
                    let index = *places.entry(before).or_insert_with(|| {
                        let mut step = Step::new(Source::Agent, "");
                        step.timestamp = iso_time(started(node));
                        steps.push(step);
                        steps.len() - 1
                    });
                    self.call(here, node, &mut steps[index])?;
                }
                TrajectoryNodeKind::Response => {
                    answers.push(self.step(here, node, Source::Agent, "response")?)
                }
                _ => rest.push(node.clone()),
            }
        }
        steps.append(&mut answers);
        rest.sort_by_key(|node| node.id);
        let is_shown = |id: NodeId| self.graph.shows(AgentNode::new(agent, id));
        let is_there = |id: NodeId| self.graph.node(AgentNode::new(agent, id)).is_some();
        let stays = |edge: &&Edge| is_shown(edge.from) && (is_shown(edge.to) || !is_there(edge.to));
        let mut head = round.head();
        let number = head.round.round;
        head.query = head.query.filter(|query| is_shown(NodeId::new(number, *query)));
        head.endpoints.retain(|endpoint| is_shown(NodeId::new(number, *endpoint)));
        Ok(RoundExtra::of(head, rest, round.edges().filter(stays).cloned().collect()))
    }

    /// Returns the step of a node whose text is in the field `text`.
    fn step(
        &self,
        id: AgentNode,
        node: &TrajectoryNode,
        source: Source,
        text: &str,
    ) -> io::Result<Step> {
        let mut step = Step::new(source, node.body.text(text));
        step.timestamp = iso_time(started(node));
        let mut placed = vec![text];
        if source == Source::Agent {
            let thoughts = node.body.text("reasoning_content");
            if !thoughts.is_empty() {
                step.reasoning_content = Some(thoughts.to_owned());
                placed.push("reasoning_content");
            }
            let measures = node.measures.as_deref();
            step.model_name =
                measures.and_then(|measures| measures.model.as_deref().map(str::to_owned));
            step.metrics = measures.and_then(metrics);
        }
        step.extra = extra(&NodeExtra::of(node, &placed, false)?)?;
        if let Some(refs) = self.refs(id) {
            let result =
                CallResult { subagent_trajectory_ref: Some(refs), ..CallResult::default() };
            step.observation.get_or_insert_default().results.push(result);
        }
        Ok(step)
    }

    fn call(&self, id: AgentNode, node: &TrajectoryNode, step: &mut Step) -> io::Result<()> {
        let json = |name: &str| node.body.get(name).map(FieldValue::to_json);
        let mut placed = vec!["action"];
        let arguments = json("params").filter(|params| params.as_str().starts_with('{'));
        if arguments.is_some() {
            placed.push("params");
        }
        let output = json("output").filter(|output| output.as_str() != "\"Pending\"");
        if output.is_some() {
            placed.push("output");
        }
        let text = output.as_ref().and_then(Json::to_text);
        let is_json = output.is_some() && text.is_none();
        let content = text.or_else(|| output.map(|output| output.as_str().to_owned()));
        step.tool_calls.get_or_insert_default().push(Call {
            tool_call_id: (*node.label).to_owned(),
            function_name: node.body.text("action").to_owned(),
            arguments: arguments.unwrap_or_else(|| serde_json::json!({}).into()),
            extra: extra(&NodeExtra::of(node, &placed, is_json)?)?,
        });
        let refs = self.refs(id);
        if content.is_some() || refs.is_some() {
            step.observation.get_or_insert_default().results.push(CallResult {
                source_call_id: Some((*node.label).to_owned()),
                content: content.map(|content| Json::from(&*content)),
                subagent_trajectory_ref: refs,
            });
        }
        Ok(())
    }

    fn refs(&self, id: AgentNode) -> Option<Vec<SubagentRef>> {
        let agents = self.called.get(&id)?.iter();
        Some(
            agents
                .map(|agent| SubagentRef { trajectory_id: Some(trajectory_id(*agent)) })
                .collect(),
        )
    }
}

fn trajectory_id(agent: u32) -> String {
    format!("agent-{agent}")
}

fn metrics(measures: &Measures) -> Option<Metrics> {
    let known = Metrics {
        prompt_tokens: measures.input_tokens,
        completion_tokens: measures.output_tokens,
        cached_tokens: measures.cache_read_tokens,
        cost_usd: measures.cost_usd.filter(|cost| cost.is_finite()),
    };
    let Metrics { prompt_tokens, completion_tokens, cached_tokens, cost_usd } = &known;
    let tokens = [prompt_tokens, completion_tokens, cached_tokens];
    (cost_usd.is_some() || tokens.into_iter().any(Option::is_some)).then_some(known)
}

fn add(sum: &mut Option<u64>, more: Option<u64>) {
    if let Some(more) = more {
        *sum = Some(sum.unwrap_or(0).saturating_add(more));
    }
}
