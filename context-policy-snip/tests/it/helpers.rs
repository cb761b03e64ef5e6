//! Conversations and goals.

use context_core::message::Origin;
use std::sync::Arc;

use context_conformance::policy::QuarterCounter;
use context_core::history::{Goal, HistoryView, Plan, Proposal};
use context_core::model::Budget;
use context_core::{CompactionPolicy, Message, Part, Role};
use serde_json::json;

pub(crate) type MessageList = Vec<Arc<Message>>;

/// Returns a request and an answer.
pub(crate) fn turn(n: usize) -> [Message; 2] {
    [
        Message::from(format!("q{n}")),
        Message::text(Role::Assistant, format!("a{n} {}", "word ".repeat(40))),
    ]
}

pub(crate) fn turns(count: usize) -> Vec<Message> {
    (0..count).flat_map(turn).collect()
}

/// Returns a call and its result.
pub(crate) fn step(id: &str, tool: &str) -> [Message; 2] {
    [
        Message::new(Role::Assistant, [Part::tool_call(id, tool, json!({}))]),
        Message::new(Role::Tool, [Part::tool_result(id, "word ".repeat(40))]),
    ]
}

pub(crate) fn checkpoint() -> Message {
    Message::from("So far.").with_origin(Origin::Checkpoint)
}

pub(crate) fn history(messages: impl IntoIterator<Item = Message>) -> MessageList {
    messages.into_iter().map(Arc::new).collect()
}

/// Returns the goal of `tokens` tokens of history.
pub(crate) fn goal(tokens: u64) -> Goal {
    Goal::new(Budget::new(200_000, 8_000), 500, 500 + tokens)
}

pub(crate) fn total(messages: &[Arc<Message>]) -> u64 {
    HistoryView::new(messages, &QuarterCounter).total()
}

pub(crate) fn proposal(
    policy: &dyn CompactionPolicy,
    messages: &[Arc<Message>],
    tokens: u64,
) -> Proposal {
    policy.plan(&HistoryView::new(messages, &QuarterCounter), &goal(tokens))
}

pub(crate) fn plan(policy: &dyn CompactionPolicy, messages: &[Arc<Message>], tokens: u64) -> Plan {
    proposal(policy, messages, tokens).into_plan().unwrap()
}

pub(crate) fn left(
    policy: &dyn CompactionPolicy,
    messages: &[Arc<Message>],
    tokens: u64,
) -> MessageList {
    plan(policy, messages, tokens).apply(messages).unwrap().messages.to_vec()
}

/// Returns the first word of each message, the ids of calls and results, or the whole text of a
/// gap.
pub(crate) fn shown(messages: &[Arc<Message>]) -> Vec<String> {
    let shown = |message: &Arc<Message>| match message.parts.first() {
        Some(Part::ToolCall(call)) => format!("call {}", call.id),
        Some(Part::ToolResult(result)) => format!("result {}", result.call_id),
        _ if message.is_synthetic() => message.plain_text().into_owned(),
        _ => message.plain_text().split(' ').next().unwrap_or_default().to_owned(),
    };
    messages.iter().map(shown).collect()
}
