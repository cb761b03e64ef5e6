//! Input from providers and clients: bodies, answers, events, refusals.

use context_codec_kit::JsonPatch;
use context_core::model::{ModelCodec, WireError};
use context_core::{Json, MessageCodec};
use context_runtime::anthropic::messages::MessagesCodec;
use context_runtime::gemini::generate::GenerateCodec;
use context_runtime::openai::chat::ChatCodec;
use context_runtime::openai::responses::ResponsesCodec;
use context_runtime::uimessage::ui::UiMessageCodec;

/// Checks a codec with bytes that are read as a body, as an answer, and as the events of an answer.
fn model(codec: &dyn ModelCodec, bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let mut stream = codec.answer_stream();
    for line in text.lines() {
        let before = stream.answer();
        if stream.push(line).is_err() {
            assert_eq!(
                stream.answer(),
                before,
                "an event that cannot be read changes nothing: {line}"
            );
        }
    }
    let mut taken = !stream.finish().message.parts.is_empty();
    if let Ok(json) = Json::from_text(text) {
        taken |= codec.lift_answer(&json).is_ok();
        taken |= body(codec, &json);
    }
    taken
}

/// Checks that a lifted body is the same value when it is lowered as its source, and that a lowered
/// body can be lifted.
fn body(codec: &dyn MessageCodec, json: &Json) -> bool {
    let Ok(lifted) = codec.lift(json) else { return false };
    let source = codec.lower_source(&lifted.request);
    let same =
        source.body.compact() == json.compact() || JsonPatch::between(&source.body, json).is_none();
    assert!(same, "{} is not {json}", source.body);
    match codec.lower(&lifted.request) {
        Ok(lowered) => assert!(codec.lift(&lowered.body).is_ok(), "{} is not read", lowered.body),
        Err(WireError::NothingToSend) => {}
        Err(error) => panic!("what was read cannot be sent: {error}"),
    }
    true
}

pub(crate) fn openai(bytes: &[u8]) -> bool {
    model(&ChatCodec, bytes)
}

pub(crate) fn responses(bytes: &[u8]) -> bool {
    model(&ResponsesCodec, bytes)
}

pub(crate) fn anthropic(bytes: &[u8]) -> bool {
    model(&MessagesCodec, bytes)
}

pub(crate) fn gemini(bytes: &[u8]) -> bool {
    model(&GenerateCodec, bytes)
}

pub(crate) fn uimessage(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    Json::from_text(text).is_ok_and(|json| body(&UiMessageCodec, &json))
}

/// Checks an error body. The first byte determines the status, if any.
pub(crate) fn refusal(bytes: &[u8]) -> bool {
    let Some((&status, body)) = bytes.split_first() else { return false };
    let body = String::from_utf8_lossy(body);
    let status = (status > 0).then(|| 300 + u16::from(status));
    for provider in ["openai", "anthropic", "gemini", "somebody"] {
        let error = context_codec_kit::classify(provider, status, &body);
        assert!(error.message.len() <= 8 << 10, "a message of {} bytes", error.message.len());
        assert_eq!(error, context_codec_kit::classify(provider, status, &body));
    }
    true
}

pub(crate) fn openai_seeds() -> Vec<Vec<u8>> {
    super::texts([
        include_str!("../../seeds/openai.request.json"),
        include_str!("../../seeds/openai.answer.json"),
        include_str!("../../seeds/openai.events.txt"),
    ])
}

pub(crate) fn responses_seeds() -> Vec<Vec<u8>> {
    super::texts([
        include_str!("../../seeds/responses.request.json"),
        include_str!("../../seeds/responses.answer.json"),
        include_str!("../../seeds/responses.events.txt"),
    ])
}

pub(crate) fn anthropic_seeds() -> Vec<Vec<u8>> {
    super::texts([
        include_str!("../../seeds/anthropic.request.json"),
        include_str!("../../seeds/anthropic.answer.json"),
        include_str!("../../seeds/anthropic.events.txt"),
    ])
}

pub(crate) fn gemini_seeds() -> Vec<Vec<u8>> {
    super::texts([
        include_str!("../../seeds/gemini.request.json"),
        include_str!("../../seeds/gemini.answer.json"),
        include_str!("../../seeds/gemini.events.txt"),
    ])
}

pub(crate) fn uimessage_seeds() -> Vec<Vec<u8>> {
    super::texts([include_str!("../../seeds/uimessage.json")])
}

pub(crate) fn refusal_seeds() -> Vec<Vec<u8>> {
    super::texts([
        r#"d{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
        r#"z{"type":"error","error":{"type":"rate_limit_error","message":"Number of request tokens has exceeded your per-minute rate limit. Try again in 6m0s."}}"#,
        r#"d[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"27s"}]}}]"#,
        "\0<html><h1>502 Bad Gateway</h1></html>",
    ])
}
