//! Helpers of the tests: histories, goals, a model that needs no network.

use std::sync::Arc;

use context_conformance::policy::QuarterCounter;
use context_core::history::{
    Goal, HistoryRewrite, HistoryView, Proposal, SummaryError, SummaryTask,
};
use context_core::model::Budget;
use context_core::{Answer, CompactionPolicy, JsonString, Message, Part, Role};
use context_policy_summarize::Summarize;
use serde_json::json;

pub(crate) type MessageList = Vec<Arc<Message>>;

/// Returns a goal of `target` tokens, in a window large enough not to matter.
pub(crate) fn goal(target: u64) -> Goal {
    Goal::new(Budget::new(200_000, 8_000), 0, target)
}

pub(crate) fn user(text: impl Into<JsonString>) -> Message {
    Message::text(Role::User, text)
}

pub(crate) fn assistant(text: impl Into<JsonString>) -> Message {
    Message::text(Role::Assistant, text)
}

pub(crate) fn call(id: &str, tool: &str, input: serde_json::Value) -> Message {
    Message::new(Role::Assistant, [Part::tool_call(id, tool, input)])
}

pub(crate) fn result(id: &str, text: impl Into<JsonString>) -> Message {
    Message::new(Role::Tool, [Part::tool_result(id, text)])
}

pub(crate) fn history(messages: impl IntoIterator<Item = Message>) -> MessageList {
    messages.into_iter().map(Arc::new).collect()
}

/// Returns a request and `count` tool steps, each with a result of `bytes` bytes.
pub(crate) fn steps(request: &str, count: usize, bytes: usize) -> Vec<Message> {
    let mut messages = vec![user(request)];
    for step in 0..count {
        let id = format!("{request}-{step}");
        messages.push(call(&id, "read_file", json!({ "path": format!("src/part{step}.rs") })));
        messages.push(result(&id, format!("line of part {step}. ").repeat(bytes / 18 + 1)));
    }
    messages
}

pub(crate) fn plan(policy: &Summarize, messages: &[Arc<Message>], goal: &Goal) -> Proposal {
    policy.plan(&HistoryView::new(messages, &QuarterCounter), goal)
}

/// Returns the summary task, which must be proposed.
pub(crate) fn task(policy: &Summarize, messages: &[Arc<Message>], goal: &Goal) -> SummaryTask {
    match plan(policy, messages, goal) {
        Proposal::Summary(task) => *task,
        other => panic!("no summary: {other:?}"),
    }
}

pub(crate) fn accept(
    policy: &Summarize,
    messages: &[Arc<Message>],
    task: &SummaryTask,
    answer: &Answer,
) -> Result<HistoryRewrite, SummaryError> {
    let plan = policy.accept(&HistoryView::new(messages, &QuarterCounter), task, answer)?;
    Ok(plan.apply(messages)?)
}

pub(crate) fn says(text: impl Into<JsonString>) -> Answer {
    Answer::new(assistant(text))
}

/// Returns the messages after a summary by [`stand_in`].
pub(crate) fn compacted(policy: &Summarize, messages: &[Arc<Message>], goal: &Goal) -> MessageList {
    let task = task(policy, messages, goal);
    accept(policy, messages, &task, &stand_in(&task)).unwrap().messages.to_vec()
}

/// Returns the text that the model is shown: the one message of a request.
pub(crate) fn shown(task: &SummaryTask) -> String {
    assert_eq!(task.request.messages.len(), 1);
    task.request.messages[0].plain_text().into_owned()
}

/// A model that needs no network: it continues the summary so far, and adds the first words of each
/// user message.
pub(crate) fn stand_in(task: &SummaryTask) -> Answer {
    let shown = shown(task);
    let so_far = between(&shown, "<summary-so-far>\n", "\n</summary-so-far>").unwrap_or_default();
    let findings = so_far.split("## Findings\n").nth(1).unwrap_or_default();
    let asked: Vec<&str> = shown
        .split("<message from=\"user\"")
        .skip(1)
        .filter_map(|message| message.split_once(">\n"))
        .map(|(_, text)| text.lines().next().unwrap_or_default())
        .map(|line| line.get(..40).unwrap_or(line))
        .collect();
    let findings = format!("{findings}\nasked: {}", asked.join("; "));
    let findings = findings.get(..400).unwrap_or(&findings).trim().to_owned();
    says(format!(
        "## Objective\nAs asked.\n## Current state\nUnder way.\n## Remaining\nThe rest.\n\
         ## Files and artifacts\nNone\n## Findings\n{findings}"
    ))
}

pub(crate) fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    let text = &text[text.find(start)? + start.len()..];
    Some(&text[..text.find(end)?])
}

/// A summary with every core heading.
pub(crate) const WHOLE: &str =
    "## Objective\nx\n## Current state\nx\n## Remaining\nx\n## Files and artifacts\nx";
