//! Contract tests of the policy, and an example of its effect.

use std::sync::Arc;

use context_conformance::histories::TOOLS;
use context_conformance::policy::{QuarterCounter, assert_policy_conforms};
use context_core::history::{Goal, HistoryView, Plan};
use context_core::model::Budget;
use context_core::{CompactionPolicy, Message, Part, Role};
use custom_policy::Superseded;
use serde_json::json;

#[test]
fn it_keeps_the_contract() {
    let asked = assert_policy_conforms(&Superseded::by(TOOLS));
    assert!(asked.plans > 0, "the conversations of the kit gave it something to do: {asked:?}");
}

/// Returns a step of an agent: a call that reads a file, and its result.
fn step(id: &str, path: &str, content: &str) -> [Arc<Message>; 2] {
    let call = Part::tool_call(id, "read_file", json!({ "path": path }));
    let result = Part::tool_result(id, content);
    [Message::new(Role::Assistant, [call]), Message::new(Role::Tool, [result])].map(Arc::new)
}

fn plan(messages: &[Arc<Message>]) -> Option<Plan> {
    let goal = Goal::new(Budget::new(200_000, 8_000), 0, 0);
    Superseded::by(["read_file"])
        .plan(&HistoryView::new(messages, &QuarterCounter), &goal)
        .into_plan()
}

fn texts(messages: &[Arc<Message>]) -> Vec<String> {
    let results = messages.iter().filter(|message| message.role == Role::Tool);
    results.map(|message| message.readable_text()).collect()
}

#[test]
fn the_newest_result_of_equal_calls_stays() {
    let [old, other, new] =
        ["fn old() {}\n", "fn other() {}\n", "fn new() {}\n"].map(|line| line.repeat(20));
    let mut messages = vec![Arc::new(Message::from("Rename it."))];
    for (id, path, content) in [("a", "a.rs", &old), ("b", "b.rs", &other), ("c", "a.rs", &new)] {
        messages.extend(step(id, path, content));
    }
    let plan = plan(&messages).expect("a.rs was read twice");
    assert_eq!(plan.description, "1 results superseded");
    let left = plan.apply(&messages).expect("a plan for these messages").messages;
    let shown = texts(&left);
    assert!(
        shown[0].contains("[superseded: read_file was called again with this input]"),
        "{shown:?}"
    );
    assert!(shown[1].contains("fn other") && shown[2].contains("fn new"), "{shown:?}");
    assert_eq!(self::plan(&left), None, "there is nothing more to do");
}

#[test]
fn a_call_that_failed_supersedes_nothing() {
    let content = "fn main() {}\n".repeat(20);
    let mut messages = vec![Arc::new(Message::from("Go on."))];
    messages.extend(step("a", "a.rs", &content));
    let [call, failed] = step("b", "a.rs", "no such file");
    let mut failed = Message::clone(&failed);
    for part in &mut failed.parts {
        if let Part::ToolResult(result) = part {
            result.is_error = true;
        }
    }
    messages.extend([call, Arc::new(failed)]);
    assert_eq!(plan(&messages), None);
}
