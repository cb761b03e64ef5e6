//! Whole answers.

use context_codec_gemini::generate::{ANSWER_KEY, GenerateCodec, NO_ID, SIGNATURE_KEY};
use context_core::model::{ModelCodec, StopReason, Usage};
use context_core::{MessageCodec, Part, Role};
use serde_json::{Value, json};

use crate::shared::{answered, json, value};

#[test]
fn an_answer_is_a_message_with_what_is_known_of_it() {
    let body = json!({
        "candidates": [{
            "content": {"role": "model", "parts": [
                {"text": "Hm.", "thought": true},
                {"text": "Here", "thoughtSignature": "cw=="},
                {"text": " you are."},
                {"functionCall": {"name": "f", "args": {"a": 1}}, "thoughtSignature": "cx=="},
                {"functionCall": {"id": "c2", "name": "f", "args": {}}},
            ]},
            "finishReason": "STOP",
            "index": 0,
            "citationMetadata": {"citations": [1]},
        }],
        "usageMetadata": {
            "promptTokenCount": 100, "cachedContentTokenCount": 60, "candidatesTokenCount": 7,
            "thoughtsTokenCount": 5, "toolUsePromptTokenCount": 20, "totalTokenCount": 132,
        },
        "modelVersion": "gemini-x",
        "responseId": "a/b",
    });
    let answer = GenerateCodec.lift_answer(&json(&body)).unwrap();
    assert_eq!(answer.message.role, Role::Assistant);
    assert_eq!(answer.stop, Some(StopReason::ToolCalls));
    assert_eq!((answer.model.as_deref(), answer.id.as_deref()), (Some("gemini-x"), Some("a/b")));
    let mut usage = Usage::default();
    (usage.input, usage.output, usage.cache_read, usage.reasoning) = (60, 12, 60, Some(5));
    assert_eq!(answer.usage, Some(usage));
    assert!(answer.complete && answer.diagnostics.is_empty());
    let [
        Part::Reasoning(_),
        Part::Text(signed),
        Part::Text(rest),
        Part::ToolCall(first),
        Part::ToolCall(second),
    ] = answer.message.parts.as_slice()
    else {
        panic!("{answer:?}")
    };
    assert_eq!((signed.text.as_str(), rest.text.as_str()), ("Here", " you are."));
    assert_eq!(first.id, "call_a_b_1");
    assert!(first.metadata.get(NO_ID).is_some() && first.metadata.get(SIGNATURE_KEY).is_some());
    assert_eq!(second.id, "c2");
    let facts = value(answer.message.metadata.get(ANSWER_KEY).unwrap());
    assert_eq!(facts["citationMetadata"], json!({"citations": [1]}));
    assert_eq!(facts["finishReason"], "STOP");

    let sent = value(&GenerateCodec.lower(&answered(&answer.message)).unwrap().body);
    assert_eq!(sent["contents"][1]["parts"], body["candidates"][0]["content"]["parts"]);
    let responses = &sent["contents"][2]["parts"];
    assert!(responses[0]["functionResponse"].get("id").is_none());
    assert_eq!(responses[1]["functionResponse"]["id"], "c2");
}

#[test]
fn reasons_to_stop() {
    let stop = |reason: &str| {
        let body = json!({"candidates": [{"content": {}, "finishReason": reason}]});
        GenerateCodec.lift_answer(&json(&body)).unwrap().stop.unwrap()
    };
    assert_eq!(stop("STOP"), StopReason::Stop);
    assert_eq!(stop("MAX_TOKENS"), StopReason::Length);
    for reason in
        ["SAFETY", "RECITATION", "PROHIBITED_CONTENT", "SPII", "BLOCKLIST", "IMAGE_SAFETY"]
    {
        assert_eq!(stop(reason), StopReason::ContentFilter);
    }
    assert_eq!(
        stop("MALFORMED_FUNCTION_CALL"),
        StopReason::Other("MALFORMED_FUNCTION_CALL".into())
    );
    let blocked = json!({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 3}});
    let answer = GenerateCodec.lift_answer(&json(&blocked)).unwrap();
    assert_eq!(answer.stop, Some(StopReason::ContentFilter));
    assert!(answer.complete && answer.message.parts.is_empty());
}

#[test]
fn an_error_is_an_answer_without_parts() {
    let body =
        json!({"error": {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED"}});
    for body in [body.clone(), json!([body])] {
        let answer = GenerateCodec.lift_answer(&json(&body)).unwrap();
        let error = answer.error.unwrap();
        assert_eq!((error.provider.as_str(), error.status), ("gemini", Some(429)));
        assert!(answer.message.parts.is_empty() && !answer.complete);
        assert_eq!(answer.diagnostics, []);
    }
}

#[test]
fn only_the_first_candidate_counts() {
    let candidate = |index: u32, text: &str| {
        json!({"index": index, "content": {"parts": [{"text": text}]},
        "finishReason": "STOP"})
    };
    let body = json!({"candidates": [candidate(0, "a"), candidate(1, "b")]});
    let answer = GenerateCodec.lift_answer(&json(&body)).unwrap();
    assert_eq!(answer.message.plain_text(), "a");
    assert_eq!(answer.diagnostics.len(), 1);
}

#[test]
fn what_is_no_answer_is_an_error_that_names_the_place() {
    let cases: [(Value, &str); 6] = [
        (json!("x"), ""),
        (json!({"candidates": {}}), "candidates"),
        (json!({"candidates": [1]}), "candidates[0]"),
        (
            json!({"candidates": [{"content": {"parts": [{"text": 1}]}}]}),
            "candidates[0].content.parts[0].text",
        ),
        (json!({"candidates": [{"finishReason": 1}]}), "candidates[0].finishReason"),
        (json!({"usageMetadata": {"promptTokenCount": -1}}), "usageMetadata.promptTokenCount"),
    ];
    for (body, path) in cases {
        let error = GenerateCodec.lift_answer(&json(&body)).unwrap_err();
        assert_eq!(error.path(), path, "{body}: {error}");
    }
}
