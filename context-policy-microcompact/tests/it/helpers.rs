//! Conversations with results.

use std::sync::Arc;

use context_core::history::{Goal, HistoryView, Plan, Proposal};
use context_core::message::{Media, MediaSource};
use context_core::model::{Budget, TokenCounter};
use context_core::{CompactionPolicy, Message, Metadata, Part, Role, ToolResult};
use context_tokens::{ModelCounter, ModelTable};
use serde_json::json;

pub(crate) type MessageList = Vec<Arc<Message>>;

/// Returns a long text of 2,001 tokens.
pub(crate) fn long() -> String {
    "alpha beta gamma delta. ".repeat(400)
}

/// Returns a counter with a published vocabulary.
pub(crate) fn counter() -> ModelCounter {
    ModelTable::builtin().model("gpt-4o").counter()
}

pub(crate) fn result(id: &str, output: Vec<Part>) -> ToolResult {
    ToolResult {
        call_id: id.into(),
        name: None,
        output,
        is_error: false,
        metadata: Metadata::default(),
    }
}

/// Returns a call and its result.
pub(crate) fn step(id: &str, tool: &str, output: Vec<Part>) -> [Message; 2] {
    [
        Message::new(Role::Assistant, [Part::tool_call(id, tool, json!({"path": "a.rs"}))]),
        Message::new(Role::Tool, [Part::ToolResult(result(id, output))]),
    ]
}

/// Returns a request and `count` calls with long results.
pub(crate) fn steps(count: usize, tool: &str) -> MessageList {
    let steps = (0..count).flat_map(|n| step(&format!("c{n}"), tool, vec![Part::text(long())]));
    history([Message::from("q")].into_iter().chain(steps))
}

pub(crate) fn history(messages: impl IntoIterator<Item = Message>) -> MessageList {
    messages.into_iter().map(Arc::new).collect()
}

pub(crate) fn image() -> Part {
    let source = MediaSource::Base64("A".repeat(40_000).into());
    Part::Image(Media {
        source,
        media_type: Some("image/png".into()),
        name: None,
        metadata: Metadata::default(),
    })
}

/// Returns the goal of `tokens` tokens of history.
pub(crate) fn goal(tokens: u64) -> Goal {
    Goal::new(Budget::new(200_000, 8_000), 0, tokens)
}

pub(crate) fn proposal(policy: &dyn CompactionPolicy, messages: &[Arc<Message>]) -> Proposal {
    policy.plan(&HistoryView::new(messages, &counter()), &goal(1_000))
}

pub(crate) fn plan(policy: &dyn CompactionPolicy, messages: &[Arc<Message>]) -> Plan {
    proposal(policy, messages).into_plan().unwrap()
}

pub(crate) fn left(policy: &dyn CompactionPolicy, messages: &[Arc<Message>]) -> MessageList {
    plan(policy, messages).apply(messages).unwrap().messages.to_vec()
}

/// Returns whether the policy proposes nothing.
pub(crate) fn is_nothing(policy: &dyn CompactionPolicy, messages: &[Arc<Message>]) -> bool {
    matches!(proposal(policy, messages), Proposal::Nothing { .. })
}

/// Returns the results, in order.
pub(crate) fn results(messages: &[Arc<Message>]) -> Vec<&ToolResult> {
    let parts = messages.iter().flat_map(|message| &message.parts);
    let results = parts.filter_map(|part| match part {
        Part::ToolResult(result) => Some(result),
        _ => None,
    });
    results.collect()
}

/// Returns the text of a result.
pub(crate) fn text(result: &ToolResult) -> String {
    Message::new(Role::Tool, result.output.clone()).plain_text().into_owned()
}

/// Returns the ids of results that have changed.
pub(crate) fn changed(before: &[Arc<Message>], after: &[Arc<Message>]) -> Vec<String> {
    let pairs = results(before).into_iter().zip(results(after));
    pairs
        .filter(|(before, after)| before != after)
        .map(|(before, _)| before.call_id.clone())
        .collect()
}

pub(crate) fn tokens(result: &ToolResult) -> u64 {
    counter().count(&text(result)).tokens()
}
