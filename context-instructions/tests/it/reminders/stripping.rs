//! Folded reminders can be removed again, and nothing else is removed.

use std::path::{Path, PathBuf};
use std::{env, fs};

use context_core::message::Data;
use context_core::{Json, Message, Metadata, Part, Role, ToolResult};
use context_instructions::{
    Predicate, Reminder, ReminderTarget, reminder, strip_ranges, strip_reminders,
};
use proptest::prelude::*;
use serde_json::json;

use super::{ConversationFixture, build, calls, results};

/// Returns the folder of test data: `CONTEXT_TEST_DATA`, else `shared` beside the workspace.
fn data_root() -> PathBuf {
    match env::var_os("CONTEXT_TEST_DATA").filter(|folder| !folder.is_empty()) {
        Some(folder) => folder.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared"),
    }
}

#[test]
#[ignore = "needs test data; `cargo xtask test` runs it"]
fn recorded_ranges() {
    let path = data_root().join("vectors/deepagents-misc.json");
    let text = fs::read_to_string(path).expect("test data");
    #[derive(serde::Deserialize)]
    struct Case {
        text: String,
        ranges: Vec<(i64, i64)>,
        result: String,
    }
    let file: Metadata = serde_json::from_str(&text).unwrap();
    let cases: Vec<Case> = file.get("stripTextByRanges").unwrap().parse().unwrap();
    assert!(!cases.is_empty());
    for Case { text, ranges, result } in cases {
        // The offsets were recorded in UTF-16 units, which are the same for these texts. An offset
        // before the start is not a number here.
        assert!(text.chars().all(|c| c.len_utf16() == 1));
        let at = |offset| usize::try_from(offset).unwrap_or(0);
        let ranges: Vec<_> = ranges.into_iter().map(|(start, end)| at(start)..at(end)).collect();
        assert_eq!(strip_ranges(&text, &ranges), result, "{text:?} {ranges:?}");
    }
}

#[test]
fn a_synthetic_message_comes_back_without_parts() {
    let steer = reminder("x").when(Predicate::once("a")).target(ReminderTarget::Steer);
    let mut conversation = ConversationFixture::default();
    let _ = conversation.add(calls(&["a"])).add(results(&["a"], "out")).fold(&build(steer));
    let stripped = strip_reminders(conversation.pending[2].message().unwrap());
    assert!(stripped.is_placeholder() && stripped.is_synthetic());
    assert_eq!(stripped.metadata.get("reminders"), None);
}

/// Returns a message with these marks.
fn marked(text: &str, marks: serde_json::Value) -> Message {
    Message::from(text).with_metadata(Metadata::default().with("reminders", marks))
}

#[test]
fn what_was_changed_since_is_not_cut() {
    let folded = "q<system-reminder>x</system-reminder>";
    let end = folded.chars().count();
    let mark = json!([{"part": 0, "start": 1, "end": end}]);
    assert_eq!(strip_reminders(&marked(folded, mark.clone())), Message::from("q"));
    for changed in [
        "a question that was amended and is much longer than what stood here",
        "ask<system-reminder>x</system-reminder>",
        "q<system-reminder>xyz</system-reminder>",
        "q",
        "",
    ] {
        assert_eq!(strip_reminders(&marked(changed, mark.clone())), Message::from(changed));
    }
    // Two elements are not one, however the range came about.
    let twice = format!("{folded}{}", &folded[1..]);
    let mark = json!([{"part": 0, "start": 1, "end": twice.chars().count()}]);
    assert_eq!(strip_reminders(&marked(&twice, mark)), Message::from(twice));
}

#[test]
fn marks_that_make_no_sense_cut_nothing() {
    let folded = "q<system-reminder>x</system-reminder>";
    let largest = usize::MAX;
    for marks in [
        json!([{"part": 0, "start": 5, "end": 1}]),
        json!([{"part": 0, "start": largest, "end": largest}]),
        json!([{"part": largest, "start": 0, "end": 1}]),
        json!([{"part": 0, "output": 0, "start": 1, "end": 37}]),
        json!([]),
    ] {
        assert_eq!(strip_reminders(&marked(folded, marks)), Message::from(folded));
    }
    // Marks of another form are kept.
    for marks in [json!("milk"), json!([{"part": -1, "start": 0, "end": 1}]), json!({"part": 0})] {
        let message = marked(folded, marks);
        assert_eq!(strip_reminders(&message), message);
    }
}

#[test]
fn the_same_range_twice_is_cut_once() {
    let folded = "q<system-reminder>x</system-reminder> ";
    let mark = json!({"part": 0, "start": 1, "end": 37});
    let message = marked(folded, json!([mark.clone(), {"part": 7, "start": 0, "end": 9}, mark]));
    assert_eq!(strip_reminders(&message), Message::from("q "));
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[a-c \n]{0,6}",
        "[é漢🎻👩\u{200d}👧\u{301}\u{2028} ]{0,6}",
        Just(String::new()),
        Just("</system-reminder>".to_owned()),
        Just("<system-reminder>quoted</system-reminder>".to_owned()),
    ]
}

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        3 => text().prop_map(Part::text),
        1 => Just(Part::Data(Data { name: "d".into(), value: Json::from(1) })),
        1 => Just(Part::Unknown(Json::from_text(r#"{"type":"hologram"}"#).unwrap())),
    ]
}

fn metadata() -> impl Strategy<Value = Metadata> {
    prop_oneof![
        Just(Metadata::default()),
        text().prop_map(|text| Metadata::default().with("note", Json::from(text.as_str())))
    ]
}

fn user_message() -> impl Strategy<Value = Message> {
    (prop::collection::vec(part(), 0..4), metadata())
        .prop_map(|(parts, metadata)| Message::new(Role::User, parts).with_metadata(metadata))
}

fn tool_message() -> impl Strategy<Value = Message> {
    let result = prop::collection::vec(part(), 0..3).prop_map(|output| {
        let (call_id, name, is_error) = ("c".to_owned(), None, false);
        Part::ToolResult(ToolResult {
            call_id,
            name,
            output,
            is_error,
            metadata: Metadata::default(),
        })
    });
    (prop::collection::vec(prop_oneof![3 => result, 1 => part()], 0..4), metadata())
        .prop_map(|(parts, metadata)| Message::new(Role::Tool, parts).with_metadata(metadata))
}

fn reminders() -> impl Strategy<Value = Vec<Reminder>> {
    let one = (text(), any::<bool>(), any::<bool>(), prop::option::of("[a-é]{1,2}"));
    let one = one.prop_filter_map("a text", |(text, own, tool, once)| {
        let target = if tool { ReminderTarget::ToolOutput } else { ReminderTarget::User };
        let when = once.map_or(Predicate::all([]), Predicate::once);
        let builder = reminder(text).target(target).when(when);
        if own { builder.as_part() } else { builder }.build().ok()
    });
    prop::collection::vec(one, 0..5)
}

proptest! {
    #[test]
    fn stripping_gives_back_what_was_folded_into(
        user in user_message(), tool in tool_message(), reminders in reminders(),
            usage in any::<Option<u64>>()
    ) {
        let mut conversation = ConversationFixture { usage, ..ConversationFixture::default() };
        let folded = conversation.add(tool.clone()).add(user.clone()).fold(&reminders);
        prop_assert_eq!(conversation.pending.len(), 2);
        for (node, original) in conversation.pending.iter().zip([&tool, &user]) {
            // Decodes the stored form, as a reader gets it.
            let stored = Message::decode(&node.message().unwrap().encode()).unwrap();
            prop_assert_eq!(&strip_reminders(&stored), original);
            prop_assert_eq!(&stored == original, !folded.changed.contains(&node.id));
            prop_assert_eq!(strip_reminders(&strip_reminders(&stored)), strip_reminders(&stored));
        }
        let before = conversation.pending.clone();
        let second = conversation.fold(&reminders);
        let untouched = before.iter().filter(|node| !folded.changed.contains(&node.id));
        prop_assert!(second.changed.iter().all(|id| untouched.clone().any(|node| node.id == *id)));
    }

    #[test]
    fn ranges_are_of_characters(
        text in text(), ranges in prop::collection::vec((0usize..12,
            0usize..12).prop_map(|(a, b)| a..b), 0..4)
    ) {
        let kept = text.chars().enumerate().filter(|(at,
            _)| !ranges.iter().any(|range| range.contains(at)));
        let kept: String = kept.map(|(_, c)| c).collect();
        let expected = if kept == text { kept.as_str() } else { kept.trim_end() };
        prop_assert_eq!(strip_ranges(&text, &ranges), expected);
    }

    #[test]
    fn no_marks_make_stripping_fail(
        text in text(), marks in prop::collection::vec(any::<(u8, Option<u8>, u8, u8)>(), 0..4)
    ) {
        let marks: Vec<_> = marks
            .into_iter()
            .map(|(part, output, start,
                end)| json!({"part": part % 3, "output": output, "start": start, "end": end}))
            .collect();
        // Without an element in the text, a mark removes nothing.
        let stripped = strip_reminders(&marked(&text, json!(marks)));
        if !text.contains("<system-reminder>") {
            prop_assert_eq!(stripped, Message::from(text));
        }
    }
}
