//! A trajectory as a conversation.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use context_core::trajectory::{Node, NodeId, NodeKind, Round, Trajectory};

use super::calls::call_id;
use super::order::as_recorded;

/// One step of a run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Step {
    /// The user asked.
    Query {
        /// The question.
        query: Arc<Node>,
    },
    /// The model concluded something, and called tools.
    Turn {
        /// The conclusion; none where actions were recorded without one.
        state: Option<Arc<Node>>,
        /// The actions with their results, in the order of the calls.
        calls: Vec<Arc<Node>>,
    },
    /// The model answered.
    Response {
        /// The answer.
        response: Arc<Node>,
    },
}

impl Step {
    /// The node that the step begins with.
    pub fn node(&self) -> Option<&Arc<Node>> {
        match self {
            Self::Query { query } => Some(query),
            Self::Turn { state, calls } => state.as_ref().or(calls.first()),
            Self::Response { response } => Some(response),
        }
    }
}

/// A recorded run as a conversation: rounds in order, in each the steps as they happened. Data is
/// passed over.
#[derive(Clone, Debug, Default)]
pub struct Replay {
    steps: Vec<Step>,
    /// The ids of calls, where they are not the labels of their actions.
    ids: HashMap<NodeId, String>,
}

impl Replay {
    /// All of a trajectory. For some of its rounds, lay only those [side by side](Trajectory::new).
    pub fn new(trajectory: &Trajectory) -> Self {
        Self::of_rounds(trajectory.rounds().map(|round| &**round), |_| true)
    }

    /// One round.
    pub fn of_round(round: &Round) -> Self {
        Self::of_rounds([round], |_| true)
    }

    /// What led to the active endpoints, as [`Trajectory::pruned`] says.
    pub fn of_active(trajectory: &Trajectory) -> Self {
        let kept: BTreeSet<NodeId> = trajectory.pruned().nodes;
        Self::of_rounds(trajectory.rounds().map(|round| &**round), |id| kept.contains(&id))
    }

    fn of_rounds<'a>(
        rounds: impl IntoIterator<Item = &'a Round>,
        kept: impl Fn(NodeId) -> bool,
    ) -> Self {
        let mut replay = Self::default();
        for round in rounds {
            replay.add(round, &kept);
        }
        replay
    }

    fn add(&mut self, round: &Round, kept: impl Fn(NodeId) -> bool) {
        // By what calls of one turn have in common: the conclusion, or else whatever is in front of
        // them.
        let mut turns: BTreeMap<NodeId, usize> = BTreeMap::new();
        for id in as_recorded(round).into_iter().filter(|id| kept(*id)) {
            let Some(node) = round.node(id) else { continue };
            match node.kind() {
                NodeKind::Query => self.steps.push(Step::Query { query: node.clone() }),
                NodeKind::Response => self.steps.push(Step::Response { response: node.clone() }),
                NodeKind::State => {
                    turns.insert(id, self.steps.len());
                    self.steps.push(Step::Turn { state: Some(node.clone()), calls: Vec::new() });
                }
                NodeKind::Action => {
                    let label = call_id(Some(round), node);
                    if label != *node.label {
                        self.ids.insert(id, label);
                    }
                    let before: Vec<NodeId> =
                        round.predecessors(id).map(|edge| edge.from).collect();
                    let conclusion = before.iter().find(|before| {
                        round.node(**before).is_some_and(|node| node.kind() == NodeKind::State)
                            && kept(**before)
                    });
                    let front = conclusion.or(before.first()).copied().unwrap_or(id);
                    let place = *turns.entry(front).or_insert_with(|| {
                        self.steps.push(Step::Turn { state: None, calls: Vec::new() });
                        self.steps.len() - 1
                    });
                    if let Some(Step::Turn { calls, .. }) = self.steps.get_mut(place) {
                        calls.push(node.clone());
                    }
                }
                _ => {}
            }
        }
    }

    /// The steps, in order.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The id by which the call of an action was made. It is the label of the action, but for the
    /// second call of one id in a round.
    pub fn call_id(&self, action: &Node) -> String {
        self.ids.get(&action.id).cloned().unwrap_or_else(|| call_id(None, action))
    }
}

impl<'a> IntoIterator for &'a Replay {
    type Item = &'a Step;
    type IntoIter = std::slice::Iter<'a, Step>;

    fn into_iter(self) -> Self::IntoIter {
        self.steps.iter()
    }
}
