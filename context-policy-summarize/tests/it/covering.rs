//! Tests of the messages that a checkpoint covers.

use context_conformance::policy::QuarterCounter;
use context_core::history::{Goal, HistoryView, Proposal};
use context_core::message::Reasoning;
use context_core::model::{Budget, TokenCounter};
use context_core::{Message, Part, Role};
use context_policy_summarize::{Summarize, SummaryCheckpoint};
use serde_json::json;

use crate::fixture::{
    accept, assistant, call, compacted, goal, history, plan, result, shown, stand_in, steps, task,
    user,
};

fn tokens(messages: &crate::fixture::MessageList) -> u64 {
    QuarterCounter.count_messages(messages).tokens()
}

#[test]
fn a_history_that_is_small_enough_is_left_alone() {
    let messages = history(steps("look", 10, 400));
    assert!(matches!(
        plan(&Summarize::new(), &messages, &goal(tokens(&messages))),
        Proposal::Nothing { .. }
    ));
    assert!(matches!(plan(&Summarize::new(), &history([]), &goal(0)), Proposal::Nothing { .. }));
    let alone = history([user("huge ".repeat(50_000))]);
    assert!(matches!(plan(&Summarize::new(), &alone, &goal(1_000)), Proposal::Nothing { .. }));
}

#[test]
fn the_order_is_checkpoint_first_request_newest_request_newest_steps() {
    let mut talk = steps("the task", 30, 4_000);
    talk.push(assistant("half of it is done"));
    talk.extend(steps("go on", 20, 4_000));
    let messages = history(talk);
    let after = compacted(&Summarize::new(), &messages, &goal(12_000));

    assert!(after[0].is_checkpoint() && after[0].is_synthetic() && after[0].role == Role::User);
    assert_eq!(after[1].plain_text(), "the task");
    assert_eq!(after[2].plain_text(), "go on");
    assert_eq!(after[3..], messages[messages.len() - (after.len() - 3)..]);
    assert_eq!(after[3].role, Role::Assistant);
    assert!(after.len() > 6, "only {} messages stay", after.len());
    assert!(tokens(&after) <= 12_000);
}

#[test]
fn once_is_enough() {
    let mut talk = steps("the task", 30, 4_000);
    talk.extend(steps("go on", 20, 4_000));
    for target in [0, 3_000, 12_000, 40_000] {
        let after = compacted(&Summarize::new(), &history(talk.clone()), &goal(target));
        let again = plan(&Summarize::new(), &after, &goal(target));
        assert!(matches!(again, Proposal::Nothing { .. }), "{target}: {again:?}");
    }
}

/// An agent writes its to-do list in the first turn. If that call were protected, no cut could
/// follow it, and nothing could be summarised for the rest of the session.
#[test]
fn an_early_call_that_matters_holds_nothing_up() {
    let mut talk = vec![
        user("the task"),
        call("t", "TodoWrite", json!({ "todos": ["find the fault", "mend it"] })),
        result("t", "written"),
    ];
    talk.extend(steps("go on", 40, 4_000));
    let messages = history(talk);
    let task = task(&Summarize::new(), &messages, &goal(10_000));
    assert!(task.covers.end > 20);
    let after = accept(&Summarize::new(), &messages, &task, &stand_in(&task)).unwrap().messages;
    let checkpoint = SummaryCheckpoint::read(&after[0]).unwrap();
    assert_eq!(checkpoint.facts.todo.as_deref(), Some(r#"{"todos":["find the fault","mend it"]}"#));
    assert!(after[0].plain_text().contains("mend it"));
}

#[test]
fn what_comes_while_the_model_writes_stays() {
    let messages = history(steps("the task", 40, 4_000));
    let task = task(&Summarize::new(), &messages, &goal(10_000));
    let mut longer = messages.clone();
    longer.extend(history([assistant("done"), user("and now this")]));
    let after = accept(&Summarize::new(), &longer, &task, &stand_in(&task)).unwrap();
    assert_eq!(after.messages.last().unwrap().plain_text(), "and now this");
    assert_eq!(after.origins.last(), Some(&Some(longer.len() - 1)));
    assert!(after.messages.len() < messages.len());
}

#[test]
fn a_large_first_request_is_shortened_inside() {
    let mut talk = vec![user(format!("do this: {} and that", "data ".repeat(20_000)))];
    talk.extend(steps("go on", 40, 4_000));
    let messages = history(talk);
    let after = compacted(&Summarize::new(), &messages, &goal(20_000));
    let first = &after[1];
    assert!(first.is_request());
    let text = first.plain_text();
    assert!(text.starts_with("do this: data") && text.ends_with("and that"));
    assert!(text.contains("bytes left out"));
    assert!(QuarterCounter.count_message(first).tokens() <= 4_000);
}

#[test]
fn what_the_system_says_in_front_stays() {
    let mut talk = vec![Message::text(Role::System, "You mend programs.")];
    talk.extend(steps("the task", 40, 4_000));
    let messages = history(talk);
    let task = task(&Summarize::new(), &messages, &goal(10_000));
    assert!(!shown(&task).contains("You mend programs."));
    let after = accept(&Summarize::new(), &messages, &task, &stand_in(&task)).unwrap().messages;
    assert_eq!(
        after[0], messages[0],
        "a system message behind others would be none to some providers"
    );
    assert!(after[1].is_checkpoint());
    assert_eq!(after[2], messages[1]);
}

#[test]
fn the_newest_messages_stay_within_the_window_even_beyond_the_goal() {
    let messages = history(steps("the task", 40, 4_000));
    let kept =
        |policy: &Summarize, goal: &Goal| messages.len() - task(policy, &messages, goal).covers.end;
    assert_eq!(kept(&Summarize::new(), &goal(0)), 4, "three messages, and groups are whole");
    assert_eq!(kept(&Summarize::new().keep_latest(10), &goal(0)), 10);
    let narrow = Goal::new(Budget::new(3_000, 500), 0, 0);
    assert_eq!(kept(&Summarize::new().window(8_000).keep_latest(10), &narrow), 4);
}

fn thinking(provider: &str, signature: Option<&str>, text: &str, then: &str) -> Message {
    let thought = Reasoning {
        text: text.into(),
        signature: signature.map(Into::into),
        provider: Some(provider.into()),
        ..Reasoning::default()
    };
    Message::new(Role::Assistant, [Part::Reasoning(thought), Part::text(then)])
}

#[test]
fn signed_thoughts_of_turns_that_are_over_go_those_of_the_running_turn_stay() {
    let mut talk = steps("the task", 40, 4_000);
    talk.extend([
        user("second"),
        thinking("anthropic", Some("sig"), "hm", "two"),
        thinking("anthropic", None, "redacted with it", "two and a half"),
        user("third"),
        thinking("deepseek", None, "unsigned", "three"),
        user("fourth"),
        thinking("anthropic", Some("sig"), "ah", "four"),
    ]);
    let messages = history(talk);
    let after = compacted(&Summarize::new(), &messages, &goal(10_000));
    let thoughts = |text: &str| {
        let message = after.iter().find(|message| message.plain_text() == text).unwrap();
        message.parts.iter().filter(|part| matches!(part, Part::Reasoning(_))).count()
    };
    assert_eq!(["two", "two and a half", "three", "four"].map(thoughts), [0, 0, 1, 1]);
}

#[test]
fn a_message_that_was_nothing_but_a_signed_thought_goes() {
    let thought = Reasoning {
        text: "hm".into(),
        signature: Some("sig".into()),
        provider: Some("anthropic".into()),
        ..Reasoning::default()
    };
    let mut talk = steps("the task", 40, 4_000);
    talk.extend([
        user("second"),
        Message::new(Role::Assistant, [Part::Reasoning(thought)]),
        assistant("two"),
        user("third"),
        assistant("three"),
    ]);
    let after = compacted(&Summarize::new(), &history(talk), &goal(10_000));
    let last: Vec<_> =
        after[after.len() - 4..].iter().map(|message| message.plain_text()).collect();
    assert_eq!(last, ["second", "two", "third", "three"]);
}

/// A long-running tool: its result comes after other messages. No cut may separate call and result.
#[test]
fn a_call_is_not_parted_from_a_late_result() {
    let mut talk = steps("the task", 30, 4_000);
    talk.push(call("slow", "build", json!({})));
    talk.extend(steps("meanwhile", 6, 4_000));
    talk.push(result("slow", "built"));
    let messages = history(talk);
    let task = task(&Summarize::new(), &messages, &goal(2_500));
    let slow = messages.len() - 15;
    assert!(matches!(&messages[slow].parts[0], Part::ToolCall(call) if call.id == "slow"));
    assert_eq!(task.covers.end, slow);
    assert!(accept(&Summarize::new(), &messages, &task, &stand_in(&task)).is_ok());
}

#[test]
fn the_first_request_stays_where_it_is_through_compactions() {
    let policy = Summarize::new();
    let mut messages = history(steps("the task", 40, 4_000));
    for round in 0..4 {
        messages = compacted(&policy, &messages, &goal(10_000));
        let checkpoints = messages.iter().filter(|message| message.is_checkpoint()).count();
        assert_eq!((checkpoints, messages[0].is_checkpoint()), (1, true));
        assert_eq!(messages[1].plain_text(), "the task");
        let checkpoint = SummaryCheckpoint::read(&messages[0]).unwrap();
        assert!(
            checkpoint.summary.contains("asked: the task"),
            "what was known first is still there"
        );
        messages.extend(history(steps(&format!("turn {round}"), 20, 4_000)));
    }
}

#[test]
fn a_checkpoint_counts_what_the_ones_before_it_stood_for() {
    let policy = Summarize::new();
    let first = compacted(&policy, &history(steps("the task", 40, 4_000)), &goal(10_000));
    let counted = SummaryCheckpoint::read(&first[0]).unwrap();
    let mut longer = first.clone();
    longer.extend(history(steps("go on", 40, 4_000)));
    let task = task(&policy, &longer, &goal(10_000));
    assert_eq!(task.keeps, [1, first.len()]);
    let after = accept(&policy, &longer, &task, &stand_in(&task)).unwrap();
    let both = SummaryCheckpoint::read(&after.messages[0]).unwrap();
    let new = task.covers.len() as u64 - 3;
    assert_eq!(both.messages, counted.messages + new);
    assert!(both.tokens > counted.tokens);
    assert_eq!(after.origins[0], None, "a new message, not the old one shortened");
    let view = HistoryView::new(&longer, &QuarterCounter);
    assert_eq!(
        task.tokens,
        view.tokens_of(task.covers.clone()) - view.tokens(1) - view.tokens(first.len())
    );
}
