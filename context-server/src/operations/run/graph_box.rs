//! The boxes and edges of a drawing.

use context_runtime::Json;
use serde::Serialize;

use super::{StepId, StepState};

/// The kind of a [`GraphBox`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum GraphBoxKind {
    /// A question, conclusion, action or answer.
    Step,
    /// Data.
    Data,
    /// The question of a sub-agent.
    Agent,
    /// The question of the round before or after.
    Round,
    /// Data that is not drawn.
    More,
}

/// A box of the drawing.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct GraphBox {
    /// The kind of the box.
    pub kind: GraphBoxKind,
    /// The step that it stands for.
    pub node: Option<StepId>,
    /// The kind of the node in lower case, or the name of a tool.
    pub name: String,
    /// The beginning of its content.
    pub text: String,
    /// The state.
    pub state: StepState,
    /// Whether it leads to no end of the round: a branch that was given up.
    pub dead: bool,
    /// The left side.
    pub x: usize,
    /// The top.
    pub y: usize,
    /// The width.
    pub width: usize,
    /// The height.
    pub height: usize,
    /// The parameters of an action.
    #[serde(skip)]
    pub params: Option<Json>,
}

/// A recorded edge of the drawing, between two boxes.
#[derive(Clone, Copy, Debug, Serialize)]
#[non_exhaustive]
pub struct GraphEdge {
    /// The box where it begins.
    pub from: usize,
    /// The box where it ends.
    pub to: usize,
    /// Whether it is a reference to data that was read.
    pub reference: bool,
    /// Whether both ends lead to no end of the round.
    pub dead: bool,
}

/// A round as a drawing.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct RunGraph {
    /// The agent of the round.
    pub agent: u32,
    /// The number of the round.
    pub round: u32,
    /// The width of the drawing.
    pub width: usize,
    /// The height of the drawing.
    pub height: usize,
    /// The boxes.
    pub boxes: Vec<GraphBox>,
    /// The edges.
    pub edges: Vec<GraphEdge>,
    /// The number of steps before those that are drawn.
    pub left_out_before: usize,
    /// The number of steps after them.
    pub left_out_after: usize,
}
