//! Tests of the selection of results.

use context_core::history::{CacheState, HistoryView, ToolNames};
use context_core::{CompactionPolicy, Message, Part, Role};
use context_policy_microcompact::{Microcompact, Tools};

use crate::helpers::{
    changed, counter, goal, history, is_nothing, left, long, result, step, steps,
};

#[test]
fn the_newest_four_stay() {
    assert!(is_nothing(&Microcompact::new(), &steps(4, "read_file")));
    let messages = steps(6, "read_file");
    assert_eq!(changed(&messages, &left(&Microcompact::new(), &messages)), ["c0", "c1"]);
    assert_eq!(
        changed(&messages, &left(&Microcompact::new().keep_results(2), &messages)),
        ["c0", "c1", "c2", "c3"]
    );
}

/// Even if no result is to be kept: the model has not seen these.
#[test]
fn what_the_model_has_not_answered_to_stays() {
    let messages = steps(3, "read_file");
    assert_eq!(
        changed(&messages, &left(&Microcompact::new().keep_results(0), &messages)),
        ["c0", "c1"]
    );
}

/// Some agents send each result of a round in a message of its own, and tools that the provider
/// runs have their results within the answer.
#[test]
fn what_the_model_has_not_answered_to_may_be_in_several_messages_or_in_its_own() {
    let policy = Microcompact::new().keep_results(0);
    let output = |id| Part::ToolResult(result(id, vec![Part::text(long())]));
    let call = |id| Part::tool_call(id, "bash", serde_json::json!({}));
    let apart = [
        Message::new(Role::Assistant, [call("a"), call("b")]),
        Message::new(Role::Tool, [output("a")]),
        Message::new(Role::Tool, [output("b")]),
    ];
    assert!(is_nothing(&policy, &history(apart.clone())));
    let within = [Message::new(Role::Assistant, [call("c"), output("c")])];
    let messages = history(apart.into_iter().chain(within));
    assert_eq!(changed(&messages, &left(&policy, &messages)), ["a", "b"]);
}

#[test]
fn parallel_results_count_each_or_by_message() {
    let calls = (0..4).map(|n| Part::tool_call(format!("p{n}"), "bash", serde_json::json!({})));
    let results =
        (0..4).map(|n| Part::ToolResult(result(&format!("p{n}"), vec![Part::text(long())])));
    let parallel = [Message::new(Role::Assistant, calls), Message::new(Role::Tool, results)];
    let messages = history(parallel.into_iter().chain(step("c", "bash", vec![Part::text("x")])));
    assert_eq!(changed(&messages, &left(&Microcompact::new(), &messages)), ["p0"]);
    let by_message = Microcompact::new().keep_messages(1);
    assert_eq!(changed(&messages, &left(&by_message, &messages)), ["p0", "p1", "p2", "p3"]);
}

#[test]
fn the_newest_messages_stay_when_all_is_answered() {
    let answer = Message::text(Role::Assistant, "Done.");
    let messages =
        history(steps(3, "bash").iter().map(|message| message.as_ref().clone()).chain([answer]));
    for (kept, expected) in [(0, &["c0", "c1", "c2"][..]), (1, &["c0", "c1"]), (2, &["c0"])] {
        let policy = Microcompact::new().keep_messages(kept);
        assert_eq!(changed(&messages, &left(&policy, &messages)), expected, "{kept} kept");
    }
}

#[test]
fn tools_outside_the_list_and_protected_ones_are_not_touched() {
    let custom = steps(6, "my_tool");
    assert!(is_nothing(&Microcompact::new().tools(Tools::repeatable()), &custom));
    assert!(!is_nothing(&Microcompact::new(), &custom));
    for name in ["TodoWrite", "ask_user", "read-skill", "StructuredOutput", "spawn_agent", "Task"] {
        assert!(is_nothing(&Microcompact::new(), &steps(6, name)), "{name}");
        assert!(
            !is_nothing(&Microcompact::new().protect(ToolNames::default()), &steps(6, name)),
            "{name}"
        );
    }
    for name in ["ReadFile", "read_file", "Bash", "WebFetch"] {
        assert!(
            !is_nothing(&Microcompact::new().tools(Tools::repeatable()), &steps(6, name)),
            "{name}"
        );
    }
}

/// Regression test: ids were looked up in the whole history, and a result of another tool was
/// shortened too.
#[test]
fn two_calls_with_one_id_are_told_apart() {
    let output = || vec![Part::text(long())];
    let steps =
        [step("c0", "read_file", output()), step("c0", "my_tool", output())].into_iter().flatten();
    let rest = (0..4).flat_map(|n| step(&format!("d{n}"), "read_file", vec![Part::text("x")]));
    let messages = history(steps.chain(rest));
    let left = left(&Microcompact::new().tools(Tools::repeatable()), &messages);
    let changed: Vec<bool> =
        messages.iter().zip(&left).map(|(before, after)| before != after).collect();
    assert_eq!(changed.iter().position(|changed| *changed), Some(1));
    assert_eq!(changed.iter().filter(|changed| **changed).count(), 1);
}

#[test]
fn calls_of_one_message_with_one_id_are_answered_in_their_order() {
    let call = |name| Part::tool_call("c0", name, serde_json::json!({}));
    let output = || Part::ToolResult(result("c0", vec![Part::text(long())]));
    let messages = history([
        Message::from("q"),
        Message::new(Role::Assistant, [call("read_file"), call("my_tool")]),
        Message::new(Role::Tool, [output(), output()]),
        Message::text(Role::Assistant, "Done."),
    ]);
    let policy = Microcompact::new().tools(Tools::repeatable()).keep_results(0);
    let left = left(&policy, &messages);
    assert_ne!(messages[2].parts[0], left[2].parts[0]);
    assert_eq!(messages[2].parts[1], left[2].parts[1]);
}

#[test]
fn a_warm_cache_can_be_waited_out() {
    let messages = steps(6, "bash");
    let counter = counter();
    let view = HistoryView::new(&messages, &counter);
    let mut warm = CacheState::default();
    warm.messages = 3;
    let policy = Microcompact::new().when_cold();
    assert!(policy.plan(&view, &goal(1_000).cache(warm)).into_plan().is_none());
    assert!(policy.plan(&view, &goal(1_000)).into_plan().is_some());
}

/// A change of early messages makes the provider read the rest again: the plan states the cost, and
/// whether it pays off.
#[test]
fn a_plan_for_a_warm_cache_has_its_price() {
    let messages = steps(40, "bash");
    let counter = counter();
    let view = HistoryView::new(&messages, &counter);
    let mut warm = CacheState::default();
    warm.messages = messages.len();
    let plan = Microcompact::new().plan(&view, &goal(1_000)).into_plan().unwrap();
    assert!(plan.price(&view, &warm).pays_off_within(warm.expected_calls));
    let little = Microcompact::new().keep_results(39).bound(1_900);
    let plan = little.plan(&view, &goal(1_000)).into_plan().unwrap();
    assert!(!plan.price(&view, &warm).pays_off_within(warm.expected_calls));
    assert!(plan.price(&view, &CacheState::default()).pays_off_within(0));
}

/// The name is part of reports and of stored boundaries.
#[test]
fn it_has_a_name() {
    assert_eq!(Microcompact::new().name(), "microcompact");
}
