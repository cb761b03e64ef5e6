//! By turns.

use context_core::history::ToolNames;
use context_core::{CompactionPolicy, Message, Part, Role};
use context_policy_snip::Snip;

use crate::helpers::{history, left, plan, proposal, shown, step, turn, turns};

#[test]
fn two_first_and_four_last_turns_remain_of_twelve() {
    let messages = history(turns(12));
    let plan = plan(&Snip::by_turns(), &messages, u64::MAX / 2);
    assert_eq!(plan.description, "6 turns (12 messages) left out");
    let expected = [
        "q0",
        "a0",
        "q1",
        "a1",
        "[6 turns (12 messages) in the middle were left out]",
        "q8",
        "a8",
        "q9",
        "a9",
        "q10",
        "a10",
        "q11",
        "a11",
    ];
    assert_eq!(shown(&plan.apply(&messages).unwrap().messages), expected);
}

#[test]
fn nothing_is_left_out_of_six_turns() {
    assert!(proposal(&Snip::by_turns(), &history(turns(6)), 0).into_plan().is_none());
}

/// Regression test: pairs were matched only against the last turns, so a call in the first turns
/// lost its result.
#[test]
fn a_call_and_its_result_in_the_first_turns_both_stay() {
    let [call, result] = step("h1", "bash");
    let first = [Message::from("t0"), call, result, Message::text(Role::Assistant, "x")];
    let messages = history(first.into_iter().chain(turns(8)));
    let left = left(&Snip::by_turns(), &messages, 0);
    let gap = "[3 turns (6 messages) in the middle were left out]";
    assert_eq!(shown(&left)[..7], ["t0", "call h1", "result h1", "x", "q0", "a0", gap]);
}

#[test]
fn a_result_that_came_late_goes_with_its_call_or_stays_with_it() {
    let [call, result] = step("late", "bash");
    let mut messages = turns(12);
    messages.insert(6, call);
    messages.insert(19, result);
    let left = shown(&left(&Snip::by_turns(), &history(messages), 0));
    assert!(
        left.contains(&"result late".to_owned()) && left.contains(&"call late".to_owned()),
        "{left:?}"
    );
}

#[test]
fn gaps_add_up_and_do_not_pile_up() {
    let first = left(&Snip::by_turns(), &history(turns(12)), 0);
    assert!(proposal(&Snip::by_turns(), &first, 0).into_plan().is_none());
    let later = (12..15).flat_map(turn).map(std::sync::Arc::new);
    let second = left(&Snip::by_turns(), &first.into_iter().chain(later).collect::<Vec<_>>(), 0);
    let gaps: Vec<String> =
        shown(&second).into_iter().filter(|text| text.starts_with('[')).collect();
    assert_eq!(gaps, ["[9 turns (18 messages) in the middle were left out]"]);
}

#[test]
fn other_numbers_of_turns_can_be_asked_for() {
    let left = left(&Snip::by_turns().turns(0, 1), &history(turns(5)), 0);
    // The first request always stays.
    assert_eq!(
        shown(&left),
        ["q0", "[3 turns (7 messages) in the middle were left out]", "q4", "a4"]
    );
}

/// Regression test: a protected step that stayed for another reason (its late result stood in a
/// step that stays) lost its request; so did the later request when the same was asked again.
#[test]
fn protected_steps_have_their_requests_whatever_else_keeps_them() {
    let ([early, result], [call, other]) = (step("early", "look"), step("now", "look"));
    let mut messages = turns(3);
    messages.push(early);
    messages.extend((0..4).flat_map(|n| step(&format!("c{n}"), "bash")));
    messages.extend([Message::from("later"), call, other, result]);
    messages.extend((3..6).flat_map(turn));
    let policy = Snip::by_turns().turns(1, 1).protect(ToolNames::new(["look"]));
    let left = left(&policy, &history(messages), 0);
    let shown = shown(&left);
    for kept in ["q2", "call early", "later", "call now", "result now", "result early"] {
        assert!(shown.contains(&kept.to_owned()), "{kept} is not in {shown:?}");
    }
    assert!(proposal(&policy, &left, 0).into_plan().is_none());
}

/// A provider's own calls and their results are blocks of one message, and no gap may separate
/// them.
#[test]
fn a_gap_stands_between_whole_steps() {
    let steps = (0..30).flat_map(|n| step(&format!("c{n}"), "bash"));
    let messages = history(turns(1).into_iter().chain(steps).chain(turns(9)));
    for (at, message) in left(&Snip::by_turns(), &messages, 0).windows(2).enumerate() {
        let calls = message[0].parts.iter().any(|part| matches!(part, Part::ToolCall(_)));
        assert!(!calls || message[1].role == Role::Tool, "behind message {at}");
    }
}

/// The name is part of reports and of stored boundaries.
#[test]
fn it_has_a_name() {
    assert_eq!(Snip::by_turns().name(), "snip");
}
