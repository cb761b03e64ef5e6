//! The input of exports: the agents of a session side by side, and the selected part of them.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;

use crate::Trajectory;
use context_core::trajectory::{
    Edge, NodeId, ParentNode, Relation, Round, RoundState, TrajectoryError, TrajectoryNode, edge,
};
use context_core::{SessionId, Timestamp, UserId};

/// A node of an agent in a session. Displayed as `2/0.3`: agent 2, round 0, number 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AgentNode {
    /// The calling agent, 0 for the main one.
    pub agent: u32,
    /// The node.
    pub node: NodeId,
}

impl AgentNode {
    /// Creates the id of an agent's node.
    pub const fn new(agent: u32, node: NodeId) -> Self {
        Self { agent, node }
    }
}

impl From<ParentNode> for AgentNode {
    fn from(parent: ParentNode) -> Self {
        Self::new(parent.agent, parent.node)
    }
}

impl fmt::Display for AgentNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.agent, self.node)
    }
}

/// The part of a session to export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Selection {
    /// The whole session.
    #[default]
    Whole,
    /// The nodes that led to the active endpoints, with their data, as in [`Trajectory::pruned`].
    ActiveBranches,
    /// One round of the main agent, and the rounds of sub-agents that were called from it, directly
    /// or indirectly.
    Round(u32),
    /// The nodes within a distance of a node, in either direction of the edges. References and
    /// sub-agent calls count as edges.
    Around {
        /// The node.
        node: AgentNode,
        /// The largest distance in edges.
        depth: u32,
    },
}

/// The kind of a [`Link`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LinkKind {
    /// An edge from a node to its successor.
    Flow,
    /// A computation read data that was already recorded.
    Reference,
    /// The end of a round leads to the question of the next existing round.
    Bridge {
        /// Number of missing rounds between the two.
        missing: u32,
    },
    /// A node called a sub-agent: the link leads to the question of the sub-agent's round.
    Call,
}

/// A link from one node to another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Link {
    /// The source.
    pub from: AgentNode,
    /// The target.
    pub to: AgentNode,
    /// The name of the edge. [`SessionGraph::CALLS`] for a call.
    pub name: Arc<str>,
    /// The kind of the link.
    pub kind: LinkKind,
}

/// The trajectories of a session's agents, and the selected part of them.
///
/// ```
/// use std::sync::Arc;
///
/// use context_core::Timestamp;
/// use context_core::trajectory::{AgentRef, NewQuery, Round};
/// use context_trajectory::{BridgeFrom, Selection, SessionGraph, Trajectory};
///
/// let (agent, now) = (AgentRef::main("ada", "trip"), Timestamp::default());
/// let mut round = Round::new(agent.round(0), now);
/// round.ask(NewQuery::new("Where is it warm?"), now)?;
/// let trajectory = Trajectory::new([Arc::new(round)], BridgeFrom::default());
///
/// let graph = SessionGraph::new("ada", "trip", [(0, trajectory)]).select(Selection::Round(0))?;
/// assert_eq!(graph.agents().count(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct SessionGraph {
    user: UserId,
    session: SessionId,
    agents: BTreeMap<u32, Agent>,
    /// The time at which the session was read, if known.
    read_at: Option<Timestamp>,
    /// The selected nodes. `None` for all.
    shown: Option<BTreeSet<AgentNode>>,
}

#[derive(Clone, Debug)]
struct Agent {
    trajectory: Trajectory,
    active: BTreeSet<NodeId>,
}

impl SessionGraph {
    /// The name of links from a node to the sub-agents that it called.
    pub const CALLS: &'static str = "calls";

    /// Creates a session of these agents with everything selected. Agent 0 is the main one. If two
    /// agents have the same number, the later one is used.
    pub fn new(
        user: impl Into<UserId>,
        session: impl Into<SessionId>,
        agents: impl IntoIterator<Item = (u32, Trajectory)>,
    ) -> Self {
        let agents = agents.into_iter().map(|(number, trajectory)| {
            let active = trajectory.pruned().nodes;
            (number, Agent { trajectory, active })
        });
        Self {
            user: user.into(),
            session: session.into(),
            agents: agents.collect(),
            read_at: None,
            shown: None,
        }
    }

    /// Sets the time at which the session was read. An open round that was not written to for long
    /// by then is [shown](RoundGraph::state) as interrupted.
    #[must_use]
    pub fn read_at(mut self, now: Timestamp) -> Self {
        self.read_at = Some(now);
        self
    }

    /// Selects a part of the session. Fails for a node that does not exist. For a round that does
    /// not exist the selection is empty.
    pub fn select(mut self, selection: Selection) -> Result<Self, TrajectoryError> {
        self.shown = match selection {
            Selection::Whole => None,
            Selection::ActiveBranches => Some(self.active()),
            Selection::Round(number) => Some(self.of_round(number)),
            Selection::Around { node, depth } => Some(self.around(node, depth)?),
        };
        Ok(self)
    }

    fn active(&self) -> BTreeSet<AgentNode> {
        let active = self.agents.iter();
        active
            .flat_map(|(number, agent)| {
                agent.active.iter().map(|node| AgentNode::new(*number, *node))
            })
            .collect()
    }

    fn of_round(&self, number: u32) -> BTreeSet<AgentNode> {
        let mut called: HashMap<(u32, u32), Vec<(u32, u32)>> = HashMap::new();
        for (agent, round) in self.all_rounds() {
            if let Some(parent) = round.head().parent {
                let caller = (parent.agent, parent.node.round);
                called.entry(caller).or_default().push((agent, round.round().round));
            }
        }
        let (mut open, mut seen) = (vec![(0, number)], BTreeSet::new());
        while let Some(next) = open.pop() {
            if seen.insert(next) {
                open.extend(called.remove(&next).unwrap_or_default());
            }
        }
        let rounds = self
            .all_rounds()
            .filter(|(agent, round)| seen.contains(&(*agent, round.round().round)));
        rounds
            .flat_map(|(agent, round)| {
                round.nodes().map(move |node| AgentNode::new(agent, node.id))
            })
            .collect()
    }

    fn around(&self, node: AgentNode, depth: u32) -> Result<BTreeSet<AgentNode>, TrajectoryError> {
        if self.node(node).is_none() {
            return Err(TrajectoryError::UnknownNode { node: node.to_string() });
        }
        let mut beside: HashMap<AgentNode, Vec<AgentNode>> = HashMap::new();
        for link in self.all_links() {
            beside.entry(link.from).or_default().push(link.to);
            beside.entry(link.to).or_default().push(link.from);
        }
        let (mut open, mut seen) = (VecDeque::from([(node, 0)]), BTreeSet::from([node]));
        while let Some((next, away)) = open.pop_front() {
            if away == depth {
                continue;
            }
            for other in beside.remove(&next).unwrap_or_default() {
                if seen.insert(other) {
                    open.push_back((other, away + 1));
                }
            }
        }
        Ok(seen)
    }

    /// Returns the user.
    pub fn user(&self) -> &UserId {
        &self.user
    }

    /// Returns the session.
    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// Returns the agents with selected nodes, the main one first. With everything selected, agents
    /// without nodes are included.
    pub fn agents(&self) -> impl Iterator<Item = AgentGraph<'_>> {
        let agents = self.agents.keys().map(|number| AgentGraph { graph: self, number: *number });
        agents.filter(|agent| agent.graph.shown.is_none() || agent.nodes().next().is_some())
    }

    /// Returns a node, selected or not.
    pub fn node(&self, id: AgentNode) -> Option<&Arc<TrajectoryNode>> {
        self.agents.get(&id.agent)?.trajectory.node(id.node)
    }

    /// Returns whether a node is selected.
    pub fn shows(&self, id: AgentNode) -> bool {
        match &self.shown {
            Some(shown) => shown.contains(&id),
            None => self.node(id).is_some(),
        }
    }

    /// Returns whether a node is on an active branch, or is data of one, as in
    /// [`Trajectory::pruned`].
    pub fn is_active(&self, id: AgentNode) -> bool {
        self.agents.get(&id.agent).is_some_and(|agent| agent.active.contains(&id.node))
    }

    /// Returns the links between selected nodes: for each agent the links within its rounds and
    /// then its bridges, and finally the calls of sub-agents.
    pub fn links(&self) -> impl Iterator<Item = Link> + '_ {
        self.all_links().filter(|link| self.shows(link.from) && self.shows(link.to))
    }

    fn all_rounds(&self) -> impl Iterator<Item = (u32, &Arc<Round>)> {
        self.agents
            .iter()
            .flat_map(|(number, agent)| agent.trajectory.rounds().map(|round| (*number, round)))
    }

    fn all_links(&self) -> impl Iterator<Item = Link> + '_ {
        let own = self.agents.iter().flat_map(|(number, agent)| agent.links(*number));
        own.chain(self.all_rounds().filter_map(|(agent, round)| self.call(agent, round)))
    }

    fn call(&self, agent: u32, round: &Round) -> Option<Link> {
        let from = AgentNode::from(round.head().parent?);
        let to = AgentNode::new(agent, round.query()?.id);
        self.node(from)?;
        Some(Link { from, to, name: Self::CALLS.into(), kind: LinkKind::Call })
    }
}

impl Agent {
    fn links(&self, number: u32) -> impl Iterator<Item = Link> + '_ {
        let rounds = self.trajectory.rounds();
        let own = rounds.flat_map(|round| round.edges()).filter_map(move |edge| {
            let Edge { from, to, name } = edge;
            let kind = match edge.relation() {
                Relation::Reference => LinkKind::Reference,
                _ => LinkKind::Flow,
            };
            self.trajectory.node(*to)?;
            let [from, to] = [*from, *to].map(|node| AgentNode::new(number, node));
            Some(Link { from, to, name: name.clone(), kind })
        });
        let continues: Arc<str> = edge::CONTINUES_TO.into();
        let bridges = self.trajectory.bridges().iter().map(move |bridge| {
            let [from, to] = [bridge.from, bridge.to].map(|node| AgentNode::new(number, node));
            Link {
                from,
                to,
                name: continues.clone(),
                kind: LinkKind::Bridge { missing: bridge.missing },
            }
        });
        own.chain(bridges)
    }
}

/// The selected part of an agent.
#[derive(Clone, Copy, Debug)]
pub struct AgentGraph<'a> {
    graph: &'a SessionGraph,
    number: u32,
}

impl<'a> AgentGraph<'a> {
    /// Returns the agent's number, 0 for the main one.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Returns the agent's whole trajectory, selected or not.
    pub fn trajectory(&self) -> &'a Trajectory {
        &self.graph.agents[&self.number].trajectory
    }

    /// Returns the rounds with selected nodes, by number. With everything selected, empty rounds
    /// are included.
    pub fn rounds(&self) -> impl Iterator<Item = RoundGraph<'a>> + use<'a> {
        let (graph, agent) = (self.graph, self.number);
        let mut next = 0;
        let rounds = self.trajectory().rounds().map(move |round| {
            let number = round.round().round;
            let missing = number - std::mem::replace(&mut next, number.saturating_add(1));
            RoundGraph { graph, agent, round, missing }
        });
        rounds.filter(|round| round.graph.shown.is_none() || round.nodes().next().is_some())
    }

    /// Returns the selected nodes, by round and number.
    pub fn nodes(&self) -> impl Iterator<Item = &'a Arc<TrajectoryNode>> + use<'a> {
        let (graph, agent) = (self.graph, self.number);
        self.trajectory().nodes().filter(move |node| graph.shows(AgentNode::new(agent, node.id)))
    }
}

/// The selected part of a round.
#[derive(Clone, Copy, Debug)]
pub struct RoundGraph<'a> {
    graph: &'a SessionGraph,
    agent: u32,
    round: &'a Arc<Round>,
    missing: u32,
}

impl<'a> RoundGraph<'a> {
    /// Returns the round's number, from 0.
    pub fn number(&self) -> u32 {
        self.round.round().round
    }

    /// Returns the whole round, selected or not.
    pub fn round(&self) -> &'a Round {
        self.round
    }

    /// Returns the state that a reader is shown:
    /// [`RoundHead::state_as_read`](context_core::trajectory::RoundHead::state_as_read).
    pub fn state(&self) -> RoundState {
        let newest = self.graph.agents[&self.agent].trajectory.rounds().last();
        let has_later = newest.is_some_and(|newest| newest.round().round > self.number());
        self.round.head().state_as_read(has_later, self.graph.read_at)
    }

    /// Returns the number of missing rounds directly before this one.
    pub fn missing_before(&self) -> u32 {
        self.missing
    }

    /// Returns the node that called the agent for this round.
    pub fn parent(&self) -> Option<AgentNode> {
        self.round.head().parent.map(AgentNode::from)
    }

    /// Returns the selected nodes, by number.
    pub fn nodes(&self) -> impl Iterator<Item = &'a Arc<TrajectoryNode>> + use<'a> {
        let (graph, agent) = (self.graph, self.agent);
        self.round.nodes().filter(move |node| graph.shows(AgentNode::new(agent, node.id)))
    }
}
