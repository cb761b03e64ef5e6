//! Tools that return the recorded results.

use std::collections::{HashMap, VecDeque};
use std::fmt::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use context_core::Json;
use context_core::trajectory::{NodeId, TrajectoryNode};
use serde_json::Value;

use super::calls::{is_answered, json, success};
use super::divergence::{Divergence, DivergenceKind};
use super::steps::{RecordedStep, Replay};

/// The recorded result of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordedResult {
    /// The action.
    pub node: NodeId,
    /// The output.
    pub output: Json,
    /// Whether the call succeeded.
    pub success: bool,
}

/// Answers tool calls from a record, each recorded call once.
///
/// A call is matched by its id if tool and parameters equal the recorded ones; if several calls
/// share an id, the first unused one. Otherwise it is matched by tool and equal parameters, in
/// recorded order, so that loops with their own ids find their results too. Key order and white
/// space are ignored.
pub struct RecordedTools {
    calls: Vec<Call>,
    by_id: HashMap<String, Vec<usize>>,
    /// The calls by tool and equal parameters.
    alike: HashMap<(String, String), Vec<usize>>,
    left: Mutex<UnusedCalls>,
}

struct Call {
    step: usize,
    action: Arc<TrajectoryNode>,
    kind: (String, String),
}

/// The calls that were not requested yet.
struct UnusedCalls {
    by_id: HashMap<(String, String, String), VecDeque<usize>>,
    alike: HashMap<(String, String), VecDeque<usize>>,
    used: Vec<bool>,
}

impl RecordedTools {
    /// Creates tools with the calls of a replay.
    pub fn new(replay: &Replay) -> Self {
        let mut calls = Vec::new();
        let mut by_id: HashMap<String, Vec<usize>> = HashMap::new();
        let mut alike: HashMap<(String, String), Vec<usize>> = HashMap::new();
        let mut exact: HashMap<(String, String, String), VecDeque<usize>> = HashMap::new();
        for (step, action) in actions(replay) {
            let tool = action.body.text("action").to_owned();
            let kind = (tool, canonical(&json(action, "params")));
            let id = replay.call_id(action);
            let at = calls.len();
            exact.entry((id.clone(), kind.0.clone(), kind.1.clone())).or_default().push_back(at);
            by_id.entry(id).or_default().push(at);
            alike.entry(kind.clone()).or_default().push(at);
            calls.push(Call { step, action: action.clone(), kind });
        }
        let queues =
            alike.iter().map(|(kind, calls)| (kind.clone(), calls.iter().copied().collect()));
        let left =
            UnusedCalls { by_id: exact, alike: queues.collect(), used: vec![false; calls.len()] };
        Self { calls, by_id, alike, left: Mutex::new(left) }
    }

    /// Returns the recorded result of a call.
    pub fn answer(
        &self,
        call: &str,
        tool: &str,
        params: &Json,
    ) -> Result<RecordedResult, Divergence> {
        let kind = (tool.to_owned(), canonical(params));
        let exact = (call.to_owned(), kind.0.clone(), kind.1.clone());
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let UnusedCalls { by_id, alike, used } = &mut *left;
        let first = |queue: Option<&mut VecDeque<usize>>, used: &[bool]| {
            let queue = queue?;
            while let Some(at) = queue.pop_front() {
                if !used[at] {
                    return Some(at);
                }
            }
            None
        };
        let found =
            first(by_id.get_mut(&exact), used).or_else(|| first(alike.get_mut(&kind), used));
        let Some(at) = found else {
            drop(left);
            return Err(self.miss(call, &kind));
        };
        used[at] = true;
        drop(left);
        let Call { step, action, .. } = &self.calls[at];
        if !is_answered(action) {
            let kind = DivergenceKind::Unanswered { call: call.to_owned() };
            return Err(Divergence { step: Some(*step), node: Some(action.id), kind });
        }
        Ok(RecordedResult {
            node: action.id,
            output: json(action, "output"),
            success: success(action),
        })
    }

    /// Returns the calls that were not repeated, in recorded order.
    pub fn unused(&self) -> Vec<Arc<TrajectoryNode>> {
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let calls = self.calls.iter().zip(&left.used);
        calls.filter(|(_, used)| !**used).map(|(call, _)| call.action.clone()).collect()
    }

    fn miss(&self, call: &str, kind: &(String, String)) -> Divergence {
        let (id, tool) = (call.to_owned(), kind.0.clone());
        let place = |calls: Option<&Vec<usize>>| {
            calls.and_then(|calls| calls.last()).map(|at| &self.calls[*at])
        };
        let (at, kind) = if let Some(at) = place(self.alike.get(kind)) {
            (Some(at), DivergenceKind::RepeatedCall { call: id, tool })
        } else if let Some(at) = place(self.by_id.get(call)).filter(|known| known.kind != *kind) {
            (Some(at), DivergenceKind::OtherCall { call: id })
        } else {
            (None, DivergenceKind::UnknownCall { call: id, tool })
        };
        Divergence { step: at.map(|at| at.step), node: at.map(|at| at.action.id), kind }
    }
}

impl fmt::Debug for RecordedTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("RecordedTools");
        shown.field("calls", &self.calls.len()).field("unused", &self.unused().len()).finish()
    }
}

fn actions(replay: &Replay) -> impl Iterator<Item = (usize, &Arc<TrajectoryNode>)> {
    replay.steps().iter().enumerate().flat_map(|(step, it)| {
        let calls = match it {
            RecordedStep::Calls { calls, .. } => calls.as_slice(),
            _ => &[],
        };
        calls.iter().map(move |action| (step, action))
    })
}

/// Returns a canonical text that is equal for equal JSON in any key order. JSON that is nested too
/// deep for the parser is compared as written.
fn canonical(json: &Json) -> String {
    let mut out = String::new();
    match json.parse::<Value>() {
        Ok(value) => write_sorted(&value, &mut out),
        Err(_) => out.push_str(json.compact().as_str()),
    }
    out
}

/// Appends a value with sorted keys. The recursion is bounded by the depth limit of the parser.
fn write_sorted(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| key.as_str());
            out.push('{');
            for (key, value) in entries {
                // Appends a number. Writing to a string cannot fail.
                let _ = write!(out, "{key:?}:");
                write_sorted(value, out);
                out.push(',');
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for item in items {
                write_sorted(item, out);
                out.push(',');
            }
            out.push(']');
        }
        plain => {
            let _ = write!(out, "{plain}");
        }
    }
}
