//! One round of one agent as a graph that can be asked and changed.

mod connect;
mod edit;
mod register;
mod restore;
mod walk;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::{
    Edge, EdgeNames, Node, NodeId, NodeKind, NodeTitle, ParentNode, Queues, RoundHead, RoundState,
    TrajectoryError,
};
use crate::Timestamp;
use crate::trajectory::RoundRef;

pub use edit::Removal;

/// One round of one agent: a directed acyclic graph that begins with a question.
///
/// Every call that changes it checks first, and leaves it as it was if it refuses. Adding a node
/// costs the same however large the round is.
///
/// ```
/// use context_core::trajectory::{NewNode, NewQuery, NodeBody, NodeKind, Round, TrajectoryError};
/// use context_core::Timestamp;
/// use context_core::trajectory::AgentRef;
///
/// let now = Timestamp::default();
/// let mut round = Round::new(AgentRef::main("ada", "lisbon").round(0), now);
/// let (query, _changes) = round.ask(NewQuery::new("A train?"), now)?; // the changes go to a store
/// let search = NodeBody::action("search_trains", serde_json::json!({"day": "Friday"}));
/// let (search, _changes) = round.add(NewNode::new(search, [query]), now)?;
/// let found = NodeBody::knowledge("timetable", "Friday, 10:05");
/// let (found, _changes) = round.add(NewNode::new(found, [search]).edge("produces"), now)?;
/// assert_eq!(round.data_of(search)?, [found]);
/// assert_eq!(round.kinds(), [(NodeKind::Query, 1), (NodeKind::Action, 1), (NodeKind::Knowledge, 1)]);
/// # Ok::<(), TrajectoryError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Round {
    /// Without endpoints, which are in the set below, and with everything else as it is.
    head: RoundHead,
    endpoints: BTreeSet<u32>,
    names: EdgeNames,
    /// By number; none where a node was removed.
    nodes: Vec<Option<Arc<Node>>>,
    /// By kind.
    labels: [HashMap<Arc<str>, u32>; NodeKind::ALL.len()],
    /// In the order in which they were added; none where a node was removed.
    edges: Vec<Option<Edge>>,
    /// For each node, the places of the edges that begin and end there, within the round.
    links: Vec<Links>,
}

#[derive(Clone, Debug, Default)]
struct Links {
    to: Vec<u32>,
    from: Vec<u32>,
}

impl Round {
    /// A round that nothing is recorded of.
    pub fn new(round: RoundRef, at: Timestamp) -> Self {
        Self {
            head: RoundHead::new(round, at),
            endpoints: BTreeSet::new(),
            names: EdgeNames::default(),
            nodes: Vec::new(),
            labels: Default::default(),
            edges: Vec::new(),
            links: Vec::new(),
        }
    }

    /// Goes on with the numbers of labels where an earlier round ended. For a round that has no
    /// nodes yet.
    #[must_use]
    pub fn continuing(mut self, earlier: &RoundHead) -> Self {
        for (number, before) in self.head.numbers.iter_mut().zip(earlier.numbers) {
            *number = before.max(*number);
        }
        self
    }

    /// Says which node called the agent.
    #[must_use]
    pub fn below(mut self, parent: ParentNode) -> Self {
        self.head.parent = Some(parent);
        self
    }

    /// Says which names edges may be given from now on.
    #[must_use]
    pub fn edge_names(mut self, names: EdgeNames) -> Self {
        self.names = names;
        self
    }

    /// Which round.
    pub fn round(&self) -> &RoundRef {
        &self.head.round
    }

    /// Its head as it is now.
    pub fn head(&self) -> RoundHead {
        RoundHead { endpoints: self.endpoints.iter().copied().collect(), ..self.head.clone() }
    }

    /// How many commits it has had.
    pub fn revision(&self) -> u64 {
        self.head.revision
    }

    /// Counts one commit.
    pub fn committed(&mut self) {
        self.head.revision += 1;
    }

    /// Where it is in its life.
    pub fn state(&self) -> RoundState {
        self.head.state
    }

    /// Says where it is in its life.
    pub fn set_state(&mut self, state: RoundState, at: Timestamp) {
        self.head.state = state;
        self.touch(at);
    }

    /// What is to be done.
    pub fn queues(&self) -> &Queues {
        &self.head.queues
    }

    /// What is to be done, to change it.
    pub fn queues_mut(&mut self, at: Timestamp) -> &mut Queues {
        self.touch(at);
        &mut self.head.queues
    }

    /// A node.
    pub fn node(&self, id: NodeId) -> Option<&Arc<Node>> {
        self.at(id).and_then(|at| self.nodes[at].as_ref())
    }

    /// The node of this name.
    pub fn find(&self, title: &NodeTitle) -> Option<&Arc<Node>> {
        let number = *self.labels[title.kind as usize].get(&title.label)?;
        self.nodes[number as usize].as_ref()
    }

    /// The node that a text means: a title as in `Action(action00000)`, or an id as in `0.3`.
    pub fn resolve(&self, text: &str) -> Result<&Arc<Node>, TrajectoryError> {
        let node = match text.parse::<NodeId>() {
            Ok(id) => self.node(id),
            Err(_) => self.find(&text.parse()?),
        };
        node.ok_or_else(|| TrajectoryError::UnknownNode { node: text.into() })
    }

    /// The nodes, by number.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = &Arc<Node>> {
        self.nodes.iter().flatten()
    }

    /// The edges, in the order in which they were added.
    pub fn edges(&self) -> impl Iterator<Item = &Edge> {
        self.edges.iter().flatten()
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.head.nodes as usize
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.head.nodes == 0
    }

    /// The question.
    pub fn query(&self) -> Option<&Arc<Node>> {
        self.nodes[self.head.query? as usize].as_ref()
    }

    /// The active endpoints, by number.
    pub fn endpoints(&self) -> impl ExactSizeIterator<Item = NodeId> {
        let round = self.head.round.round;
        self.endpoints.iter().map(move |ordinal| NodeId::new(round, *ordinal))
    }

    fn id(&self, ordinal: u32) -> NodeId {
        NodeId::new(self.head.round.round, ordinal)
    }

    /// The place of a node that is there.
    fn at(&self, id: NodeId) -> Option<usize> {
        let at = id.ordinal as usize;
        (id.round == self.head.round.round && self.nodes.get(at).is_some_and(Option::is_some))
            .then_some(at)
    }

    fn touch(&mut self, at: Timestamp) {
        self.head.updated_at = self.head.updated_at.max(at);
    }

    /// Says whether another node of the kind had the label.
    fn put_node(&mut self, node: Arc<Node>) -> bool {
        let at = node.id.ordinal as usize;
        if self.nodes.len() <= at {
            self.nodes.resize(at + 1, None);
            self.links.resize_with(at + 1, Links::default);
        }
        let taken = self.labels[node.kind() as usize].insert(node.label.clone(), node.id.ordinal);
        self.nodes[at] = Some(node);
        taken.is_some()
    }

    /// Both ends are there, or it leads to an earlier round.
    fn put_edge(&mut self, edge: Edge) {
        let place = self.edges.len() as u32;
        if let Some(to) = self.at(edge.to) {
            self.links[to].to.push(place);
        }
        if let Some(from) = self.at(edge.from) {
            self.links[from].from.push(place);
        }
        self.edges.push(Some(edge));
    }
}
