//! Predicates about what happened lately.

use std::time::Duration;

use context_core::{Message, Timestamp};
use context_instructions::{
    Predicate, Recent, ReminderError, ReminderTarget, Situation, reminder, strip_reminders,
};

use super::{ALL_TARGETS, ConversationFixture, assistant, build, calls, failures, results};

/// Returns whether the predicate holds after each of these messages.
fn after_each<const N: usize>(predicate: &Predicate, messages: [Message; N]) -> [bool; N] {
    let mut conversation = ConversationFixture::default();
    messages.map(|message| {
        conversation.add(message).save(&[]);
        predicate.holds(&Situation::new(
            &conversation.summary,
            ReminderTarget::User,
            conversation.now(),
            None,
        ))
    })
}

fn q() -> Message {
    Message::from("q")
}

#[test]
fn a_call_is_recent_for_so_many_turns_messages_or_seconds() {
    let messages =
        || [q(), calls(&["look"]), results(&["look"], "fine"), assistant("a"), q(), q(), q()];
    for (recent, expected) in [
        (Recent::Turns(1), [false, true, true, true, false, false, false]),
        (Recent::Turns(2), [false, true, true, true, true, false, false]),
        (Recent::Turns(u64::MAX), [false, true, true, true, true, true, true]),
        (Recent::Messages(1), [false, true, false, false, false, false, false]),
        (Recent::Messages(3), [false, true, true, true, false, false, false]),
        // The fixture's messages are a second apart.
        (Recent::Time(Duration::from_secs(3)), [false, true, true, true, true, false, false]),
    ] {
        for called in [
            Predicate::tool_called_within("look", recent),
            Predicate::any_tool_called_within(recent),
        ] {
            assert_eq!(after_each(&called, messages()), expected, "{called:?}");
        }
        let other = Predicate::tool_called_within("other", recent);
        assert_eq!(after_each(&other, messages()), [false; 7]);
        let failed = Predicate::any_tool_failed_within(recent);
        assert_eq!(after_each(&failed, messages()), [false; 7]);
    }
}

#[test]
fn a_failure_is_recent_from_its_result_on() {
    let messages = || [q(), calls(&["look"]), failures(&["look"]), assistant("a"), q(), q()];
    let expected = [false, false, true, true, true, false];
    let recent = Recent::Turns(2);
    for failed in
        [Predicate::tool_failed_within("look", recent), Predicate::any_tool_failed_within(recent)]
    {
        assert_eq!(after_each(&failed, messages()), expected, "{failed:?}");
    }
    // Nobody says which tool failed.
    let nameless = || [q(), failures(&["look"])];
    let failed = Predicate::tool_failed_within("look", recent);
    assert_eq!(after_each(&failed, nameless()), [false; 2]);
    let failed = Predicate::any_tool_failed_within(recent);
    assert_eq!(after_each(&failed, nameless()), [false, true]);
}

#[test]
fn a_clock_that_went_back_leaves_events_recent() {
    let mut conversation = ConversationFixture::default();
    conversation.add("q").add(calls(&["look"])).save(&[]);
    let recent = Recent::Time(Duration::from_micros(1));
    let called = Predicate::tool_called_within("look", recent);
    let now = Timestamp::from_micros(i64::MIN);
    assert!(called.holds(&Situation::new(&conversation.summary, ReminderTarget::User, now, None)));
}

#[test]
fn a_reminder_rests_after_it_fired() {
    let rested = !Predicate::reminded_within("cite", Recent::Turns(3));
    let reminders = build(reminder("Cite.").id("cite").when(rested));
    let mut conversation = ConversationFixture::default();
    // Each save reads the messages back, so the summary knows what is stored.
    let fired = [(); 7].map(|()| conversation.add("q").save(&reminders));
    assert_eq!(fired, [true, false, false, true, false, false, true]);
    let first = conversation.stored[0].message().unwrap();
    assert_eq!(strip_reminders(first), q());
}

#[test]
fn reminders_of_one_id_rest_together_wherever_they_are_folded() {
    for target in ALL_TARGETS {
        let rested = || !Predicate::reminded_within("r", Recent::Turns(2));
        let one =
            |text: &str| reminder(text).id("r").when(rested()).target(target).build().unwrap();
        let mut conversation = ConversationFixture::default();
        conversation.add("q").add(calls(&["look"])).save(&[]);
        if target == ReminderTarget::User {
            conversation.add("q");
        }
        let folded =
            conversation.add(results(&["look"], "fine")).fold(&[one("first"), one("second")]);
        assert_eq!(folded.fired, 1, "{target}");
        conversation.save(&[]);
        let is_rested = ["q", "q"].map(|question| {
            conversation.add(question).save(&[]);
            let now = conversation.now();
            rested().holds(&Situation::new(&conversation.summary, target, now, None))
        });
        assert_eq!(is_rested, [false, true], "{target}");
    }
}

#[test]
fn nothing_is_recent_in_no_time_and_an_id_is_not_blank() {
    for recent in [Recent::Turns(0), Recent::Messages(0), Recent::Time(Duration::ZERO)] {
        let called = Predicate::any_tool_called_within(recent);
        let error = reminder("x").when(!called).build().unwrap_err();
        assert_eq!(error, ReminderError::ZeroCount("within"));
    }
    let reminded = Predicate::reminded_within(" ", Recent::Turns(1));
    assert_eq!(reminder("x").when(reminded).build().unwrap_err(), ReminderError::EmptyId);
    assert_eq!(reminder("x").id("").build().unwrap_err(), ReminderError::EmptyId);
}
