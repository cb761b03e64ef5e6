//! The conditions under which each predicate holds, and its scope.

use std::sync::Arc;
use std::time::Duration;

use context_core::message::NodeKind;
use context_core::{Encoded, Message, Node, Role, Timestamp};
use context_instructions::{Comparison, Predicate, Recent, ReminderTarget, Situation, reminder};
use proptest::prelude::*;
use serde_json::json;

use super::{ConversationFixture, assistant, build, calls, failures, results, with_usage};

/// Returns whether the predicate holds after these messages, for a reminder of this target.
fn holds(predicate: &Predicate, target: ReminderTarget, messages: &[Message]) -> bool {
    let mut conversation = ConversationFixture::default();
    for message in messages {
        conversation.add(message.clone()).save(&[]);
    }
    predicate.holds(&Situation::new(&conversation.summary, target, conversation.now(), None))
}

fn user(predicate: &Predicate, messages: &[Message]) -> bool {
    holds(predicate, ReminderTarget::User, messages)
}

fn steer(predicate: &Predicate, messages: &[Message]) -> bool {
    assert_eq!(
        holds(predicate, ReminderTarget::Steer, messages),
        holds(predicate, ReminderTarget::ToolOutput, messages),
        "both are folded between steps"
    );
    holds(predicate, ReminderTarget::Steer, messages)
}

fn q() -> Message {
    Message::from("q")
}

#[test]
fn turns_are_counted_over_the_whole_conversation() {
    for (predicate, expected) in [
        (Predicate::every_n_turns(1), [true, true, true, true, true, true]),
        (Predicate::every_n_turns(3), [false, false, true, false, false, true]),
        (Predicate::first_turns(2), [true, true, false, false, false, false]),
        (Predicate::after_turn(4), [false, false, false, false, true, true]),
        (Predicate::after_turn(0), [true; 6]),
    ] {
        let reminders = build(reminder("x").when(predicate.clone()));
        let mut conversation = ConversationFixture::default();
        let fired = expected.map(|_| {
            let fired = conversation.add("q").save(&reminders);
            conversation.add(assistant("a")).save(&reminders);
            fired
        });
        assert_eq!(fired, expected, "{predicate:?}");
    }
    // Before the first message there is no turn.
    assert!(!user(&Predicate::every_n_turns(2), &[]));
}

#[test]
fn calls_and_failures_are_news_of_one_step_between_steps() {
    let (called, failed) = (Predicate::tool_called("look"), Predicate::tool_failed("look"));
    let step = [q(), calls(&["look"]), failures(&["look"])];
    assert!(steer(&called, &step) && steer(&failed, &step));
    assert!(
        steer(&Predicate::any_tool_called(), &step) && steer(&Predicate::any_tool_failed(), &step)
    );
    for predicate in [Predicate::tool_called("other"), Predicate::tool_failed("other")] {
        assert!(!steer(&predicate, &step));
    }
    // The next step has other calls.
    let next = [&step[..], &[calls(&["other"]), results(&["other"], "fine")]].concat();
    assert!(!steer(&called, &next) && !steer(&failed, &next));
    assert!(
        !steer(&Predicate::any_tool_failed(), &next) && steer(&Predicate::any_tool_called(), &next)
    );
}

#[test]
fn calls_and_failures_are_news_of_the_whole_last_reply_to_the_user() {
    let failed = Predicate::tool_failed("look");
    let reply = [
        q(),
        calls(&["look"]),
        failures(&["look"]),
        calls(&["other"]),
        results(&["other"], "fine"),
        assistant("done"),
        q(),
    ];
    assert!(user(&failed, &reply));
    assert!(!steer(&failed, &reply));
    let later = [&reply[..], &[assistant("nothing more"), q()]].concat();
    assert!(!user(&failed, &later));
}

#[test]
fn what_the_model_says_in_several_messages_is_one_step() {
    let step = [q(), calls(&["look"]), assistant("and"), results(&["look"], "fine")];
    assert!(steer(&Predicate::tool_called("look"), &step));
    // A result in a new turn without a call there begins a reply and a step.
    let next = [&step[..], &[q(), failures(&["other"])]].concat();
    assert!(!steer(&Predicate::tool_called("look"), &next));
    assert!(steer(&Predicate::any_tool_failed(), &next));
    assert!(steer(&Predicate::tool_call_count(Comparison::Exactly(0)), &next));
}

#[test]
fn a_failed_tool_is_known_by_its_call_or_by_its_result() {
    let nameless = failures(&["look"]);
    assert!(!steer(&Predicate::tool_failed("look"), &[q(), nameless.clone()]));
    assert!(steer(&Predicate::any_tool_failed(), &[q(), nameless.clone()]));
    let mut named = nameless;
    for part in &mut named.parts {
        if let context_core::Part::ToolResult(result) = part {
            result.name = Some("look".into());
        }
    }
    assert!(steer(&Predicate::tool_failed("look"), &[q(), named]));
}

#[test]
fn calls_are_counted_in_the_reply() {
    let two = [q(), calls(&["a"]), results(&["a"], ""), calls(&["b"]), results(&["b"], "")];
    for (comparison, expected) in [
        (Comparison::Exactly(2), true),
        (Comparison::Exactly(1), false),
        (Comparison::AtLeast(2), true),
        (Comparison::AtLeast(3), false),
        (Comparison::AtMost(2), true),
        (Comparison::AtMost(1), false),
    ] {
        assert_eq!(
            steer(&Predicate::tool_call_count(comparison), &two),
            expected,
            "{comparison:?}"
        );
    }
    let next = [&two[..], &[q(), calls(&["a"])]].concat();
    assert!(steer(&Predicate::tool_call_count(Comparison::Exactly(1)), &next));
}

/// A comparison with an exact multiple would miss it when a step calls several tools at once.
#[test]
fn every_n_calls_does_not_jump_over_a_multiple() {
    let reminders = build(
        reminder("plan").when(Predicate::every_n_tool_calls(3)).target(ReminderTarget::Steer),
    );
    let mut conversation = ConversationFixture::default();
    let mut fired = Vec::new();
    for tools in [&["a", "b"][..], &["a", "b"], &["a"], &["a", "b", "c", "d"], &["a"]] {
        conversation.add("q").save(&reminders);
        conversation.add(calls(tools)).save(&reminders);
        fired.push(conversation.add(results(tools, "out")).save(&reminders));
    }
    // After 2, 4, 5, 9 and 10 calls.
    assert_eq!(fired, [false, true, false, true, false]);
}

#[test]
fn failures_in_a_row_end_with_a_success_or_a_reply() {
    let streak = Predicate::tool_failure_streak(2);
    let (call, bad) = (calls(&["a"]), failures(&["a"]));
    let row = [q(), call.clone(), bad.clone(), call.clone(), bad.clone()];
    assert!(steer(&streak, &row));
    assert!(!steer(&streak, &row[..3]));
    assert!(user(&streak, &[&row[..], &[assistant("sorry"), q()]].concat()));
    assert!(!steer(&streak, &[&row[..], &[call.clone(), results(&["a"], "fine")]].concat()));
    assert!(!steer(&streak, &[&row[..3], &[q(), call, bad]].concat()));
}

#[test]
fn tool_output_is_searched_without_case_and_without_reminders() {
    let limited = Predicate::tool_output_contains("RATE limit (é)");
    let step = [q(), calls(&["a"]), results(&["a"], "a rate LIMIT (É) was hit")];
    assert!(steer(&limited, &step));
    assert!(!steer(&Predicate::tool_output_contains("rate.limit"), &step));
    assert!(!steer(&limited, &[&step[..], &[calls(&["a"]), results(&["a"], "fine")]].concat()));
    // The text of a reminder is not tool output.
    let warn = reminder("Mind the rate limit.").target(ReminderTarget::ToolOutput);
    let mut conversation = ConversationFixture::default();
    conversation.add(calls(&["a"])).add(results(&["a"], "fine")).save(&build(warn));
    let predicate = Predicate::tool_output_contains("rate limit");
    assert!(!predicate.holds(&Situation::new(
        &conversation.summary,
        ReminderTarget::Steer,
        conversation.now(),
        None
    )));
}

#[test]
fn usage_is_what_the_caller_says_or_the_messages_do() {
    let predicate = Predicate::usage_exceeds(100);
    for (usage, expected) in [
        (json!({"total_tokens": 100, "input_tokens": 1}), true),
        (json!({"totalTokens": 99}), false),
        (json!({"input_tokens": 60, "output_tokens": 40}), true),
        (json!({"promptTokens": 60, "completionTokens": 39}), false),
        (json!({"input_tokens": 1, "output_tokens": 1, "cache_read_input_tokens": 98}), true),
        (json!({"input_tokens": u64::MAX, "output_tokens": u64::MAX}), true),
        (json!({"input_tokens": -200, "output_tokens": 1.5}), false),
        (json!("many"), false),
    ] {
        let messages = [q(), with_usage(assistant("a"), usage.clone()), q()];
        assert_eq!(user(&predicate, &messages), expected, "{usage}");
    }
    // Summed over the conversation.
    let reply = with_usage(assistant("a"), json!({"total_tokens": 50}));
    assert!(user(&predicate, &[q(), reply.clone(), q(), reply, q()]));
    // The caller's total takes precedence.
    let reminders = build(reminder("x").when(predicate));
    for (usage, expected) in [(None, false), (Some(99), false), (Some(100), true)] {
        let mut conversation = ConversationFixture { usage, ..ConversationFixture::default() };
        assert_eq!(conversation.add("q").save(&reminders), expected);
    }
}

#[test]
fn elapsed_is_since_the_last_message_before_the_turn() {
    let reminders = build(reminder("x").when(Predicate::elapsed_exceeds(Duration::from_secs(60))));
    let mut conversation =
        ConversationFixture { seconds: 1_000_000, ..ConversationFixture::default() };
    // There is nothing before the first turn.
    assert!(!conversation.add("q").save(&reminders));
    conversation.add(assistant("a")).save(&reminders);
    conversation.seconds += 58;
    assert!(!conversation.add("q").save(&reminders));
    conversation.seconds += 59;
    assert!(conversation.add("q").save(&reminders));
    // A clock that went back.
    conversation.seconds = i64::MIN / 1_000_000;
    assert!(!conversation.add("q").save(&reminders));
}

#[test]
fn content_is_the_text_of_this_turn() {
    let refund = Predicate::content_includes("Straße É");
    assert!(user(&refund, &[Message::from("x STRAßE éy")]));
    assert!(!user(&refund, &[Message::from("straße e")]));
    assert!(!user(&refund, &[Message::from("straße é"), assistant("a"), q()]));
    let number = Predicate::content_matches(r"^\w+ \d{3}$");
    assert!(user(&number, &[Message::from("заказ 123")]));
    assert!(!user(&number, &[Message::from("заказ 12")]));
    // Between steps it is still the same turn.
    assert!(steer(&number, &[Message::from("order 123"), calls(&["a"]), results(&["a"], "")]));
    // The text of a reminder is not the user's text.
    let mut conversation = ConversationFixture::default();
    conversation.add("q").save(&build(reminder("straße é")));
    assert!(!refund.holds(&Situation::new(
        &conversation.summary,
        ReminderTarget::User,
        conversation.now(),
        None
    )));
}

#[test]
fn length_is_of_the_last_text_of_the_model() {
    let short = Predicate::last_assistant_length(Comparison::AtMost(3));
    assert!(user(&short, &[q()]));
    assert!(user(&short, &[q(), assistant("🎻é漢"), q()]));
    assert!(!user(&short, &[q(), assistant("long"), q(), calls(&["a"]), results(&["a"], ""), q()]));
}

#[test]
fn combinators() {
    let (yes, no) = (Predicate::custom(|_| true), Predicate::custom(|_| false));
    for (predicate, expected) in [
        (Predicate::all([]), true),
        (Predicate::any([]), false),
        (Predicate::all([yes.clone(), no.clone()]), false),
        (Predicate::any([no.clone(), yes.clone()]), true),
        (yes.clone().and(!no.clone()), true),
        (no.clone().or(no.clone()), false),
        (!(yes.clone().and(no.clone())), true),
        (Predicate::custom(|now| now.target() == ReminderTarget::User), true),
    ] {
        assert_eq!(user(&predicate, &[q()]), expected, "{predicate:?}");
    }
    let both = Predicate::once("a").and(!Predicate::tool_called("b"));
    assert_eq!(format!("{both:?}"), format!("{:?}", both.clone()));
}

#[test]
fn only_what_a_predicate_holds_because_of_is_used_up() {
    let once = Predicate::once;
    let never = || Predicate::custom(|_| false);
    for (predicate, expected) in [
        (once("a").and(once("b")), vec!["a", "b"]),
        (once("a").or(once("b")), vec!["a"]),
        (once("a").and(never()).or(once("b")), vec!["b"]),
        (!!once("a"), vec!["a"]),
        (!(!once("a")).or(never()), vec!["a"]),
        ((!once("a")).or(Predicate::all([])), vec![]),
        (!(once("a").and(never())), vec![]),
    ] {
        let mut conversation = ConversationFixture::default();
        let folded = conversation.add("q").fold(&build(reminder("x").when(predicate.clone())));
        assert_eq!(folded.fired, 1, "{predicate:?}");
        assert_eq!(folded.once, expected, "{predicate:?}");
    }
}

/// A reminder that follows another: it fires in the turns after the one in which the first fired.
#[test]
fn not_once_is_after_it_and_uses_nothing_up() {
    let first = reminder("first").when(Predicate::once("a").and(Predicate::after_turn(1)));
    let second = reminder("second").when((!Predicate::once("a")).and(Predicate::once("b")));
    let reminders = [second, first].map(|builder| builder.build().unwrap());
    let mut conversation = ConversationFixture::default();
    let used = [(); 4].map(|()| {
        let folded = conversation.add("q").fold(&reminders);
        conversation.save(&[]);
        folded.once.join(" ")
    });
    assert_eq!(used, ["", "a", "b", ""]);
}

#[test]
fn what_says_nothing_or_cannot_be_read_is_skipped() {
    let mut conversation = ConversationFixture::default();
    conversation.add("q").add(Message::new(Role::Assistant, [])).save(&[]);
    let newer = Encoded::new("message", 99, &b"{}"[..]);
    let broken = Encoded::new("message", 1, &b"{"[..]);
    for (kind, body) in [
        (NodeKind::Message(Role::User), newer),
        (NodeKind::Message(Role::Tool), broken.clone()),
        (NodeKind::Boundary, broken),
    ] {
        conversation.pending.push(Arc::new(Node::from_encoded(
            "n".into(),
            kind,
            Timestamp::default(),
            body,
        )));
    }
    let before = conversation.pending.clone();
    assert!(!conversation.save(&build(reminder("x"))));
    assert_eq!(conversation.stored[2..], before);
    assert_eq!((conversation.summary.messages(), conversation.summary.turns()), (1, 1));
}

fn any_message() -> impl Strategy<Value = Message> {
    let tools = prop::sample::subsequence(vec!["a", "b", "c"], 0..=3);
    prop_oneof![
        Just(q()),
        "[a-z]{0,3}".prop_map(|text| assistant(&text)),
        tools.clone().prop_map(|tools| calls(&tools)),
        tools.clone().prop_map(|tools| results(&tools, "out")),
        tools.prop_map(|tools| failures(&tools)),
    ]
}

proptest! {
    /// Copies of a summary are independent, and pending messages count as stored ones do.
    #[test]
    fn stored_or_pending_makes_no_difference(
        messages in prop::collection::vec(any_message(), 0..12), cut in 0usize..12, n in 1u64..4
    ) {
        let parts = [
            Predicate::every_n_turns(n), Predicate::every_n_tool_calls(n),
                Predicate::tool_failure_streak(n),
            Predicate::tool_called("a"), Predicate::tool_failed("b"),
            Predicate::tool_called_within("a", Recent::Turns(n)),
            Predicate::tool_failed_within("b", Recent::Messages(n)),
            Predicate::any_tool_called_within(Recent::Time(Duration::from_secs(n))),
            Predicate::tool_call_count(Comparison::AtLeast(n)),
                Predicate::elapsed_exceeds(Duration::from_secs(n)),
        ];
        let reminders: Vec<_> = ["user", "tool-output", "steer"].iter().flat_map(|target| {
            let target: ReminderTarget = target.parse().unwrap();
            parts.clone().map(|part| reminder(format!("{part:?}")).when(part).target(target)
                .build().unwrap())
        }).collect();
        let cut = cut.min(messages.len().saturating_sub(1));
        let run = |first: usize| {
            let mut conversation = ConversationFixture::default();
            for message in &messages[..first] {
                conversation.add(message.clone()).save(&[]);
            }
            for message in &messages[first..] {
                conversation.add(message.clone());
            }
            let stored = conversation.summary.clone();
            let _ = conversation.fold(&reminders);
            assert_eq!(stored.messages(), conversation.summary.messages());
            conversation.pending.last().cloned()
        };
        // The reminders folded into the last message do not depend on where the stored part ends,
        // except for the id of a steer message.
        let last = |first| run(first).map(|node| Arc::clone(node.message().unwrap()));
        prop_assert_eq!(last(cut), last(messages.len().saturating_sub(1)));
    }
}
