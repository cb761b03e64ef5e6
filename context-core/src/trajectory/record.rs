//! A round as it is kept: its head, its nodes, its edges.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Change, Edge, Node, NodeId, NodeKind, QueueName, Queues, TrajectoryError, Version};
use crate::Timestamp;
use crate::trajectory::RoundRef;

/// Where a round is in its life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RoundState {
    /// It runs, or its writer ended without a word; see [`RoundHead::state_as_read`].
    #[default]
    Open,
    /// It ended well.
    Closed,
    /// It was stopped on the way.
    Interrupted,
}

impl RoundState {
    /// The stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Closed => "closed",
            Self::Interrupted => "interrupted",
        }
    }
}

/// The node of another agent that called this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ParentNode {
    /// The agent, 0 for the main one.
    pub agent: u32,
    /// Its node.
    pub node: NodeId,
}

/// What is known of a round without reading its nodes. Small, written with each commit. `Debug`
/// shows no content.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RoundHead {
    /// Which round.
    pub round: RoundRef,
    /// How many commits it has had.
    pub revision: u64,
    /// Where it is in its life.
    pub state: RoundState,
    /// The beginning of its question, for listings; empty before there is one.
    #[serde(default)]
    pub title: Arc<str>,
    /// The number of its question in the round.
    pub query: Option<u32>,
    /// The numbers of the active endpoints, ascending.
    pub endpoints: Vec<u32>,
    /// The number of the next node: how many there ever were.
    pub next: u32,
    /// How many nodes there are.
    pub nodes: u32,
    /// The next number in labels that are made up, for each kind in the order of [`NodeKind::ALL`].
    pub numbers: [u32; NodeKind::ALL.len()],
    /// What is to be done.
    #[serde(default, skip_serializing_if = "Queues::is_empty")]
    pub queues: Queues,
    /// Who called this agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ParentNode>,
    /// When it was begun.
    pub created_at: Timestamp,
    /// When it was last written to; never goes backwards.
    pub updated_at: Timestamp,
}

impl RoundHead {
    /// How many bytes of a question its head has, at most.
    pub const TITLE_BYTES: usize = 240;

    /// How long nothing is written to a round before a reader takes it for interrupted: an hour, in
    /// microseconds.
    pub const SILENCE_MICROS: i64 = 3_600_000_000;

    /// The state to show to a reader, who cannot know whether the writer of a round is gone. A
    /// round that says it is open is [`Interrupted`](RoundState::Interrupted) if its agent has a
    /// later one, or if nothing was written to it for [an hour](Self::SILENCE_MICROS); without a
    /// time to compare with, only the later round counts.
    pub fn state_as_read(&self, has_later: bool, now: Option<Timestamp>) -> RoundState {
        let silence =
            now.map_or(0, |now| now.as_micros().saturating_sub(self.updated_at.as_micros()));
        match self.state {
            RoundState::Open if has_later || silence >= Self::SILENCE_MICROS => {
                RoundState::Interrupted
            }
            state => state,
        }
    }

    /// A round that nothing is recorded of.
    pub fn new(round: RoundRef, at: Timestamp) -> Self {
        Self {
            round,
            revision: 0,
            state: RoundState::Open,
            title: "".into(),
            query: None,
            endpoints: Vec::new(),
            next: 0,
            nodes: 0,
            numbers: [0; NodeKind::ALL.len()],
            queues: Queues::default(),
            parent: None,
            created_at: at,
            updated_at: at,
        }
    }
}

impl fmt::Debug for RoundHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let queued = QueueName::ALL.map(|name| self.queues.get(name).len());
        let mut shown = f.debug_struct("RoundHead");
        shown
            .field("round", &self.round)
            .field("revision", &self.revision)
            .field("state", &self.state);
        shown
            .field("title", &self.title.len())
            .field("query", &self.query)
            .field("endpoints", &self.endpoints);
        shown.field("next", &self.next).field("nodes", &self.nodes).field("numbers", &self.numbers);
        shown
            .field("queues", &queued)
            .field("parent", &self.parent)
            .field("created_at", &self.created_at);
        shown.field("updated_at", &self.updated_at).finish()
    }
}

/// A round, whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RoundRecord {
    /// Its head.
    pub head: RoundHead,
    /// Its nodes, by number ascending.
    pub nodes: Vec<Arc<Node>>,
    /// Its edges, in the order in which they were added. References may lead to earlier rounds.
    pub edges: Vec<Edge>,
}

impl RoundRecord {
    /// A round of these nodes and edges.
    pub fn new(head: RoundHead, nodes: Vec<Arc<Node>>, edges: Vec<Edge>) -> Self {
        Self { head, nodes, edges }
    }

    /// Does what was done, in order, and takes the head that it left. What cannot be done is
    /// damage: nothing is changed then. Costs what the changes are, and what removals leave.
    pub fn apply(&mut self, changes: &[Change], head: &RoundHead) -> Result<(), TrajectoryError> {
        self.check(changes)?;
        let mut removed = HashSet::new();
        for change in changes {
            match change {
                Change::NodeAdded { node } => {
                    let at = self.place(node.id).unwrap_or_else(|at| at);
                    self.nodes.insert(at, node.clone());
                }
                Change::EdgeAdded { edge } => self.edges.push(edge.clone()),
                Change::NodeChanged { id, version, now } => {
                    if let Ok(at) = self.place(*id) {
                        let node = Arc::make_mut(&mut self.nodes[at]);
                        let was = node.settle(&version.was).unwrap_or_default();
                        node.change(&node.settle(now).unwrap_or_default());
                        node.versions.push(Version { was, ..version.clone() });
                    }
                }
                Change::NodeRemoved { id } => {
                    if let Ok(at) = self.place(*id) {
                        self.nodes.remove(at);
                    }
                    removed.insert(*id);
                }
            }
        }
        if !removed.is_empty() {
            self.edges.retain(|edge| !removed.contains(&edge.from) && !removed.contains(&edge.to));
        }
        self.head = head.clone();
        Ok(())
    }

    /// Refuses changes that do not fit what is there.
    fn check(&self, changes: &[Change]) -> Result<(), TrajectoryError> {
        let damaged = |what: String| Err(TrajectoryError::Damaged { what });
        let (mut added, mut removed) = (HashMap::new(), HashSet::new());
        for change in changes {
            let there = |id: &NodeId| match added.get(id) {
                _ if removed.contains(id) => None,
                Some(node) => Some(Arc::clone(node)),
                None => self.place(*id).ok().map(|at| self.nodes[at].clone()),
            };
            match change {
                Change::NodeAdded { node } if there(&node.id).is_some() => {
                    return damaged(format!("{} is added twice", node.id));
                }
                Change::NodeAdded { node } => {
                    added.insert(node.id, node.clone());
                }
                Change::EdgeAdded { .. } => {}
                Change::NodeChanged { id, version, now } => match there(id) {
                    Some(node) => {
                        node.settle(&version.was)?;
                        node.settle(now)?;
                    }
                    None => return damaged(format!("{id} is changed and is not there")),
                },
                Change::NodeRemoved { id } => {
                    if there(id).is_none() {
                        return damaged(format!("{id} is removed and is not there"));
                    }
                    removed.insert(*id);
                }
            }
        }
        Ok(())
    }

    fn place(&self, id: NodeId) -> Result<usize, usize> {
        match self.nodes.last() {
            Some(last) if last.id < id => Err(self.nodes.len()),
            _ => self.nodes.binary_search_by_key(&id, |node| node.id),
        }
    }
}
