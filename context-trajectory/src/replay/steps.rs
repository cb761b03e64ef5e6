//! A trajectory as a conversation.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::Trajectory;
use context_core::trajectory::{NodeId, Round, TrajectoryNode, TrajectoryNodeKind};

use super::calls::call_id;
use super::order::as_recorded;

/// One step of a run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum RecordedStep {
    /// A question of the user.
    Query {
        /// The question.
        query: Arc<TrajectoryNode>,
    },
    /// A conclusion of the model with tool calls.
    Calls {
        /// The conclusion. `None` if actions were recorded without one.
        state: Option<Arc<TrajectoryNode>>,
        /// The actions with their results, in the order of the calls.
        calls: Vec<Arc<TrajectoryNode>>,
    },
    /// An answer of the model.
    Response {
        /// The answer.
        response: Arc<TrajectoryNode>,
    },
}

impl RecordedStep {
    /// Returns the first node of the step.
    pub fn node(&self) -> Option<&Arc<TrajectoryNode>> {
        match self {
            Self::Query { query } => Some(query),
            Self::Calls { state, calls } => state.as_ref().or(calls.first()),
            Self::Response { response } => Some(response),
        }
    }
}

/// A recorded run as a conversation: the rounds in order, and within each round the steps in the
/// order in which they happened. Data nodes are skipped.
#[derive(Clone, Debug, Default)]
pub struct Replay {
    steps: Vec<RecordedStep>,
    /// The ids of calls that are not the labels of their actions.
    ids: HashMap<NodeId, String>,
}

impl Replay {
    /// Creates a replay of a whole trajectory. To replay some of its rounds, build a
    /// [trajectory](Trajectory::new) of those rounds.
    pub fn new(trajectory: &Trajectory) -> Self {
        Self::of_rounds(trajectory.rounds().map(|round| &**round), |_| true)
    }

    /// Creates a replay of one round.
    pub fn of_round(round: &Round) -> Self {
        Self::of_rounds([round], |_| true)
    }

    /// Creates a replay of the steps that led to the active endpoints, as in
    /// [`Trajectory::pruned`].
    pub fn of_active(trajectory: &Trajectory) -> Self {
        let retained: BTreeSet<NodeId> = trajectory.pruned().nodes;
        Self::of_rounds(trajectory.rounds().map(|round| &**round), |id| retained.contains(&id))
    }

    fn of_rounds<'a>(
        rounds: impl IntoIterator<Item = &'a Round>,
        retained: impl Fn(NodeId) -> bool,
    ) -> Self {
        let mut replay = Self::default();
        for round in rounds {
            replay.add(round, &retained);
        }
        replay
    }

    fn add(&mut self, round: &Round, retained: impl Fn(NodeId) -> bool) {
        // The index of each step by the node that its calls share: the conclusion, or else their
        // predecessor.
        let mut places: BTreeMap<NodeId, usize> = BTreeMap::new();
        for id in as_recorded(round).into_iter().filter(|id| retained(*id)) {
            let Some(node) = round.node(id) else { continue };
            match node.kind() {
                TrajectoryNodeKind::Query => {
                    self.steps.push(RecordedStep::Query { query: node.clone() })
                }
                TrajectoryNodeKind::Response => {
                    self.steps.push(RecordedStep::Response { response: node.clone() })
                }
                TrajectoryNodeKind::State => {
                    places.insert(id, self.steps.len());
                    self.steps
                        .push(RecordedStep::Calls { state: Some(node.clone()), calls: Vec::new() });
                }
                TrajectoryNodeKind::Action => {
                    let label = call_id(Some(round), node);
                    if label != *node.label {
                        self.ids.insert(id, label);
                    }
                    let before: Vec<NodeId> =
                        round.predecessors(id).map(|edge| edge.from).collect();
                    let conclusion = before.iter().find(|before| {
                        round
                            .node(**before)
                            .is_some_and(|node| node.kind() == TrajectoryNodeKind::State)
                            && retained(**before)
                    });
                    let front = conclusion.or(before.first()).copied().unwrap_or(id);
                    let place = *places.entry(front).or_insert_with(|| {
                        self.steps.push(RecordedStep::Calls { state: None, calls: Vec::new() });
                        self.steps.len() - 1
                    });
                    if let Some(RecordedStep::Calls { calls, .. }) = self.steps.get_mut(place) {
                        calls.push(node.clone());
                    }
                }
                _ => {}
            }
        }
    }

    /// Returns the steps in order.
    pub fn steps(&self) -> &[RecordedStep] {
        &self.steps
    }

    /// Returns the id with which the call of an action was made. The id equals the action's label,
    /// except for repeated calls with one id in a round.
    pub fn call_id(&self, action: &TrajectoryNode) -> String {
        self.ids.get(&action.id).cloned().unwrap_or_else(|| call_id(None, action))
    }
}

impl<'a> IntoIterator for &'a Replay {
    type Item = &'a RecordedStep;
    type IntoIter = std::slice::Iter<'a, RecordedStep>;

    fn into_iter(self) -> Self::IntoIter {
        self.steps.iter()
    }
}
