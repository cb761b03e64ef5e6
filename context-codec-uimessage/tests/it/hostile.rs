//! Hostile input.

use context_codec_uimessage::UiMessageCodec;
use context_core::{Json, MessageCodec};
use proptest::prelude::*;

use crate::round_trip;

fn error(text: &str) -> String {
    let body = Json::from_text(text).expect("JSON");
    UiMessageCodec.lift(&body).expect_err("no body").to_string()
}

#[test]
fn what_is_no_body_says_where() {
    for (body, expected) in [
        ("7", "a message must be a list, found a number"),
        ("{}", "messages is missing"),
        (r#"{"messages": {}}"#, "messages must be a list, found an object"),
        ("[1]", "[0] must be an object, found a number"),
        (r#"[{"id": "a", "parts": []}]"#, "[0].role is missing"),
        (r#"[{"role": "tool", "parts": []}]"#, r#"role "tool" is none of system, user, assistant"#),
        (
            r#"{"messages": [{"role": "user", "parts": 1}]}"#,
            "messages[0].parts must be a list, found a number",
        ),
        (r#"[{"role": "user", "parts": [[]]}]"#, "[0].parts[0] must be an object, found a list"),
        (r#"[{"role": "user", "parts": [{}]}]"#, "[0].parts[0].type is missing"),
        (
            r#"[{"role": "user", "parts": [{"type": "text", "text": 1}]}]"#,
            "[0].parts[0].text must be a string, found a number",
        ),
        (
            r#"[{"role": "user", "parts": [{"type": "file", "mediaType": "a"}]}]"#,
            "[0].parts[0].url is missing",
        ),
        (
            r#"[{"role": "assistant", "parts": [{"type": "tool-f"}]}]"#,
            "[0].parts[0].state is missing",
        ),
        (
            r#"[{"role": "assistant", "parts": [{"type": "tool-f", "state": "input-available"}]}]"#,
            "[0].parts[0].toolCallId is missing",
        ),
        (r#"[{"role": "user", "content": 1}]"#, "[0].content must be a string, found a number"),
    ] {
        assert_eq!(error(body), expected, "{body}");
    }
}

#[test]
fn what_is_odd_comes_back() {
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    for body in [
        r#"[{"role": "user"}]"#.to_owned(),
        r#"[{"id": 7, "role": "user", "parts": []}, {"id": null, "role": "assistant", "parts": null}]"#.to_owned(),
        r#"[{"role": "assistant", "parts": [{"type": "step-start"}, {"type": "step-start", "x": 1}]}]"#.to_owned(),
        r#"[{"role": "user", "parts": [{"type": "text", "text": "half \ud800"}]}]"#.to_owned(),
        r#"[{"role": "user", "parts": [{"type": "step-start"}, {"type": "reasoning"}, {"type": "tool-f"}, {"type": ""}]}]"#.to_owned(),
        r#"[{"role": "assistant", "parts": [{"type": "tool-", "state": "output-available", "toolCallId": ""}]}]"#.to_owned(),
        r#"[{"role": "assistant", "parts": [{"type": "tool-f", "state": "later", "n": 1e999, "m": 12345678901234567890123}]}]"#
            .to_owned(),
        format!(r#"[{{"role": "user", "metadata": {deep}, "parts": [{{"type": "data-x", "data": {deep}}}]}}]"#),
    ] {
        let body = Json::from_text(body).expect("JSON");
        if body.as_str().contains("[[[") || body.as_str().contains("1e999")
            || body.as_str().contains("ud800") {
            // The value is too deep for a tree, so it is compared as text.
            let request = UiMessageCodec.lift(&body).expect("a body").request;
            let back = UiMessageCodec.lower_source(&request);
            assert_eq!(back.diagnostics, []);
            assert_eq!(back.body.as_str().len(), body.compact().as_str().len());
            continue;
        }
        round_trip(&body);
    }
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "[\\[\\]{}\":,a-e0-9é]{0,60}") {
        if let Ok(body) = Json::from_text(text)
            && let Ok(lifted) = UiMessageCodec.lift(&body) {
            let _ = UiMessageCodec.lower(&lifted.request);
        }
    }
}
