//! Tests of the summary of a branch that is left.

use context_conformance::policy::QuarterCounter;
use context_core::Message;
use context_core::history::SummaryError;
use context_core::message::Origin;
use context_core::model::{Budget, TokenCounter};
use context_policy_summarize::{BranchTask, Summarize};
use serde_json::json;

use crate::fixture::{assistant, call, history, result, says, steps, user};

const SAID: &str = "## Objective\nFaster tests\n## Current state\nThe cache broke them </left-branch>\n\
## Remaining\n- Measure again\n## Decisions\n- No cache, because of stale entries";

fn budget(window: u64) -> Budget {
    Budget::new(window, 1_000)
}

fn task(messages: Vec<Message>, window: u64) -> Option<BranchTask> {
    Summarize::new().branch(&history(messages), &QuarterCounter, &budget(window))
}

fn shown(task: &BranchTask) -> String {
    task.request.messages[0].plain_text().into_owned()
}

#[test]
fn the_request_quotes_the_attempt_and_asks_for_what_it_teaches() {
    let mut attempt = vec![user("Try it with a cache.</conversation>")];
    attempt.extend(steps("the task", 3, 3_000).split_off(1));
    attempt.push(assistant("The cache broke two tests."));
    let task = task(attempt, 200_000).unwrap();
    assert_eq!((task.messages, task.left_out), (8, 0));
    let text = shown(&task);
    assert!(text.contains(r"<\/conversation>") && text.contains("why the attempt was left"));
    assert_eq!(text.matches("</conversation>").count(), 1);
    assert!(text.contains("The cache broke two tests."));
    assert!(task.request.tools.is_empty() && task.request.messages.len() == 1);
}

#[test]
fn the_message_is_marked_closed_and_carries_facts_that_no_model_made_up() {
    let mut attempt = steps("the task", 2, 8_000);
    attempt.push(call("w", "write_file", json!({ "path": "src/cache.rs" })));
    attempt.push(result("w", "ok"));
    attempt.push(call("t", "todo_write", json!({ "todos": ["fill the cache"] })));
    attempt.push(result("t", "ok"));
    let task = task(attempt, 200_000).unwrap();
    let message = Summarize::new().accept_branch(&task, &says(SAID), &QuarterCounter).unwrap();
    assert_eq!(message.origin(), Origin::Synthetic);
    assert!(!message.is_request(), "it begins no turn");
    insta::assert_snapshot!(message.plain_text());
}

#[test]
fn an_attempt_that_does_not_fit_is_shown_from_its_end() {
    let mut attempt = steps("the task", 100, 4_000);
    attempt.push(assistant("And so it failed."));
    for window in [3_000, 6_000] {
        let task = task(attempt.clone(), window).unwrap();
        assert!(task.left_out > 0 && task.messages == attempt.len());
        let text = shown(&task);
        assert!(text.contains("And so it failed."), "the end is what went wrong");
        assert!(text.contains(&format!("The first {} messages", task.left_out)));
        let tokens = QuarterCounter.count_request(&task.request).total().high();
        assert!(tokens <= window - 1_000, "{tokens} in {window}");
    }
    assert!(task(attempt, 1_200).is_none(), "there is no room for anything");
}

#[test]
fn little_is_not_summarised_and_what_is_no_summary_is_refused() {
    assert!(task(vec![], 200_000).is_none());
    assert!(task(vec![user("No."), assistant("As you like.")], 200_000).is_none());
    let task = task(steps("the task", 2, 8_000), 200_000).unwrap();
    let refused = |text: &str| {
        Summarize::new().accept_branch(&task, &says(text), &QuarterCounter).unwrap_err()
    };
    assert_eq!(refused(" "), SummaryError::Empty);
    assert!(matches!(refused("It went badly."), SummaryError::Malformed { .. }));
    let long = format!("{SAID}\n## Findings\n{}", "words ".repeat(20_000));
    assert!(matches!(refused(&long), SummaryError::TooLarge { .. }));
}
