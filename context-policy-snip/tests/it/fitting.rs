//! As much as the goal asks.

use context_conformance::policy::QuarterCounter;
use context_core::history::{HistoryView, ToolNames};
use context_core::{CompactionPolicy, Message, Role};
use context_policy_snip::Snip;

use crate::helpers::{
    MessageList, checkpoint, goal, history, left, plan, proposal, shown, step, total, turn, turns,
};

#[test]
fn the_newest_steps_that_fit_stay_with_the_first_request() {
    let messages = history(turns(12));
    let plan = plan(&Snip::new(), &messages, 250);
    assert!(plan.after <= 250);
    let left = plan.apply(&messages).unwrap().messages;
    assert_eq!(total(&left), plan.after);
    let gap = "[8 turns (17 messages) in the middle were left out]";
    assert_eq!(shown(&left), ["q0", gap, "q9", "a9", "q10", "a10", "q11", "a11"]);
}

#[test]
fn nothing_is_left_out_if_the_goal_is_met() {
    let messages = history(turns(12));
    assert!(proposal(&Snip::new(), &messages, total(&messages)).into_plan().is_none());
}

#[test]
fn what_must_stay_stays_even_if_it_does_not_fit() {
    let messages = history([checkpoint()].into_iter().chain(turns(12)));
    let left = left(&Snip::new(), &messages, 1);
    let gap = "[10 turns (21 messages) in the middle were left out]";
    assert_eq!(shown(&left), ["So far.", "q0", gap, "q11", "a11"]);
    assert!(proposal(&Snip::new(), &left, 1).into_plan().is_none());
}

#[test]
fn protected_steps_stay_with_their_requests_while_they_fit() {
    let mut messages = turns(3);
    messages.extend(
        [Message::from("plan it")]
            .into_iter()
            .chain(step("t", "TodoWrite"))
            .chain((3..12).flat_map(turn)),
    );
    let messages = history(messages);
    let kept = shown(&left(&Snip::new(), &messages, 350));
    let first = "[2 turns (5 messages) in the middle were left out]";
    assert_eq!(kept[..5], ["q0", first, "plan", "call t", "result t"]);
    assert!(
        !shown(&left(&Snip::new(), &messages, 120)).contains(&"call t".to_owned()),
        "no protection beyond the goal"
    );
    let unprotected = Snip::new().protect(ToolNames::default());
    assert!(!shown(&left(&unprotected, &messages, 350)).contains(&"call t".to_owned()));
}

#[test]
fn system_messages_in_front_stay() {
    let messages = history([Message::text(Role::System, "Be brief.")].into_iter().chain(turns(12)));
    assert_eq!(shown(&left(&Snip::new(), &messages, 200))[..2], ["Be", "q0"]);
}

#[test]
fn a_gap_that_would_be_larger_than_what_it_stands_for_is_not_made() {
    let short = |n: usize| [Message::from(format!("q{n}")), Message::text(Role::Assistant, "yes")];
    assert!(proposal(&Snip::new(), &history((0..2).flat_map(short)), 1).into_plan().is_none());
}

#[test]
fn a_long_turn_loses_its_middle() {
    let steps = (0..20).flat_map(|n| step(&format!("c{n}"), "bash"));
    let messages = history([Message::from("go")].into_iter().chain(steps));
    let left = shown(&left(&Snip::new(), &messages, 300));
    assert_eq!(left[..2], ["go", "[32 messages in the middle were left out]"]);
    assert_eq!(left[2..4], ["call c16", "result c16"]);
}

/// Protected steps stand apart, so there are several gaps, and each takes room.
#[test]
fn every_gap_counts_against_the_goal() {
    let protected = |n: usize| {
        let [call, result] = step(&format!("t{n}"), "TodoWrite");
        [Message::from(format!("plan{n} it")), call, result]
    };
    let parts = (0..4).flat_map(|n| protected(n).into_iter().chain((0..3).flat_map(turn)));
    let messages = history(turns(3).into_iter().chain(parts));
    let mut most_gaps = 0;
    for tokens in 150..total(&messages) {
        let Some(plan) = proposal(&Snip::new(), &messages, tokens).into_plan() else { continue };
        assert!(plan.after <= tokens, "{} tokens stay of {tokens}", plan.after);
        let left = shown(&plan.apply(&messages).unwrap().messages);
        most_gaps = most_gaps.max(left.iter().filter(|text| text.ends_with("left out]")).count());
    }
    assert!(most_gaps > 2, "{most_gaps} gaps are not several");
}

/// The user's short requests stay between answers that go. One gap says so for all of them, also
/// when the history is snipped again, or the gaps would be as many as the answers were.
#[test]
fn between_the_users_words_there_is_one_gap() {
    let snip = |messages: &MessageList, tokens: u64| {
        let view = HistoryView::new(messages, &QuarterCounter).user_words(1_000);
        let plan = Snip::new().plan(&view, &goal(tokens)).into_plan().unwrap();
        assert!(plan.after <= tokens, "{} of {tokens}", plan.after);
        plan.apply(messages).unwrap().messages.to_vec()
    };
    let first = snip(&history(turns(12)), 300);
    let mut later = first.clone();
    later.extend(history((12..24).flat_map(turn)));
    for (messages, requests) in [(first, 12), (snip(&later, 400), 24)] {
        assert_eq!(messages.iter().filter(|message| message.is_gap()).count(), 1);
        let kept = messages.iter().filter(|message| message.is_request());
        assert_eq!(kept.count(), requests, "{:?}", shown(&messages));
    }
}
