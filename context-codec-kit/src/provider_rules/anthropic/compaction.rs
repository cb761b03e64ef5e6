//! Compactions that a request asks for, and the signed blocks that they return.
//!
//! Source: the guide *Compaction on demand* of the provider, October 2026.

use serde_json::Value;

use super::super::Rule;
use super::super::body_path::{BodyPath, Findings, items, kind, text};

/// Returns whether a body asks for a compaction instead of an answer.
pub(super) fn is_asked_for(body: &Value) -> bool {
    body.get("compaction").is_some_and(|asked| !asked.is_null())
}

pub(super) fn check(body: &Value, findings: &mut Findings) {
    let list = BodyPath::Body.key("messages");
    let mut signed = 0;
    for (i, message) in items(body.get("messages")).iter().enumerate() {
        let message_at = list.item(i);
        let content = message_at.key("content");
        for (j, block) in items(message.get("content")).iter().enumerate() {
            let is_signed = text(block, "signature").is_some_and(|text| !text.is_empty());
            if kind(block) != "compaction" || !is_signed {
                continue;
            }
            let at = content.item(j);
            signed += 1;
            findings.ask(signed == 1, Rule::Duplicate, &at, "more than one compaction");
            let is_first = i == 0 && j == 0;
            findings.ask(is_first || signed > 1, Rule::Place, &at, "content before a compaction");
        }
    }
    if !is_asked_for(body) {
        return;
    }
    let is_set = |path: &str| body.pointer(path).is_some_and(|value| !value.is_null());
    let choice = body.pointer("/tool_choice/type").and_then(Value::as_str);
    let beside = [
        ("stop_sequences", !items(body.get("stop_sequences")).is_empty()),
        ("output_config", is_set("/output_config/format")),
        ("tool_choice", matches!(choice, Some("any" | "tool"))),
        ("context_management", is_set("/context_management")),
    ];
    for (key, _) in beside.into_iter().filter(|(_, stands)| *stands) {
        findings.add(Rule::Place, &BodyPath::Body.key(key), "not beside a compaction".to_owned());
    }
}
