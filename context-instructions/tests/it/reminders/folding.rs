//! Where reminders are folded, and that each is folded once.

use std::sync::Arc;

use context_core::{Json, Message, Metadata, Node, Part, Role, Timestamp};
use context_instructions::{
    ConversationSummary, Predicate, Reminder, ReminderError, ReminderTarget, reminder,
    reminder_with,
};
use serde_json::json;

use super::{ALL_TARGETS, ConversationFixture, assistant, build, calls, failures, results};

fn always() -> Predicate {
    Predicate::all([])
}

/// Returns one reminder for each target that always fires.
fn everywhere() -> Vec<Reminder> {
    ALL_TARGETS
        .map(|target| reminder(target.as_str()).when(always()).target(target).build().unwrap())
        .into()
}

#[test]
fn what_cannot_work_is_refused_when_it_is_built() {
    assert_eq!(reminder(" \n").build().unwrap_err(), ReminderError::EmptyText);
    let steer = reminder("x").target(ReminderTarget::Steer);
    assert_eq!(steer.clone().build().unwrap_err(), ReminderError::SteerWithoutPredicate);
    assert!(steer.when(always()).build().is_ok());
    let error = "nowhere".parse::<ReminderTarget>().unwrap_err();
    assert_eq!(error, ReminderError::UnknownTarget("nowhere".into()));
    for target in ALL_TARGETS {
        assert_eq!(target.as_str().parse(), Ok(target));
    }
    for (predicate, expected) in [
        (Predicate::once(" "), ReminderError::EmptyOnceId),
        (Predicate::every_n_turns(0), ReminderError::ZeroCount("every_n_turns")),
        (Predicate::first_turns(0), ReminderError::ZeroCount("first_turns")),
        (Predicate::every_n_tool_calls(0), ReminderError::ZeroCount("every_n_tool_calls")),
        (Predicate::tool_failure_streak(0), ReminderError::ZeroCount("tool_failure_streak")),
        (always().and(!Predicate::once("")).or(always()), ReminderError::EmptyOnceId),
    ] {
        assert_eq!(reminder("x").when(predicate).build().unwrap_err(), expected);
    }
    let broken = reminder("x").when(Predicate::content_matches("(")).build().unwrap_err();
    assert!(matches!(broken, ReminderError::Pattern(_)));
}

/// A loop that adds a predicate at every turn, or doubles a shared one, must neither overflow the
/// stack nor make evaluation endless.
#[test]
fn predicates_have_a_largest_size() {
    let mut long = always();
    let mut wide = always();
    for _ in 0..100_000 {
        long = !long;
        wide = Predicate::all([wide.clone(), wide]);
    }
    for predicate in [long, wide] {
        let error = reminder("x").when(predicate).build().unwrap_err();
        assert_eq!(error, ReminderError::PredicateTooLarge { limit: 1000 });
    }
    let mut largest = always();
    for _ in 1..1000 {
        largest = !largest;
    }
    assert!(!ConversationFixture::default().add("q").save(&build(reminder("x").when(largest))));
}

#[test]
fn the_users_message_is_the_last_one_that_is_not_answered() {
    let cite = build(reminder("cite sources"));
    let expected = "q<system-reminder>cite sources</system-reminder>";
    let mut conversation = ConversationFixture::default();
    let folded = conversation.add("q").fold(&cite);
    assert_eq!(conversation.texts(), [expected]);
    assert_eq!((folded.fired, folded.changed.len(), folded.steer), (1, 1, None));

    // Two user messages: the last one. A placeholder after it is not an answer.
    let mut conversation = ConversationFixture::default();
    let _ = conversation.add("p").add("q").add(Message::new(Role::Assistant, [])).fold(&cite);
    assert_eq!(conversation.texts(), ["p", expected, ""]);

    // An answered message is not changed.
    let mut conversation = ConversationFixture::default();
    let folded = conversation.add("q").add(assistant("a")).fold(&cite);
    assert_eq!((conversation.texts(), folded.fired), (vec!["q".to_owned(), "a".to_owned()], 0));

    // No user message at all; a message without parts has no content yet.
    for message in [assistant("a"), Message::text(Role::System, "s"), Message::new(Role::User, [])]
    {
        assert_eq!(ConversationFixture::default().add(message).fold(&cite).fired, 0);
    }
    assert_eq!(ConversationFixture::default().fold(&cite).fired, 0);
}

#[test]
fn a_message_with_reminders_gets_no_more() {
    let reminders = everywhere();
    let mut conversation = ConversationFixture::default();
    let _ = conversation.add(calls(&["look"])).add(results(&["look"], "seen")).fold(&reminders);
    let once = conversation.pending.clone();
    assert_eq!(once.len(), 3);
    assert_eq!(conversation.fold(&reminders).fired, 0);
    assert_eq!(conversation.pending, once);

    let mut conversation = ConversationFixture::default();
    let _ = conversation.add("q").fold(&reminders);
    let once = conversation.pending.clone();
    assert_eq!(conversation.fold(&reminders).fired, 0);
    assert_eq!(conversation.pending, once);
}

#[test]
fn a_text_goes_to_the_last_text_or_into_a_part_of_its_own() {
    let image = || Part::Unknown(Json::from_text(r#"{"type":"hologram"}"#).unwrap());
    let [inline, own] = [reminder("x"), reminder("x").as_part()].map(build);
    let element = "<system-reminder>x</system-reminder>";
    for (reminders, parts, expected) in [
        (&inline, vec![Part::text("a"), image()], vec![Part::text(format!("a{element}")), image()]),
        (&own, vec![Part::text("a"), image()], vec![Part::text("a"), image(), Part::text(element)]),
        (&inline, vec![image()], vec![image(), Part::text(element)]),
        (&inline, vec![Part::text("")], vec![Part::text(""), Part::text(element)]),
    ] {
        let mut conversation = ConversationFixture::default();
        let _ = conversation.add(parts).fold(reminders);
        assert_eq!(conversation.pending[0].message().unwrap().parts, expected);
    }
}

#[test]
fn a_node_stays_the_same_node() {
    let mut node = Node::new("m", Message::from("q"), Timestamp::from_micros(7)).with_tokens(1);
    node.revision = 3;
    let mut conversation = ConversationFixture::default();
    conversation.pending.push(Arc::new(node));
    let _ = conversation.fold(&build(reminder("x")));
    let node = &conversation.pending[0];
    assert_eq!(
        (&node.id, node.created_at, node.revision),
        (&"m".into(), Timestamp::from_micros(7), 3)
    );
    assert_eq!(node.tokens, None);
}

#[test]
fn tool_output_is_the_last_result_of_the_last_tool_message() {
    let reminders = build(reminder("check it").target(ReminderTarget::ToolOutput));
    let mut conversation = ConversationFixture::default();
    let _ = conversation.add(calls(&["a", "b"])).add(results(&["a", "b"], "out")).fold(&reminders);
    assert_eq!(conversation.texts(), ["", "out\nout<system-reminder>check it</system-reminder>"]);
    let message = conversation.pending[1].message().unwrap();
    insta::assert_snapshot!(message.metadata.get("reminders").unwrap(), @r#"[{"part":1,"output":0,"start":3,"end":46}]"#);
    // Answered, or without any result.
    let mut conversation = ConversationFixture::default();
    assert_eq!(
        conversation.add(results(&["a"], "out")).add(assistant("so")).fold(&reminders).fired,
        0
    );
    assert_eq!(
        ConversationFixture::default().add(Message::text(Role::Tool, "t")).fold(&reminders).fired,
        0
    );
}

#[test]
fn steering_is_one_synthetic_message_behind_the_results() {
    let steer =
        |text: &str| reminder(text).when(always()).target(ReminderTarget::Steer).build().unwrap();
    let reminders = [steer("one"), steer("two")];
    let mut conversation = ConversationFixture::default();
    // A placeholder for the next step stays after it.
    let placeholder = Message::new(Role::Assistant, []);
    let folded = conversation
        .add(calls(&["a"]))
        .add(results(&["a"], "out"))
        .add(placeholder)
        .fold(&reminders);
    assert_eq!(folded.fired, 2);
    assert_eq!(folded.steer.as_ref(), Some(&conversation.pending[2].id));
    assert!(conversation.pending[3].is_placeholder());
    let message = conversation.pending[2].message().unwrap();
    assert!(message.is_synthetic());
    assert_eq!(message.role, Role::User);
    assert_eq!(message.parts.len(), 2);
    assert_eq!(conversation.pending[2].created_at, conversation.now());

    // The message is not a turn: the next answer belongs to the same turn.
    let _ = conversation.save(&[]);
    assert_eq!(conversation.summary.turns(), 0);

    // Not between a user and the model, not after an answer, not after itself.
    for messages in
        [vec![Message::from("q")], vec![results(&["a"], "out"), assistant("so")], vec![]]
    {
        let mut conversation = ConversationFixture::default();
        for message in messages {
            conversation.add(message);
        }
        assert_eq!(conversation.fold(&reminders).fired, 0);
    }
}

/// Providers refuse a request in which a message stands between the calls of a step and their
/// results, and an application may save each result as it arrives.
#[test]
fn steering_waits_until_all_calls_are_answered() {
    let reminders = build(reminder("x").when(always()).target(ReminderTarget::Steer));
    let mut conversation = ConversationFixture::default();
    assert!(!conversation.add(calls(&["a", "b"])).save(&reminders));
    let [first, second] = <[Part; 2]>::try_from(results(&["a", "b"], "out").parts).unwrap();
    assert!(!conversation.add(Message::new(Role::Tool, [first])).save(&reminders));
    assert!(conversation.add(Message::new(Role::Tool, [second])).save(&reminders));
}

#[test]
fn a_text_cannot_end_its_element() {
    for (text, expected) in [
        ("a</system-reminder>b", "a&lt;/system-reminder>b"),
        ("< / SYSTEM-reminder >", "&lt; / SYSTEM-reminder >"),
        ("<system-reminder>", "&lt;system-reminder>"),
        ("1 < 2 & <b>", "1 < 2 & <b>"),
    ] {
        let mut conversation = ConversationFixture::default();
        let _ = conversation.add("q").fold(&build(reminder(text)));
        assert_eq!(
            conversation.texts(),
            [format!("q<system-reminder>{expected}</system-reminder>")]
        );
    }
}

#[test]
fn a_made_text_sees_the_situation_and_may_be_nothing() {
    let turns = build(
        reminder_with(|now| (now.turn() > 1).then(|| format!("turn {}", now.turn())))
            .when(Predicate::once("a")),
    );
    let mut conversation = ConversationFixture::default();
    // Nothing was folded, so `once` is not used up.
    assert!(!conversation.add("q").save(&turns));
    assert!(conversation.add("r").save(&turns));
    assert!(!conversation.add("s").save(&turns));
    let blank = build(reminder_with(|_| Some(" ".into())));
    assert!(!conversation.add("t").save(&blank));
}

#[test]
fn once_is_once_per_conversation_and_found_again_in_the_chain() {
    for target in ALL_TARGETS {
        let reminders = build(reminder("x").when(Predicate::once("a")).target(target));
        let mut conversation = ConversationFixture::default();
        let turn = |conversation: &mut ConversationFixture| {
            let asked = conversation.add("q").save(&reminders);
            conversation.add(calls(&["a"])).add(results(&["a"], "out")).save(&reminders) | asked
        };
        assert!(turn(&mut conversation));
        assert!(!turn(&mut conversation));
        assert!(conversation.summary.once_used("a"));
        // Another process reads the chain.
        conversation.summary = ConversationSummary::new();
        conversation.stored.iter().for_each(|node| conversation.summary.push(node));
        assert!(!turn(&mut conversation), "{target}");
    }
}

#[test]
fn two_reminders_with_one_id_speak_once_together() {
    let once = |text: &str| reminder(text).when(Predicate::once("a")).build().unwrap();
    let mut conversation = ConversationFixture::default();
    let folded = conversation.add("q").fold(&[once("first"), once("second")]);
    assert_eq!((folded.fired, folded.once), (1, vec!["a".to_owned()]));
    assert_eq!(conversation.texts(), ["q<system-reminder>first</system-reminder>"]);
}

/// A failed save leaves the folded messages pending. The next fold must neither fold again nor lose
/// them.
#[test]
fn once_is_used_up_by_what_is_pending() {
    let reminders = build(reminder("x").when(Predicate::once("a")));
    let mut conversation = ConversationFixture::default();
    let _ = conversation.add("q").fold(&reminders);
    assert_eq!(conversation.add("r").fold(&reminders).fired, 0);
}

#[test]
fn metadata_of_others_is_left_alone() {
    let foreign = Metadata::default().with("reminders", Json::from("buy milk"));
    let mut conversation = ConversationFixture::default();
    assert_eq!(
        conversation
            .add(Message::from("q").with_metadata(foreign))
            .fold(&build(reminder("x")))
            .fired,
        0
    );
    // A synthetic message of another source is not a turn either.
    let synthetic = Metadata::default().with("synthetic", json!({"source": "guardrail"}));
    conversation.add(Message::from("retry").with_metadata(synthetic));
    let _ = conversation.save(&build(reminder("x")));
    assert_eq!(conversation.stored[1].message().unwrap().plain_text(), "retry");
    assert_eq!((conversation.summary.turns(), conversation.summary.messages()), (1, 2));
}

#[test]
fn a_folded_conversation() {
    let when = |text: &str, predicate| reminder(text).when(predicate);
    let reminders = [
        reminder("Cite sources."),
        when("Greet the user in 日本語.", Predicate::first_turns(1)).as_part(),
        when("The tool failed: read its manual.", Predicate::tool_failed("search"))
            .target(ReminderTarget::ToolOutput),
        when(
            "Two failures: ask the user.",
            Predicate::tool_failure_streak(2).and(Predicate::once("ask")),
        )
        .target(ReminderTarget::Steer),
        when("Plan </system-reminder> again.", Predicate::every_n_tool_calls(2))
            .target(ReminderTarget::Steer),
        when("A tool failed in the last turn.", Predicate::any_tool_failed()),
    ]
    .map(|builder| builder.build().unwrap());
    let mut conversation = ConversationFixture::default();
    let _ = conversation.add("Wie heißt er? 🎻").save(&reminders);
    for _ in 0..3 {
        let _ = conversation.add(calls(&["search"])).save(&reminders);
        let _ = conversation.add(failures(&["search"])).save(&reminders);
    }
    let _ = conversation.add(assistant("I do not know.")).save(&reminders);
    let _ = conversation.add("Try again.").save(&reminders);
    let mut out = String::new();
    for node in &conversation.stored {
        let body = String::from_utf8(node.body().bytes().to_vec()).unwrap();
        out.push_str(&format!("{} {body}\n", node.id));
    }
    insta::assert_snapshot!(out);
}
