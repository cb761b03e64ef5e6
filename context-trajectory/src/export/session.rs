//! What is exported: the agents of a session side by side, and which part of them is looked at.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;

use context_core::trajectory::{
    Edge, Node, NodeId, ParentNode, Relation, Round, RoundState, Trajectory, TrajectoryError, edge,
};
use context_core::{SessionId, Timestamp, UserId};

/// A node of an agent of a session. Written as `2/0.3`: agent 2, round 0, number 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AgentNode {
    /// The calling agent, 0 for the main one.
    pub agent: u32,
    /// The node.
    pub node: NodeId,
}

impl AgentNode {
    /// A node of an agent.
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

/// Which part of a session is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Selection {
    /// All of it.
    #[default]
    Whole,
    /// What led to the active endpoints, and what hangs on it, as [`Trajectory::pruned`] says.
    ActiveBranches,
    /// One round of the main agent, and the rounds of sub-agents that were called from it, from
    /// those, and so on.
    Round(u32),
    /// What is at most so many edges away from a node, whichever way they lead; references and
    /// calls of sub-agents count.
    Around {
        /// The node.
        node: AgentNode,
        /// How many edges.
        depth: u32,
    },
}

/// What a [`Link`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LinkKind {
    /// What came before leads to what followed.
    Flow,
    /// A computation read data that was on record already.
    Reference,
    /// The end of a round leads to the question of the next one that is there.
    Bridge {
        /// Number of missing rounds between the two.
        missing: u32,
    },
    /// A node called a sub-agent: it leads to the question of the sub-agent's round.
    Call,
}

/// What leads from one node to another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Link {
    /// From here.
    pub from: AgentNode,
    /// To there.
    pub to: AgentNode,
    /// The name of the edge; [`SessionGraph::CALLS`] for a call.
    pub name: Arc<str>,
    /// What it is.
    pub kind: LinkKind,
}

/// The trajectories of the agents of a session, and which part of them is looked at.
///
/// ```
/// use std::sync::Arc;
///
/// use context_core::trajectory::{BridgeFrom, NewQuery, Round, Trajectory};
/// use context_core::Timestamp;
/// use context_core::trajectory::AgentRef;
/// use context_trajectory::export::{Selection, SessionGraph, write_dot, write_html};
///
/// let (agent, now) = (AgentRef::main("ada", "trip"), Timestamp::default());
/// let mut round = Round::new(agent.round(0), now);
/// round.ask(NewQuery::new("Where is it warm?"), now)?;
/// let trajectory = Trajectory::new([Arc::new(round)], BridgeFrom::default());
///
/// let graph = SessionGraph::new("ada", "trip", [(0, trajectory)]).select(Selection::Round(0))?;
/// let (mut page, mut dot) = (Vec::new(), Vec::new());
/// write_html(&graph, &mut page)?; // a file to look at, without a network
/// write_dot(&graph, &Default::default(), &mut dot)?;
/// assert!(String::from_utf8(dot)?.starts_with("digraph"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct SessionGraph {
    user: UserId,
    session: SessionId,
    agents: BTreeMap<u32, Agent>,
    /// When it was read, if that is known.
    read_at: Option<Timestamp>,
    /// None for everything.
    shown: Option<BTreeSet<AgentNode>>,
}

#[derive(Clone, Debug)]
struct Agent {
    trajectory: Trajectory,
    active: BTreeSet<NodeId>,
}

impl SessionGraph {
    /// The name of the links from a node to the sub-agents that it called.
    pub const CALLS: &'static str = "calls";

    /// A session of these agents, all of it. Agent 0 is the main one. Of two with the same number
    /// the later one counts.
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

    /// Says when it was read: a round that says it is open and was not written to for long by then
    /// is [shown](RoundGraph::state) as interrupted.
    #[must_use]
    pub fn read_at(mut self, now: Timestamp) -> Self {
        self.read_at = Some(now);
        self
    }

    /// Looks at a part of the session. Refuses nodes that are not there; of a round that is not
    /// there, there is nothing to see.
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

    /// Whose session.
    pub fn user(&self) -> &UserId {
        &self.user
    }

    /// Which session.
    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// The agents of which anything is shown, the main one first. Of a session without nodes, those
    /// that are there.
    pub fn agents(&self) -> impl Iterator<Item = AgentGraph<'_>> {
        let agents = self.agents.keys().map(|number| AgentGraph { graph: self, number: *number });
        agents.filter(|agent| agent.graph.shown.is_none() || agent.nodes().next().is_some())
    }

    /// A node, shown or not.
    pub fn node(&self, id: AgentNode) -> Option<&Arc<Node>> {
        self.agents.get(&id.agent)?.trajectory.node(id.node)
    }

    /// Whether a node is in what is looked at.
    pub fn shows(&self, id: AgentNode) -> bool {
        match &self.shown {
            Some(shown) => shown.contains(&id),
            None => self.node(id).is_some(),
        }
    }

    /// Whether a node is on an active branch, or hangs on one, as [`Trajectory::pruned`] says.
    pub fn is_active(&self, id: AgentNode) -> bool {
        self.agents.get(&id.agent).is_some_and(|agent| agent.active.contains(&id.node))
    }

    /// The links whose both ends are shown: for each agent what its rounds have and then its
    /// bridges; then the calls of sub-agents.
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

/// What is shown of an agent.
#[derive(Clone, Copy, Debug)]
pub struct AgentGraph<'a> {
    graph: &'a SessionGraph,
    number: u32,
}

impl<'a> AgentGraph<'a> {
    /// Which agent, 0 for the main one.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// All of it, shown or not.
    pub fn trajectory(&self) -> &'a Trajectory {
        &self.graph.agents[&self.number].trajectory
    }

    /// The rounds of which anything is shown, by number. Where everything is, empty ones too.
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

    /// The nodes that are shown, by round and number.
    pub fn nodes(&self) -> impl Iterator<Item = &'a Arc<Node>> + use<'a> {
        let (graph, agent) = (self.graph, self.number);
        self.trajectory().nodes().filter(move |node| graph.shows(AgentNode::new(agent, node.id)))
    }
}

/// What is shown of a round of an agent.
#[derive(Clone, Copy, Debug)]
pub struct RoundGraph<'a> {
    graph: &'a SessionGraph,
    agent: u32,
    round: &'a Arc<Round>,
    missing: u32,
}

impl<'a> RoundGraph<'a> {
    /// Which round, from 0.
    pub fn number(&self) -> u32 {
        self.round.round().round
    }

    /// All of it, shown or not.
    pub fn round(&self) -> &'a Round {
        self.round
    }

    /// The state that a reader is shown:
    /// [`RoundHead::state_as_read`](context_core::trajectory::RoundHead::state_as_read).
    pub fn state(&self) -> RoundState {
        let newest = self.graph.agents[&self.agent].trajectory.rounds().last();
        let has_later = newest.is_some_and(|newest| newest.round().round > self.number());
        self.round.head().state_as_read(has_later, self.graph.read_at)
    }

    /// How many rounds right before it are not there.
    pub fn missing_before(&self) -> u32 {
        self.missing
    }

    /// The node that called the agent for this round.
    pub fn parent(&self) -> Option<AgentNode> {
        self.round.head().parent.map(AgentNode::from)
    }

    /// The nodes that are shown, by number.
    pub fn nodes(&self) -> impl Iterator<Item = &'a Arc<Node>> + use<'a> {
        let (graph, agent) = (self.graph, self.agent);
        self.round.nodes().filter(move |node| graph.shows(AgentNode::new(agent, node.id)))
    }
}
