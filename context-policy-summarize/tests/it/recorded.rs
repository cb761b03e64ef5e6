//! Behaviour recorded from another implementation, as far as it concerns summaries.

use context_core::message::Origin;
use context_core::message::{Media, MediaSource};
use context_core::{Message, Metadata, Part, Role};
use context_policy_summarize::Summarize;
use context_simulator::recordings;
use serde_json::Value;

use crate::fixture::{WHOLE, accept, between, goal, history, says, shown, steps, task, user};

/// Returns the sound and the unsound cases of a group.
fn cases(group: &str) -> Vec<Value> {
    let file = recordings::root().join("vectors/pilotdeck.json");
    let text = std::fs::read_to_string(file).expect("test data");
    let file: Value = serde_json::from_str(&text).unwrap();
    let cases = file["cases"].as_array().unwrap().iter();
    let cases: Vec<Value> = cases.filter(|case| case["group"] == group).cloned().collect();
    assert!(!cases.is_empty(), "no case of {group}");
    cases
}

fn message(json: &Value) -> Message {
    let role = if json["role"] == "assistant" { Role::Assistant } else { Role::User };
    let parts: Vec<Part> = json["content"].as_array().unwrap().iter().map(part).collect();
    match parts.iter().all(|part| matches!(part, Part::ToolResult(_))) {
        true => Message::new(Role::Tool, parts),
        false => Message::new(role, parts),
    }
}

fn part(json: &Value) -> Part {
    let text = |key: &str| json[key].as_str().unwrap_or_default().to_owned();
    let media = || Media {
        source: MediaSource::Base64(text("data").into()),
        media_type: Some(text("mimeType")),
        name: None,
        metadata: Metadata::default(),
    };
    match json["type"].as_str().unwrap() {
        "image" => Part::Image(media()),
        "pdf" => Part::Document(media()),
        "audio" => Part::Audio(media()),
        "tool_result" => {
            Part::tool_result(text("toolCallId"), json["content"][0]["text"].as_str().unwrap_or(""))
        }
        "tool_call" => Part::tool_call(text("id"), text("name"), json["input"].clone()),
        _ => Part::text(text("text")),
    }
}

/// Media are replaced by markers, wherever they stand; their bytes never reach the model that
/// summarises.
#[test]
#[ignore = "needs test data; `cargo xtask test` runs it"]
fn media_are_not_sent_to_be_summarised() {
    for case in cases("strip_media_for_summary") {
        let given = case["input"]["messages"].as_array().unwrap();
        let mut talk = vec![user("the task")];
        talk.extend(given.iter().map(message));
        talk.extend(steps("go on", 40, 4_000));
        let text = shown(&task(&Summarize::new(), &history(talk), &goal(10_000)));
        for data in ["AAAA", "BBBB", "CCCC"] {
            assert!(!text.contains(data), "{}", case["id"]);
        }
        if case["suspect"] == false {
            for text_of in case["output"]
                .as_array()
                .unwrap()
                .iter()
                .flat_map(|m| m["content"].as_array().unwrap())
            {
                let Some(expected) = text_of["text"].as_str() else { continue };
                assert!(text.contains(expected), "{}: {expected} in {text}", case["id"]);
            }
        }
    }
}

/// The checkpoint is first, followed by the kept messages. It is a user message, so a request never
/// ends with the assistant because of it, and no message has to be added if none is kept.
#[test]
#[ignore = "needs test data; `cargo xtask test` runs it"]
fn what_is_kept_follows_the_checkpoint() {
    for case in cases("post_compact_order") {
        let kept: Vec<Message> =
            case["input"]["messagesToKeep"].as_array().unwrap().iter().map(message).collect();
        let mut talk = steps("the task", 40, 4_000);
        talk.extend(kept.iter().cloned());
        let messages = history(talk);
        let task = task(&Summarize::new().keep_latest(kept.len()), &messages, &goal(6_000));
        let after = accept(&Summarize::new(), &messages, &task, &says(WHOLE)).unwrap().messages;
        assert!(after[0].is_checkpoint() && after[0].role == Role::User);
        assert_eq!(
            after[after.len() - kept.len()..],
            messages[messages.len() - kept.len()..],
            "{}",
            case["id"]
        );
    }
}

/// The role and the marks decide whose request a message is, never its text.
#[test]
#[ignore = "needs test data; `cargo xtask test` runs it"]
fn requests_of_the_user_are_shown_as_theirs() {
    for case in cases("real_request") {
        let given = message(&case["input"]["message"]);
        let synthetic = case["input"]["message"]["metadata"]["synthetic"] == true;
        let given = if synthetic { given.with_origin(Origin::Synthetic) } else { given };
        let request = given.is_request();
        let words = given.plain_text().into_owned();
        let mut talk = vec![user("the task"), given];
        talk.extend(steps("go on", 40, 4_000));
        let text = shown(&task(&Summarize::new(), &history(talk), &goal(10_000)));
        let second = between(&text, "the task\n</message>\n", "</message>").unwrap_or_default();
        let as_user = second.starts_with("<message from=\"user\">");
        assert!(!request || as_user, "{}: {second}", case["id"]);
        assert!(!synthetic || !as_user, "{}", case["id"]);
        // Texts that only look like synthetic messages are requests here, because synthetic
        // messages are marked.
        if case["output"] == true {
            assert!(request, "{}: {words}", case["id"]);
        }
    }
}
