//! A step as a line.

use std::sync::Arc;

use context_runtime::trajectory::{RoundState, TrajectoryNode, TrajectoryNodeKind};
use context_runtime::{Json, MessageId, Timestamp, display};
use serde::Serialize;

use super::StepId;

/// The longest text of a line, in characters.
const TEXT: usize = 160;
/// The output of an action that has no result yet.
const PENDING: &str = "\"Pending\"";

/// The state of a step, as far as it was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StepState {
    /// It ended well.
    Done,
    /// It failed.
    Failed,
    /// It may still be running.
    Open,
    /// Its round ended before it did.
    Interrupted,
    /// Nothing says how it ended.
    Unknown,
    /// It is data.
    Data,
}

impl StepState {
    /// Returns the name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Open => "open",
            Self::Interrupted => "interrupted",
            Self::Unknown => "unknown",
            Self::Data => "data",
        }
    }

    /// Returns the state of a node in a round with this state.
    pub(super) fn of(node: &TrajectoryNode, round: RoundState) -> Self {
        let failed = node.measures.as_ref().is_some_and(|measures| measures.error.is_some());
        let waiting = match round {
            RoundState::Open => Self::Open,
            RoundState::Interrupted => Self::Interrupted,
            _ => Self::Unknown,
        };
        match node.kind() {
            kind if !kind.is_computation() => Self::Data,
            _ if failed => Self::Failed,
            TrajectoryNodeKind::Action => {
                let flag = node.body.get("success").map(|flag| flag.to_json());
                let output = node.body.get("output").map(|output| output.to_json());
                if flag.is_some_and(|flag| flag.as_str() == "true") {
                    Self::Done
                } else if output.is_none_or(|output| output.as_str() == PENDING) {
                    waiting
                } else {
                    Self::Failed
                }
            }
            TrajectoryNodeKind::Query if round != RoundState::Closed => waiting,
            _ => Self::Done,
        }
    }
}

/// A step of a run, as a line of a list.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct RunLine {
    /// The number of the line, from 0.
    pub line: usize,
    /// The step.
    pub node: StepId,
    /// The kind of the node, in lower case.
    pub kind: &'static str,
    /// The tool of an action.
    pub tool: Option<Arc<str>>,
    /// The beginning of its content, on one line.
    pub text: String,
    /// Whether the text is a thought, because there is no other.
    pub thought: bool,
    /// The state.
    pub state: StepState,
    /// The short name of its error.
    pub error: Option<Arc<str>>,
    /// The author.
    pub author: Option<Arc<str>>,
    /// The depth: 0 for a question of the main agent.
    pub depth: u32,
    /// The model.
    pub model: Option<Arc<str>>,
    /// Input tokens, with those from the cache. `None` if they are not known.
    pub input_tokens: Option<u64>,
    /// Output tokens.
    pub output_tokens: Option<u64>,
    /// Input tokens that were read from the cache.
    pub cached_tokens: Option<u64>,
    /// The cost in US dollars.
    pub cost_usd: Option<f64>,
    /// The time from start to end in microseconds.
    pub duration: Option<i64>,
    /// The start time.
    pub started_at: Option<Timestamp>,
    /// The end time.
    pub ended_at: Option<Timestamp>,
    /// The place within the times of the block: where it begins and its length, from 0 to 1.
    /// `None` if no time was recorded.
    pub bar: Option<[f64; 2]>,
    /// The place in the order of the block, from 0 to 1.
    pub order: f64,
    /// The message of the chat that it stands for.
    pub message: Option<MessageId>,
    /// The parameters of an action.
    #[serde(skip)]
    pub params: Option<Json>,
}

impl RunLine {
    pub(super) fn of(node: &TrajectoryNode, agent: u32, depth: u32, round: RoundState) -> Self {
        let action = node.kind() == TrajectoryNodeKind::Action;
        let headline = node.body.headline();
        let thought = node.body.text("reasoning_content");
        let shown = if headline.trim().is_empty() { thought } else { headline };
        let params = action.then(|| node.body.get("params").map(|params| params.to_json()));
        let params = params.flatten();
        let text = match &params {
            Some(params) => display::preview(params.as_str(), TEXT),
            None if shown.trim().is_empty() => display::preview(&node.description, TEXT),
            None => display::preview(shown, TEXT),
        };
        let measures = node.measures.as_deref().cloned().unwrap_or_default();
        let duration = measures.started_at.zip(measures.ended_at);
        Self {
            line: 0,
            node: StepId::new(agent, node.id),
            kind: node.kind().lower(),
            tool: action.then(|| headline.into()),
            text,
            thought: !action && headline.trim().is_empty() && !thought.trim().is_empty(),
            state: StepState::of(node, round),
            error: measures.error,
            author: node.author.clone(),
            depth,
            model: measures.model,
            input_tokens: measures.input_tokens,
            output_tokens: measures.output_tokens,
            cached_tokens: measures.cache_read_tokens,
            cost_usd: measures.cost_usd,
            duration: duration.map(|(from, to)| to.as_micros().saturating_sub(from.as_micros())),
            started_at: measures.started_at,
            ended_at: measures.ended_at,
            bar: None,
            order: 0.0,
            message: None,
            params,
        }
    }
}

/// Names the calls of conclusions that say nothing else.
pub(super) fn name_calls(lines: &mut [RunLine]) {
    for at in 0..lines.len() {
        let line = &lines[at];
        if !line.text.is_empty() || !matches!(line.kind, "state" | "response") {
            continue;
        }
        let below = lines[at + 1..].iter().take_while(|below| below.depth > line.depth);
        let calls =
            below.filter(|it| it.depth == line.depth + 1 && it.node.agent == line.node.agent);
        let names: Vec<&str> = calls.filter_map(|it| it.tool.as_deref()).collect();
        if !names.is_empty() {
            lines[at].text = display::preview(&format!("calls {}", names.join(", ")), TEXT);
        }
    }
}

/// Sets the places of the lines of a block within its times and its order.
pub(super) fn place(lines: &mut [RunLine]) {
    let times = || lines.iter().flat_map(|line| [line.started_at, line.ended_at]).flatten();
    let span = times().min().zip(times().max());
    let last = lines.len().saturating_sub(1).max(1) as f64;
    for (at, line) in lines.iter_mut().enumerate() {
        line.order = at as f64 / last;
        let times = line.started_at.or(line.ended_at).zip(line.ended_at.or(line.started_at));
        let (Some((from, to)), Some((start, end))) = (times, span) else { continue };
        let whole = (end.as_micros().saturating_sub(start.as_micros()) as f64).max(1.0);
        let share = |micros: i64| (micros.max(0) as f64 / whole).clamp(0.0, 1.0);
        let left = share(from.as_micros().saturating_sub(start.as_micros()));
        line.bar = Some([left, share(to.as_micros().saturating_sub(from.as_micros()))]);
    }
}
