//! Recording one model answer: a conclusion with the actions it triggers, or the response of the
//! round.

use std::sync::Arc;

use context_core::base::limits;
use context_core::trajectory::{
    Change, Changes, Measures, MessageLink, NewNode, NodeBody, NodeId, NodeRemoval, NodeTitle,
    Round, TrajectoryError, TrajectoryNode, TrajectoryNodeKind, edge,
};
use context_core::{Json, Timestamp};

use crate::record_message::known_as;
use crate::recorder::ChangeResult;
use crate::{OpenRound, RecordError};

/// Separates a repeated call id from its count in an action's label, as in `id#2`.
pub(crate) const REPEATED: char = '#';

/// One answer of a model.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
#[must_use]
pub struct Step {
    /// The text of the answer.
    pub content: Arc<str>,
    /// The reasoning text.
    pub reasoning: Arc<str>,
    /// The tool calls in order, including invalid ones.
    pub calls: Vec<StepCall>,
    /// The nodes that the step follows. If empty, the step follows all endpoints.
    pub after: Vec<NodeId>,
    /// The messages that the node represents.
    pub messages: Vec<MessageLink>,
    /// Measurements such as duration and token usage.
    pub measures: Measures,
    /// The author of the nodes.
    pub author: Option<Arc<str>>,
}

/// A tool call.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[must_use]
pub struct StepCall {
    /// The call id, by which the result is matched. May be empty.
    pub id: Arc<str>,
    /// The name of the tool.
    pub name: Arc<str>,
    /// The parameters of the call.
    pub params: Json,
    /// The reason why the call is invalid, which becomes its result. `None` for a valid call.
    pub invalid: Option<Arc<str>>,
    /// The messages that the node represents.
    pub messages: Vec<MessageLink>,
}

impl StepCall {
    /// Creates a call.
    pub fn new(
        id: impl Into<Arc<str>>,
        name: impl Into<Arc<str>>,
        params: impl Into<Json>,
    ) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            params: params.into(),
            invalid: None,
            messages: Vec::new(),
        }
    }

    /// Creates an invalid call from the text that stands in place of the parameters and the reason
    /// why it is invalid.
    pub fn invalid(
        id: impl Into<Arc<str>>,
        name: impl Into<Arc<str>>,
        params: impl Into<Json>,
        error: impl Into<Arc<str>>,
    ) -> Self {
        Self { invalid: Some(error.into()), ..Self::new(id, name, params) }
    }

    /// Links the call to a chat message.
    pub fn message(mut self, link: MessageLink) -> Self {
        self.messages.push(link);
        self
    }
}

impl Step {
    /// Creates a step with this text.
    pub fn new(content: impl Into<Arc<str>>) -> Self {
        Self { content: content.into(), ..Self::default() }
    }

    /// Sets the reasoning text.
    pub fn reasoning(mut self, text: impl Into<Arc<str>>) -> Self {
        self.reasoning = text.into();
        self
    }

    /// Adds a call.
    pub fn call(mut self, call: StepCall) -> Self {
        self.calls.push(call);
        self
    }

    /// Makes the step follow these nodes only.
    pub fn after(mut self, nodes: impl IntoIterator<Item = NodeId>) -> Self {
        self.after.extend(nodes);
        self
    }

    /// Links the call to a chat message.
    pub fn message(mut self, link: MessageLink) -> Self {
        self.messages.push(link);
        self
    }

    /// Sets the measurements.
    pub fn measure(mut self, measures: Measures) -> Self {
        self.measures = measures;
        self
    }

    /// Sets the author.
    pub fn author(mut self, author: impl Into<Arc<str>>) -> Self {
        self.author = Some(author.into());
        self
    }
}

/// The nodes that were recorded for a step.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StepNodes {
    /// The step has tool calls.
    Calls {
        /// The conclusion.
        state: NodeId,
        /// The actions, in the order of the calls.
        actions: Vec<NodeId>,
    },
    /// The step has no tool calls: the response.
    Response(NodeId),
}

impl OpenRound {
    /// Records one answer of a model, atomically.
    ///
    /// A step with calls becomes a State that follows all endpoints and one Action per call. An
    /// action's label is the id of the call, with `#2` appended for the second call of the same id,
    /// and so on. If several endpoints are open, they must start at one common node, or the step
    /// must name the nodes it follows. A step without calls becomes a Response that follows all
    /// endpoints; they remain endpoints.
    pub async fn step(&self, step: Step) -> Result<StepNodes, RecordError> {
        check_branches(&self.round(), &step)?;
        self.done(|round, at| recorded(round, step, at)).await
    }

    /// Records an answer like [`step`](Self::step), without waiting for the write.
    pub fn step_later(&self, step: Step) -> Result<StepNodes, RecordError> {
        check_branches(&self.round(), &step)?;
        self.later(|round, at| recorded(round, step, at))
    }

    /// Returns the action of the most recent call with an id.
    pub fn action_of_call(&self, call: &str) -> Option<NodeId> {
        find_call(&self.round(), &known_as(call)).map(|node| node.id)
    }

    /// Records the result of the most recent call with an id.
    pub async fn tool_result(
        &self,
        call: &str,
        output: impl Into<Json>,
        success: bool,
    ) -> Result<NodeId, RecordError> {
        let changes = Changes::new().set("output", output.into()).set("success", success);
        self.tool_result_with(call, changes).await
    }

    /// Records the result of a call like [`tool_result`](Self::tool_result), with further fields of
    /// the action, such as measurements.
    pub async fn tool_result_with(
        &self,
        call: &str,
        changes: Changes,
    ) -> Result<NodeId, RecordError> {
        let round = self.round();
        let action = find_call(&round, call)
            .ok_or_else(|| RecordError::UnknownCall { call: call.into() })?
            .id;
        // The change would copy the graph if this snapshot were still held.
        drop(round);
        self.change(action, &changes).await?;
        Ok(action)
    }
}

fn recorded(round: &mut Round, step: Step, at: Timestamp) -> ChangeResult<StepNodes> {
    let mut changes = Vec::new();
    let nodes = record(round, step, at, &mut changes)?;
    Ok((nodes, Some(changes)))
}

fn check_branches(round: &Round, step: &Step) -> Result<(), RecordError> {
    let endpoints = round.endpoints().len();
    let one = !step.after.is_empty() || endpoints < 2 || step.calls.is_empty();
    if one || round.common_predecessor(round.endpoints()).is_some() {
        return Ok(());
    }
    Err(RecordError::ParallelBranches { endpoints })
}

pub(crate) fn record(
    round: &mut Round,
    step: Step,
    at: Timestamp,
    changes: &mut Vec<Change>,
) -> Result<StepNodes, TrajectoryError> {
    let after = if step.after.is_empty() { round.endpoints().collect() } else { step.after };
    let described = |mut node: NewNode| {
        if let Some(author) = &step.author {
            node = node.author(author.clone());
        }
        step.messages.iter().cloned().fold(node, NewNode::message)
    };
    let limit = limits::MAX_PREDECESSORS;
    if step.calls.len() > limit {
        return Err(TrajectoryError::TooMuch {
            quantity: "calls of a step",
            size: step.calls.len(),
            limit,
        });
    }
    if step.calls.is_empty() {
        let body = NodeBody::response(step.content.clone());
        let body = body.with("reasoning_content", &*step.reasoning)?;
        let node = described(NewNode::new(body, after)).measure(step.measures.clone());
        let (id, done) = round.add(node, at)?;
        changes.extend(done);
        return Ok(StepNodes::Response(id));
    }
    let body = NodeBody::state(step.content.clone()).with("reasoning_content", &*step.reasoning)?;
    // The predecessors may be a question and actions together, for which no edge name can be
    // inferred.
    let node = described(NewNode::new(body, after)).measure(step.measures.clone());
    let (state, done) = round.add(node.edge(edge::HAS_CONCLUSION), at)?;
    let mut added = vec![state];
    let mut all = done;
    for call in &step.calls {
        match add_call(round, call, state, added.len() == 1, step.author.as_ref(), at) {
            Ok((action, done)) => {
                added.push(action);
                all.extend(done);
            }
            Err(error) => {
                // Removed in reverse order, each node is a leaf, and the endpoints that it replaced
                // are restored.
                for node in added.into_iter().rev() {
                    round.remove(node, NodeRemoval::Leaf, at)?;
                }
                return Err(error);
            }
        }
    }
    changes.extend(all);
    Ok(StepNodes::Calls { state, actions: added.split_off(1) })
}

fn add_call(
    round: &mut Round,
    call: &StepCall,
    state: NodeId,
    first: bool,
    author: Option<&Arc<str>>,
    at: Timestamp,
) -> Result<(NodeId, Vec<Change>), TrajectoryError> {
    let mut body = NodeBody::action(call.name.clone(), call.params.clone());
    if let Some(error) = &call.invalid {
        body = body.with("output", Json::from(&**error))?;
    }
    let mut node =
        call.messages.iter().cloned().fold(NewNode::new(body, [state]), NewNode::message);
    if !call.id.is_empty() {
        node = node.label(free_label(round, &call.id));
    }
    if let Some(author) = author {
        node = node.author(author.clone());
    }
    round.add(if first { node } else { node.append() }, at)
}

fn titled(round: &Round, label: Arc<str>) -> Option<&Arc<TrajectoryNode>> {
    round.find(&NodeTitle { kind: TrajectoryNodeKind::Action, label })
}

/// Returns the labels that calls with one id get, in order.
fn labels(call: &str) -> impl Iterator<Item = Arc<str>> + '_ {
    let repeated = (2_u32..).map(move |number| format!("{call}{REPEATED}{number}").into());
    std::iter::once(call.into()).chain(repeated)
}

fn free_label(round: &Round, call: &str) -> Arc<str> {
    labels(call)
        .find(|label| titled(round, label.clone()).is_none())
        .expect("a round has fewer nodes than numbers")
}

pub(crate) fn find_call<'a>(round: &'a Round, call: &str) -> Option<&'a Arc<TrajectoryNode>> {
    labels(call).map_while(|label| titled(round, label)).last()
}
