//! Calls and results that stand in different gaps.

use context_core::history::ToolNames;
use context_core::{Message, Role};
use context_policy_snip::Snip;

use crate::helpers::{MessageList, history, left, proposal, shown, step, turn};

/// Returns a request and a step that stays.
fn protected(n: usize) -> [Message; 3] {
    let [call, result] = step(&format!("look{n}"), "look");
    [Message::from(format!("r{n}")), call, result]
}

/// Between steps that stay: a call that is smaller than a gap, then turns, then turns with the late
/// result of that call.
fn half_of_a_pair_in_a_small_run() -> MessageList {
    let [call, result] = step("late", "bash");
    let mut messages = turn(0).to_vec();
    messages.extend(protected(1));
    messages.push(call);
    messages.extend(protected(2));
    messages.extend((3..5).flat_map(turn));
    messages.extend(protected(5));
    messages.extend((6..8).flat_map(turn));
    messages.push(result);
    messages.extend(protected(8));
    messages.extend(turn(9));
    history(messages)
}

fn policy() -> Snip {
    Snip::by_turns().turns(1, 1).protect(ToolNames::new(["look"]))
}

/// The call stays, because it is smaller than a gap. Then its result has to stay, and so does the
/// run that contains it; other runs are left out.
#[test]
fn what_belongs_to_a_run_that_is_too_small_for_a_gap_stays() {
    let messages = half_of_a_pair_in_a_small_run();
    let left = left(&policy(), &messages, 0);
    let expected = [
        "q0",
        "a0",
        "r1",
        "call look1",
        "result look1",
        "call late",
        "r2",
        "call look2",
        "result look2",
        "[2 turns (4 messages) in the middle were left out]",
        "r5",
        "call look5",
        "result look5",
        "q6",
        "a6",
        "q7",
        "a7",
        "result late",
        "r8",
        "call look8",
        "result look8",
        "q9",
        "a9",
    ];
    assert_eq!(shown(&left), expected);
    assert!(proposal(&policy(), &left, 0).into_plan().is_none());
}

/// A run that is too small does not keep other runs if nothing in it has a partner elsewhere.
#[test]
fn a_run_that_is_too_small_and_whole_keeps_nothing_but_itself() {
    let [call, result] = step("late", "bash");
    let mut messages = turn(0).to_vec();
    messages.extend(protected(1));
    messages.push(Message::from("so"));
    messages.extend(protected(2));
    messages.push(call);
    messages.extend((3..5).flat_map(turn));
    messages.push(result);
    messages.extend(protected(5));
    messages.extend(turn(6));
    let shown = shown(&left(&policy(), &history(messages), 0));
    let gap = "[2 turns (6 messages) in the middle were left out]";
    assert_eq!(shown[5..10], ["so", "r2", "call look2", "result look2", gap]);
}

/// A gap that is as large as the messages it replaces gains nothing.
#[test]
fn a_run_goes_only_if_its_gap_is_smaller() {
    let gone = |words: usize| {
        let mut messages = turn(0).to_vec();
        messages.extend(protected(1));
        messages.push(Message::text(Role::Assistant, "abc ".repeat(words)));
        messages.extend(protected(2));
        // Large enough that the plan as a whole gains something.
        messages.extend((3..5).flat_map(turn));
        messages.extend(protected(5));
        messages.extend(turn(6));
        !shown(&left(&policy(), &history(messages), 0)).contains(&"abc".to_owned())
    };
    // "[1 message in the middle was left out]": ten tokens.
    assert_eq!([9, 10, 11].map(gone), [false, false, true]);
}
