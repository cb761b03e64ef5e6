//! Arrangements of conversations in files, broken lines, and files that are no transcripts.

use context_transcript::{Format, TranscriptError};
use proptest::prelude::*;

use crate::fixture::{check_equal, read_text, round_trip};

#[test]
fn every_form_comes_back() {
    let m = r#"{"role": "user", "content": "x"}"#;
    check_equal("a.json", &format!("[{m}, {m}]"), 1);
    check_equal("a.json", "[]", 1);
    check_equal(
        "a.json",
        &format!(r#"{{"id": 1.50, "messages": [{m}], "z": {{"messages": []}}}}"#),
        1,
    );
    check_equal("a.json", &format!(r#"{{"trajectory": [], "history": [{m}], "traj": 7}}"#), 1);
    check_equal(
        "a.json",
        &format!("[\n{{\"traj\": [{m}], \"n\": 1}},\n{{\"n\": 2, \"traj\": []}}]"),
        2,
    );
    check_equal("a.json", &format!("[[{m}], [], [{m}, {m}]]"), 3);
    check_equal("a.json", &format!("{m}\n\n{m}\n"), 1);
    check_equal("a.json", m, 1);
    check_equal("a.jsonl", &format!(r#"{{"messages": [{m}]}}"#), 1);
    check_equal("a", &format!("{{\"messages\": [{m}]}}\n{{\"history\": []}}"), 2);
}

#[test]
fn whose_messages_they_are_is_told_by_what_only_one_has() {
    let call = r#"{"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]}"#;
    let image = r#"{"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "u"}}]}"#;
    let user = r#"{"role": "user", "content": "about tool_use and the \"source\" of thinking"}"#;
    let tool = r#"{"role": "tool", "tool_call_id": "c", "content": "x"}"#;
    assert_eq!(check_equal("a.json", &format!("[{user}, {call}]"), 1), [Format::Anthropic]);
    assert_eq!(
        check_equal("a.json", &format!("{{\"system\": \"s\", \"messages\": [{image}]}}"), 1),
        [Format::Anthropic]
    );
    assert_eq!(
        check_equal("a.json", &format!("[[{user}], [{call}]]"), 2),
        [Format::OpenaiChat, Format::Anthropic]
    );
    assert_eq!(check_equal("a.json", &format!("[{call}, {tool}]"), 1), [Format::OpenaiChat]);
    let named = read_text("a", &format!("[{user}]"), Some(Format::Anthropic)).unwrap();
    assert_eq!(named[0].source.format, Format::Anthropic);
}

/// Checks the error of a file, and the line and column that the error names.
#[track_caller]
fn check_refused(name: &str, text: &str, expected: &str) {
    let error = read_text(name, text, None).unwrap_err();
    let place = match &error {
        TranscriptError::UnknownForm { line, .. } => format!("line {line}"),
        TranscriptError::Syntax { line, column, .. } => format!("line {line}, column {column}"),
        other => panic!("{other}"),
    };
    assert_eq!(format!("{error} ({place})"), expected);
}

#[test]
fn what_is_none_is_refused_with_its_place() {
    check_refused("a", " \n", "a is not a transcript we know: it is empty (line 1)");
    check_refused(
        "a",
        "7",
        "a is not a transcript we know: it is neither a list nor an object (line 1)",
    );
    check_refused("a", "[\n{]", "a is not JSON: key must be a string (line 2, column 2)");
    check_refused(
        "a",
        "[{\"messages\": []},\n\n {\"m\": []}]",
        "a is not a transcript we know: an object has no list of messages (line 3)",
    );
    check_refused(
        "a.jsonl",
        "\n{\"mess\n7",
        "a.jsonl is not JSON: EOF while parsing a string (line 2, column 6)",
    );
    let deep = "[".repeat(200_000);
    check_refused("a", &deep, "a is not JSON: EOF while parsing a list (line 1, column 200000)");
}

#[test]
fn a_line_that_cannot_be_read_does_not_keep_the_others_out() {
    let (good, robot) = (r#"{"role":"user","content":"x"}"#, r#"{"role": "robot"}"#);
    let text = format!("{good}\n7\n\n{robot}\n{good}\n{{\"role\": \"us");
    let passed = round_trip("a.jsonl", &text, None).unwrap();
    assert_eq!(passed.text, format!("{good}\n{good}\n"));
    let expected = [
        (2, "a message must be an object, found a number"),
        (4, "role \"robot\" is none of system, developer, user, assistant, tool, function"),
        (6, "EOF while parsing a string"),
    ];
    assert_eq!(passed.broken, expected.map(|(line, problem)| (line, problem.to_owned())));

    let chat = format!("{{\"messages\":[{good}]}}");
    let text = format!("{chat}\n{{\"m\": 1}}\n{{\"messages\": [{robot}]}}\n{chat}\n");
    let passed = round_trip("a.jsonl", &text, None).unwrap();
    assert_eq!(passed.text, format!("{chat}\n{chat}\n"));
    assert_eq!(passed.broken.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [2, 3]);
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "[\\[\\]{}\":,a \n0-9é]{0,40}", lines: bool) {
        let _ = read_text(if lines { "a.jsonl" } else { "a" }, &text, None);
    }
}
