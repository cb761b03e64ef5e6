//! A step in full, with the steps around it.

use std::sync::Arc;

use context_runtime::display;
use context_runtime::trajectory::{Edge, NodeId, Relation, RoundState, TrajectoryNode};
use serde::Serialize;

use super::block::{read_rounds, state};
use super::{Run, StepId, StepState};
use crate::OperationError;

/// The number of later rounds in which uses of a step are looked for.
const LATER: u32 = 400;

/// A step that another one is linked to.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct StepLink {
    /// The step.
    pub node: StepId,
    /// The name of the edge.
    pub edge: Arc<str>,
    /// The kind of the node, in lower case. Empty if the step no longer exists.
    pub kind: &'static str,
    /// The beginning of its content, on one line.
    pub text: String,
}

impl StepLink {
    pub(super) fn new(
        id: StepId,
        edge: impl Into<Arc<str>>,
        node: Option<&TrajectoryNode>,
    ) -> Self {
        let text = |node: &TrajectoryNode| {
            let headline = node.body.headline();
            let shown = if headline.trim().is_empty() { &node.description } else { headline };
            display::preview(shown, 90)
        };
        Self {
            node: id,
            edge: edge.into(),
            kind: node.map_or("", |node| node.kind().lower()),
            text: node.map(text).unwrap_or_default(),
        }
    }
}

/// A step in full.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct StepDetail {
    /// The step.
    pub step: StepId,
    /// The line of the step.
    pub line: usize,
    /// The node as it is stored.
    pub node: Arc<TrajectoryNode>,
    /// The state.
    pub state: StepState,
    /// The state of its round, as a reader sees it.
    pub round: RoundState,
    /// The steps before it.
    pub before: Vec<StepLink>,
    /// The steps after it.
    pub after: Vec<StepLink>,
    /// The recorded data that it read.
    pub read: Vec<StepLink>,
    /// The steps that read it.
    pub read_by: Vec<StepLink>,
    /// The number of later rounds in which uses were not looked for.
    pub unseen_rounds: usize,
    /// The questions of the sub-agents that it called.
    pub called: Vec<StepLink>,
    /// The step of another agent that called this agent.
    pub caller: Option<StepLink>,
}

impl Run {
    /// Returns a step in full.
    pub async fn step(&self, step: StepId) -> Result<StepDetail, OperationError> {
        let missing = || context_runtime::Error::not_found("run", "step", step.to_string());
        let line = self.line_of(step).await?;
        let head = self.head_of(step).ok_or_else(missing)?;
        let agent = step.agent;
        let later = (head + 1..).zip(&self.heads[head as usize + 1..]);
        let later = later.take_while(|(_, head)| head.round.agent.agent == agent);
        let later: Vec<u32> = later.map(|(at, _)| at).collect();
        let read = later.len().min(LATER as usize);
        // Only a round that was written after all could refer to it; those without nodes do not.
        let mut wanted = vec![head];
        let is_data = {
            let own = read_rounds(self, &wanted).await?;
            let record = own.get(&head).ok_or_else(missing)?;
            let node = record.nodes.iter().find(|node| node.id == step.node);
            !node.ok_or_else(missing)?.kind().is_computation()
        };
        if is_data {
            wanted.extend(&later[..read]);
        }
        let records = read_rounds(self, &wanted).await?;
        let record = records.get(&head).ok_or_else(missing)?;
        let node_of = |id: NodeId| record.nodes.iter().find(|node| node.id == id);
        let node = Arc::clone(node_of(step.node).ok_or_else(missing)?);
        let link = |id: NodeId, edge: &Edge| {
            let node = node_of(id).map(|node| &**node);
            StepLink::new(StepId::new(agent, id), Arc::clone(&edge.name), node)
        };
        let flow = |edge: &&Edge| edge.relation() == Relation::Flow;
        let edges = || record.edges.iter();
        let before = edges().filter(flow).filter(|edge| edge.to == step.node);
        let after = edges().filter(flow).filter(|edge| edge.from == step.node);
        let (before, after) = (
            before.map(|edge| link(edge.from, edge)).collect(),
            after.map(|edge| link(edge.to, edge)).collect(),
        );
        let refers = |edge: &&Edge| edge.relation() == Relation::Reference;
        let mut reads = Vec::new();
        for edge in edges().filter(refers).filter(|edge| edge.from == step.node) {
            reads.push(self.reference(agent, edge, link(edge.to, edge)).await?);
        }
        let mut read_by = Vec::new();
        for at in &wanted {
            let Some(record) = records.get(at) else { continue };
            for edge in record.edges.iter().filter(refers).filter(|edge| edge.to == step.node) {
                let node = record.nodes.iter().find(|node| node.id == edge.from);
                let id = StepId::new(agent, edge.from);
                read_by.push(StepLink::new(id, Arc::clone(&edge.name), node.map(|it| &**it)));
            }
        }
        let parent = self.heads[head as usize].parent;
        let caller = match parent.map(|parent| StepId::new(parent.agent, parent.node)) {
            Some(caller) => Some(self.link_to(caller, "calls").await?),
            None => None,
        };
        Ok(StepDetail {
            state: StepState::of(&node, state(self, head)),
            round: state(self, head),
            step,
            line,
            node,
            before,
            after,
            read: reads,
            read_by,
            unseen_rounds: if is_data { later.len() - read } else { 0 },
            called: self.called(head, step),
            caller,
        })
    }

    /// Returns a link to data, which may be of an earlier round.
    async fn reference(
        &self,
        agent: u32,
        edge: &Edge,
        own: StepLink,
    ) -> Result<StepLink, OperationError> {
        if edge.to.round == edge.from.round {
            return Ok(own);
        }
        self.link_to(StepId::new(agent, edge.to), &edge.name).await
    }

    async fn link_to(&self, id: StepId, edge: &str) -> Result<StepLink, OperationError> {
        let Some(head) = self.head_of(id) else { return Ok(StepLink::new(id, edge, None)) };
        let records = read_rounds(self, &[head]).await?;
        let nodes = records.get(&head).map(|record| record.nodes.as_slice()).unwrap_or_default();
        let node = nodes.iter().find(|node| node.id == id.node);
        Ok(StepLink::new(id, edge, node.map(|node| &**node)))
    }

    /// Returns the questions of the agents that a step called.
    pub(super) fn called(&self, head: u32, step: StepId) -> Vec<StepLink> {
        let called = self.layout.called.get(&head).into_iter().flatten();
        let here = called.filter(|(ordinal, _)| *ordinal == step.node.ordinal);
        let links = here.map(|(_, child)| {
            let head = &self.heads[*child as usize];
            let id = NodeId::new(head.round.round, head.query.unwrap_or_default());
            StepLink {
                node: StepId::new(head.round.agent.agent, id),
                edge: "calls".into(),
                kind: "query",
                text: display::preview(&head.title, 90),
            }
        });
        links.collect()
    }
}
