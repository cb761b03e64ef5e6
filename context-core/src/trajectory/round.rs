//! One round of one agent as a graph.

mod connect;
mod edit;
mod labels;
mod links;
mod register;
mod restore;
mod walk;

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{
    Edge, EdgeNames, NodeId, NodeTitle, ParentNode, Queues, RoundHead, RoundState, TrajectoryError,
    TrajectoryNode,
};
use crate::Timestamp;
use crate::trajectory::RoundRef;

use labels::LabelIndex;
use links::EdgeLists;

pub use edit::NodeRemoval;

/// One round of one agent: a directed acyclic graph that starts with a query.
///
/// Every method that changes the round checks first, and leaves the round unchanged if it refuses.
/// The cost of adding a node does not depend on the size of the round.
///
/// ```
/// use context_core::trajectory::{NewNode, NewQuery, NodeBody, TrajectoryNodeKind, Round, TrajectoryError};
/// use context_core::Timestamp;
/// use context_core::trajectory::AgentRef;
///
/// let now = Timestamp::default();
/// let mut round = Round::new(AgentRef::main("ada", "lisbon").round(0), now);
/// let (query, _changes) = round.ask(NewQuery::new("A train?"), now)?; // the changes go to a store
/// let search = NodeBody::action("search_trains", serde_json::json!({"day": "Friday"}));
/// let (search, _changes) = round.add(NewNode::new(search, [query]), now)?;
/// let found = NodeBody::knowledge("timetable", "Friday, 10:05");
/// let (found, _changes) = round.add(NewNode::new(found, [search]), now)?;
/// assert_eq!(round.data_of(search)?, [found]);
/// assert_eq!(round.kinds(), [(TrajectoryNodeKind::Query, 1), (TrajectoryNodeKind::Action, 1), (TrajectoryNodeKind::Knowledge, 1)]);
/// # Ok::<(), TrajectoryError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Round {
    /// The head without its endpoints, which are in the set below.
    head: RoundHead,
    endpoints: BTreeSet<u32>,
    names: EdgeNames,
    /// By number. `None` for removed nodes.
    nodes: Vec<Option<Arc<TrajectoryNode>>>,
    labels: LabelIndex,
    edges: EdgeLists,
}

impl Round {
    /// Creates an empty round.
    pub fn new(round: RoundRef, at: Timestamp) -> Self {
        Self {
            head: RoundHead::new(round, at),
            endpoints: BTreeSet::new(),
            names: EdgeNames::default(),
            nodes: Vec::new(),
            labels: LabelIndex::default(),
            edges: EdgeLists::default(),
        }
    }

    /// Continues the label numbers of an earlier round. For a round that has no nodes yet.
    #[must_use]
    pub fn continuing(mut self, earlier: &RoundHead) -> Self {
        for (number, before) in self.head.numbers.iter_mut().zip(earlier.numbers) {
            *number = before.max(*number);
        }
        self
    }

    /// Sets the node that called the agent.
    #[must_use]
    pub fn below(mut self, parent: ParentNode) -> Self {
        self.head.parent = Some(parent);
        self
    }

    /// Sets the edge names that are allowed from now on.
    #[must_use]
    pub fn edge_names(mut self, names: EdgeNames) -> Self {
        self.names = names;
        self
    }

    /// Returns the reference to this round.
    pub fn round(&self) -> &RoundRef {
        &self.head.round
    }

    /// Returns the current head.
    pub fn head(&self) -> RoundHead {
        RoundHead { endpoints: self.endpoints.iter().copied().collect(), ..self.head.clone() }
    }

    /// Returns the number of commits.
    pub fn revision(&self) -> u64 {
        self.head.revision
    }

    /// Increments the number of commits.
    pub fn committed(&mut self) {
        self.head.revision += 1;
    }

    /// Returns the state.
    pub fn state(&self) -> RoundState {
        self.head.state
    }

    /// Sets the state.
    pub fn set_state(&mut self, state: RoundState, at: Timestamp) {
        self.head.state = state;
        self.touch(at);
    }

    /// Returns the workflow queues.
    pub fn queues(&self) -> &Queues {
        &self.head.queues
    }

    /// Returns the workflow queues for modification.
    pub fn queues_mut(&mut self, at: Timestamp) -> &mut Queues {
        self.touch(at);
        &mut self.head.queues
    }

    /// Returns a node.
    pub fn node(&self, id: NodeId) -> Option<&Arc<TrajectoryNode>> {
        self.index_of(id).and_then(|at| self.nodes[at].as_ref())
    }

    /// Returns the node with this title.
    pub fn find(&self, title: &NodeTitle) -> Option<&Arc<TrajectoryNode>> {
        let number = self.labels.find(title.kind, &title.label, &self.nodes)?;
        self.nodes[number as usize].as_ref()
    }

    /// Finds a node by title, as in `Action(action00000)`, or by id, as in `0.3`.
    pub fn resolve(&self, text: &str) -> Result<&Arc<TrajectoryNode>, TrajectoryError> {
        let node = match text.parse::<NodeId>() {
            Ok(id) => self.node(id),
            Err(_) => self.find(&text.parse()?),
        };
        node.ok_or_else(|| TrajectoryError::UnknownNode { node: text.into() })
    }

    /// Returns the nodes, by number.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = &Arc<TrajectoryNode>> {
        self.nodes.iter().flatten()
    }

    /// Returns the edges, in the order of addition.
    pub fn edges(&self) -> impl Iterator<Item = &Edge> {
        self.edges.iter()
    }

    /// Returns the number of nodes.
    pub fn len(&self) -> usize {
        self.head.nodes as usize
    }

    /// Returns whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.head.nodes == 0
    }

    /// Returns the query.
    pub fn query(&self) -> Option<&Arc<TrajectoryNode>> {
        self.nodes[self.head.query? as usize].as_ref()
    }

    /// Returns the active endpoints, by number.
    pub fn endpoints(&self) -> impl ExactSizeIterator<Item = NodeId> {
        let round = self.head.round.round;
        self.endpoints.iter().map(move |ordinal| NodeId::new(round, *ordinal))
    }

    fn id(&self, ordinal: u32) -> NodeId {
        NodeId::new(self.head.round.round, ordinal)
    }

    /// Returns the index of an existing node.
    fn index_of(&self, id: NodeId) -> Option<usize> {
        let at = id.ordinal as usize;
        (id.round == self.head.round.round && self.nodes.get(at).is_some_and(Option::is_some))
            .then_some(at)
    }

    fn touch(&mut self, at: Timestamp) {
        self.head.updated_at = self.head.updated_at.max(at);
    }

    /// Stores a node whose label no other node of its kind has.
    fn put_node(&mut self, node: Arc<TrajectoryNode>) {
        let at = node.id.ordinal as usize;
        if self.nodes.len() <= at {
            self.nodes.resize(at + 1, None);
            self.edges.cover(at + 1);
        }
        self.labels.insert(&node);
        self.nodes[at] = Some(node);
    }

    /// Stores an edge that begins at a node of the round.
    fn put_edge(&mut self, edge: Edge) {
        let to = self.index_of(edge.to);
        let from = edge.from.ordinal as usize;
        self.edges.push(edge, from, to);
    }
}
