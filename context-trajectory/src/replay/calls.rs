//! Actions as tool calls and results.

use context_core::message::ToolInput;
use context_core::trajectory::{FieldValue, NodeTitle, Round, TrajectoryNode, TrajectoryNodeKind};
use context_core::{Json, Part, ToolCall, ToolResult};

use crate::step::REPEATED;

/// Returns the id with which a call was made: the action's label without the suffix of repeated
/// ids.
pub(super) fn call_id(round: Option<&Round>, action: &TrajectoryNode) -> String {
    let base = action.label.rsplit_once(REPEATED).filter(|(base, number)| {
        let title = NodeTitle { kind: TrajectoryNodeKind::Action, label: (*base).into() };
        let counted =
            number.parse().is_ok_and(|count: u32| count >= 2 && count.to_string() == *number);
        counted && round.is_some_and(|round| round.find(&title).is_some())
    });
    base.map_or(&*action.label, |(base, _)| base).to_owned()
}

/// Returns a field of an action as JSON.
pub(super) fn json(action: &TrajectoryNode, field: &str) -> Json {
    action.body.get(field).map_or_else(|| serde_json::Value::Null.into(), FieldValue::to_json)
}

pub(super) fn success(action: &TrajectoryNode) -> bool {
    action.body.get("success") == Some(&FieldValue::Flag(true))
}

/// Returns whether a result is recorded. A failed result whose text equals the placeholder for a
/// pending one cannot be told from a missing one.
pub(super) fn is_answered(action: &TrajectoryNode) -> bool {
    success(action) || json(action, "output").as_str() != "\"Pending\""
}

/// Returns the call as the model made it.
pub(super) fn call(id: &str, action: &TrajectoryNode) -> Part {
    let params = json(action, "params");
    // Parameters are objects. A string stands for parameters that could not be parsed.
    let input = match params.to_text() {
        Some(written) => ToolInput::Invalid(written),
        None => ToolInput::Json(params),
    };
    let name = action.body.text("action").to_owned();
    Part::ToolCall(ToolCall { id: id.to_owned(), name, input, metadata: Default::default() })
}

/// Returns the result as the model read it: a string as it is, any other value as JSON.
pub(super) fn result(id: &str, action: &TrajectoryNode) -> Part {
    Part::ToolResult(ToolResult {
        call_id: id.to_owned(),
        name: Some(action.body.text("action").to_owned()),
        output: vec![Part::text(output_text(action))],
        is_error: !success(action),
        metadata: Default::default(),
    })
}

pub(super) fn output_text(action: &TrajectoryNode) -> String {
    let output = json(action, "output");
    output.to_text().unwrap_or_else(|| output.as_str().to_owned())
}
