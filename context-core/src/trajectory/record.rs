//! The stored form of a round: head, nodes and edges.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{
    Change, Edge, NodeId, QueueName, Queues, TrajectoryError, TrajectoryNode, TrajectoryNodeKind,
    Version,
};
use crate::Timestamp;
use crate::trajectory::RoundRef;

/// The state of a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RoundState {
    /// The round is running, or its writer ended without closing it; see
    /// [`RoundHead::state_as_read`].
    #[default]
    Open,
    /// The round ended normally.
    Closed,
    /// The round was interrupted.
    Interrupted,
}

impl RoundState {
    /// Returns the stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Closed => "closed",
            Self::Interrupted => "interrupted",
        }
    }
}

/// The node of another agent that called this agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ParentNode {
    /// The calling agent, 0 for the main one.
    pub agent: u32,
    /// The node.
    pub node: NodeId,
}

/// The summary of a round, readable without its nodes. Small, and written with each commit. `Debug`
/// shows no content.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RoundHead {
    /// The round.
    pub round: RoundRef,
    /// Number of commits.
    pub revision: u64,
    /// The state.
    pub state: RoundState,
    /// The beginning of the query, for listings. Empty before there is a query.
    #[serde(default)]
    pub title: Arc<str>,
    /// The number of the query in the round.
    pub query: Option<u32>,
    /// The numbers of the active endpoints, in ascending order.
    pub endpoints: Vec<u32>,
    /// The number of the next node, which is the number of nodes ever added.
    pub next: u32,
    /// Number of nodes.
    pub nodes: u32,
    /// The next number for generated labels, for each kind in the order of
    /// [`TrajectoryNodeKind::ALL`].
    pub numbers: [u32; TrajectoryNodeKind::ALL.len()],
    /// The workflow queues.
    #[serde(default, skip_serializing_if = "Queues::is_empty")]
    pub queues: Queues,
    /// The node that called this agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ParentNode>,
    /// The creation time.
    pub created_at: Timestamp,
    /// The time of the last write. Never goes backwards.
    pub updated_at: Timestamp,
}

impl RoundHead {
    /// Maximum length of the title in bytes.
    pub const TITLE_BYTES: usize = 240;

    /// The time without writes after which a reader treats a round as interrupted: one hour, in
    /// microseconds.
    pub const SILENCE_MICROS: i64 = 3_600_000_000;

    /// Returns the state to show to a reader, who cannot know whether the round's writer still
    /// exists. An open round is [`Interrupted`](RoundState::Interrupted) if its agent has a later
    /// round, or if it has not been written to for [an hour](Self::SILENCE_MICROS). If `now` is
    /// `None`, only the later round counts.
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

    /// Creates the head of an empty round.
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
            numbers: [0; TrajectoryNodeKind::ALL.len()],
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

/// A complete round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RoundRecord {
    /// The head.
    pub head: RoundHead,
    /// The nodes, in ascending order of their numbers.
    pub nodes: Vec<Arc<TrajectoryNode>>,
    /// The edges, in the order of addition. References may lead to earlier rounds.
    pub edges: Vec<Edge>,
}

impl RoundRecord {
    /// Creates a record from a head, nodes and edges.
    pub fn new(head: RoundHead, nodes: Vec<Arc<TrajectoryNode>>, edges: Vec<Edge>) -> Self {
        Self { head, nodes, edges }
    }

    /// Applies changes in order and replaces the head. A change that cannot be applied is reported
    /// as damage, and nothing is changed. Takes time in the number of changes; removals also scan
    /// the remaining edges.
    pub fn apply(&mut self, changes: &[Change], head: &RoundHead) -> Result<(), TrajectoryError> {
        self.check(changes)?;
        let mut removed = HashSet::new();
        for change in changes {
            match change {
                Change::NodeAdded { node } => {
                    let at = self.search(node.id).unwrap_or_else(|at| at);
                    self.nodes.insert(at, node.clone());
                }
                Change::EdgeAdded { edge } => self.edges.push(edge.clone()),
                Change::NodeChanged { id, version, now } => {
                    if let Ok(at) = self.search(*id) {
                        let node = Arc::make_mut(&mut self.nodes[at]);
                        let previous = node.settle(&version.previous).unwrap_or_default();
                        node.change(&node.settle(now).unwrap_or_default());
                        node.versions.push(Version { previous, ..version.clone() });
                    }
                }
                Change::NodeRemoved { id } => {
                    if let Ok(at) = self.search(*id) {
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

    /// Refuses changes that do not fit the record.
    fn check(&self, changes: &[Change]) -> Result<(), TrajectoryError> {
        let damaged = |damage: String| Err(TrajectoryError::Damaged { damage });
        let (mut added, mut removed) = (HashMap::new(), HashSet::new());
        for change in changes {
            let node_of = |id: &NodeId| match added.get(id) {
                _ if removed.contains(id) => None,
                Some(node) => Some(Arc::clone(node)),
                None => self.search(*id).ok().map(|at| self.nodes[at].clone()),
            };
            match change {
                Change::NodeAdded { node } if node_of(&node.id).is_some() => {
                    return damaged(format!("{} is added twice", node.id));
                }
                Change::NodeAdded { node } => {
                    added.insert(node.id, node.clone());
                }
                Change::EdgeAdded { .. } => {}
                Change::NodeChanged { id, version, now } => match node_of(id) {
                    Some(node) => {
                        node.settle(&version.previous)?;
                        node.settle(now)?;
                    }
                    None => return damaged(format!("{id} is changed, but does not exist")),
                },
                Change::NodeRemoved { id } => {
                    if node_of(id).is_none() {
                        return damaged(format!("{id} is removed, but does not exist"));
                    }
                    removed.insert(*id);
                }
            }
        }
        Ok(())
    }

    fn search(&self, id: NodeId) -> Result<usize, usize> {
        match self.nodes.last() {
            Some(last) if last.id < id => Err(self.nodes.len()),
            _ => self.nodes.binary_search_by_key(&id, |node| node.id),
        }
    }
}
