//! Hostile conversations.

use std::sync::Arc;

use context_core::{Message, Part, Role, ToolResult};
use serde_json::json;

use super::CompactionCase;
use crate::histories::MessageList;

type BuildMessages = fn() -> Vec<Message>;

/// The conversations with the names of their cases.
pub(super) const HISTORIES: [(&str, BuildMessages); 9] = [
    ("no_message", Vec::new),
    ("messages_without_parts", || {
        let roles = [Role::System, Role::User, Role::Assistant, Role::Tool];
        roles.into_iter().cycle().take(40).map(|role| Message::new(role, [])).collect()
    }),
    ("a_megabyte_in_each_role", || {
        let text = || "one two three. ".repeat((1 << 20) / 15);
        vec![
            Message::text(Role::System, text()),
            Message::from(text()),
            Message::new(
                Role::Assistant,
                [Part::tool_call("a", "read", json!({ "path": text() }))],
            ),
            Message::new(Role::Tool, [Part::tool_result("a", text())]),
            Message::text(Role::Assistant, text()),
            Message::from("go on"),
        ]
    }),
    ("a_megabyte_without_a_space", || {
        let mut history = vec![Message::from("ä".repeat(1 << 19))];
        history.extend(steps(20, |_| "漢".repeat(1 << 16)));
        history
    }),
    ("ten_thousand_messages", || {
        let mut history = vec![Message::from("begin")];
        history.extend(steps(5_000, |n| format!("result {n} ").repeat(30)));
        history
    }),
    ("nobody_asks", || steps(60, |n| "x".repeat(n * 100)).collect()),
    ("all_calls_have_one_id", || {
        let same = |message: Message| {
            let parts = message.parts.into_iter().map(|part| match part {
                Part::ToolCall(call) => {
                    Part::ToolCall(context_core::ToolCall { id: "c".into(), ..call })
                }
                Part::ToolResult(result) => {
                    Part::ToolResult(ToolResult { call_id: "c".into(), ..result })
                }
                other => other,
            });
            Message::new(message.role, parts)
        };
        let steps = steps(50, |n| "word ".repeat(n * 40)).map(same);
        [Message::from("begin")].into_iter().chain(steps).collect()
    }),
    ("results_within_results", || {
        let mut part = Part::text("deep ".repeat(4_000));
        for _ in 0..200 {
            let Part::ToolResult(mut result) = Part::tool_result("c0", "in ".repeat(100)) else {
                break;
            };
            result.output.push(part);
            part = Part::ToolResult(result);
        }
        let call = Message::new(Role::Assistant, [Part::tool_call("c0", "nest", json!({}))]);
        let mut history = vec![Message::from("begin"), call, Message::new(Role::Tool, [part])];
        history.extend(steps(20, |_| "short".into()));
        history
    }),
    ("everything_in_one_message", || {
        let calls = (0..500).map(|n| Part::tool_call(format!("c{n}"), "read", json!({})));
        let results = (0..500).map(|n| Part::tool_result(format!("c{n}"), "line\n".repeat(n * 10)));
        vec![
            Message::from("begin"),
            Message::new(Role::Assistant, calls),
            Message::new(Role::Tool, results),
            Message::from("go on"),
        ]
    }),
];

/// Returns the cases of a conversation, with the goals of half its tokens, none and all of them.
pub(super) fn cases(history: Vec<Message>) -> impl Iterator<Item = (u64, CompactionCase)> {
    let history: MessageList = history.into_iter().map(Arc::new).collect();
    let total = context_core::history::HistoryView::new(&history, &super::QuarterCounter).total();
    [total / 2, 0, u64::MAX]
        .into_iter()
        .map(move |goal| (goal, CompactionCase::new(history.clone(), goal)))
}

/// Returns this many calls with their results, with a user message after every tenth.
fn steps(count: usize, result: impl Fn(usize) -> String) -> impl Iterator<Item = Message> {
    (0..count).flat_map(move |n| {
        let call = Part::tool_call(format!("c{n}"), "read_file", json!({ "path": n }));
        let request = (n % 10 == 9 && n + 1 < count).then(|| Message::from(format!("request {n}")));
        [
            Message::new(Role::Assistant, [call]),
            Message::new(Role::Tool, [Part::tool_result(format!("c{n}"), result(n))]),
        ]
        .into_iter()
        .chain(request)
    })
}
