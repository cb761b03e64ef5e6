//! The key and the lifetime of the prompt cache, in both forms.

use std::time::Duration;

use context_codec_kit::provider_rules::check_body;
use context_codec_openai::chat::ChatCodec;
use context_codec_openai::responses::ResponsesCodec;
use context_core::{Json, Message, MessageCodec, ModelRequest};
use serde_json::{Value, json};

const CODECS: [&dyn MessageCodec; 2] = [&ChatCodec, &ResponsesCodec];

fn sent(codec: &dyn MessageCodec, request: &ModelRequest) -> Value {
    let body = codec.lower(request).unwrap().body.parse().unwrap();
    assert_eq!(check_body(codec.name(), &body), []);
    body
}

fn request() -> ModelRequest {
    ModelRequest::new([Message::from("Two tickets to Lisbon.")]).model("gpt-5.1")
}

#[test]
fn a_key_and_a_lifetime_are_sent_and_come_back() {
    for codec in CODECS {
        let plain = sent(codec, &request());
        assert_eq!(
            (&plain["prompt_cache_key"], &plain["prompt_cache_retention"]),
            (&Value::Null, &Value::Null)
        );
        for (seconds, retention) in
            [(60, "in_memory"), (300, "in_memory"), (301, "24h"), (86_400, "24h")]
        {
            let asked = request().cache_key("chat-1").cache_lifetime(Duration::from_secs(seconds));
            let body = sent(codec, &asked);
            assert_eq!(body["prompt_cache_key"], "chat-1");
            assert_eq!(body["prompt_cache_retention"], retention, "{seconds}");
            let lifted = codec.lift(&Json::from(&body)).unwrap().request;
            assert_eq!(lifted.cache_key.as_deref(), Some("chat-1"));
            let lifetime = if retention == "24h" { 86_400 } else { 300 };
            assert_eq!(lifted.cache_lifetime, Some(Duration::from_secs(lifetime)));
            assert_eq!(sent(codec, &lifted), body);
            assert_eq!(codec.lower_source(&lifted).body.parse::<Value>().unwrap(), body);
        }
    }
}

#[test]
fn a_key_that_is_too_long_is_left_out_and_named() {
    for codec in CODECS {
        let longest = "k".repeat(64);
        assert_eq!(
            sent(codec, &request().cache_key(longest.as_str()))["prompt_cache_key"],
            longest
        );
        let lowered = codec.lower(&request().cache_key("k".repeat(65))).unwrap();
        assert!(!lowered.body.as_str().contains("prompt_cache_key"));
        assert_eq!(lowered.diagnostics[0].path, "cache_key");
    }
}

/// A value that no field holds stays among the other keys of the body, and a field that the program
/// sets takes its place.
#[test]
fn other_values_of_these_keys_are_kept() {
    for (codec, messages) in CODECS.into_iter().zip(["messages", "input"]) {
        let hello = json!([{"role": "user", "content": "hi"}]);
        let body = json!({"model": "m", messages: hello, "prompt_cache_key": null,
            "prompt_cache_retention": "in-memory", "prompt_cache_options": {"mode": "explicit"}});
        let mut lifted = codec.lift(&Json::from(&body)).unwrap().request;
        assert_eq!((&lifted.cache_key, lifted.cache_lifetime), (&None, None));
        assert_eq!(codec.lower_source(&lifted).body.parse::<Value>().unwrap(), body);
        let again: Value = codec.lower(&lifted).unwrap().body.parse().unwrap();
        assert_eq!(again["prompt_cache_retention"], "in-memory");
        assert_eq!(again["prompt_cache_options"], json!({"mode": "explicit"}));
        lifted = lifted.cache_key("k").cache_lifetime(Duration::from_secs(86_400));
        let body = sent(codec, &lifted);
        assert_eq!(
            (&body["prompt_cache_key"], &body["prompt_cache_retention"]),
            (&json!("k"), &json!("24h"))
        );
    }
}
