//! Lowering of whole bodies.

use context_codec_anthropic::messages::{
    BODY_KEY, CACHE_KEY, DEFAULT_MAX_TOKENS, MessagesCodec, PARALLEL_KEY,
};
use context_codec_kit::provider_rules::check_body;
use context_core::message::{Data, Media, MediaSource, OpaqueBlock, Reasoning, Text};
use context_core::model::{CacheMarks, FunctionTool, OutputSchema, ToolChoice, WireError};
use context_core::{Json, Message, MessageCodec, Metadata, ModelRequest, Part, Role, ToolResult};
use proptest::prelude::*;
use serde_json::{Value, json};

pub(crate) fn value(json: &Json) -> Value {
    json.parse().expect("JSON parses")
}

/// Returns the sent body, which the provider must accept.
#[track_caller]
pub(crate) fn sent(request: &ModelRequest) -> Value {
    let body = value(&MessagesCodec.lower(request).expect("something to send").body);
    let mut checked = body.clone();
    // The newest types have no temperature, and each requires a model.
    checked.as_object_mut().unwrap().remove("temperature");
    checked["model"] = json!("m");
    assert_eq!(check_body("anthropic", &checked), [], "{body}");
    body
}

/// Returns the list of messages, without marks.
#[track_caller]
fn messages(history: impl IntoIterator<Item = Message>) -> Value {
    let mut request = ModelRequest::new(history).model("m");
    request.cache = CacheMarks::Existing;
    sent(&request)["messages"].take()
}

pub(crate) fn call(id: &str) -> Part {
    Part::tool_call(id, "look", Json::from(&json!({"a": 1})))
}

pub(crate) fn encrypted() -> Part {
    Part::Reasoning(Reasoning {
        encrypted: Some("eA==".into()),
        provider: Some("anthropic".into()),
        ..Reasoning::default()
    })
}

pub(crate) fn results(ids: &[&str]) -> Message {
    Message::new(Role::Tool, ids.iter().map(|id| Part::tool_result(*id, "done")))
}

fn says(role: &str, text: &str) -> Value {
    json!({"role": role, "content": [{"type": "text", "text": text}]})
}

pub(crate) fn opaque(value: Value) -> Part {
    Part::Opaque(OpaqueBlock { provider: "anthropic".into(), value: value.into() })
}

#[track_caller]
fn comes_back(body: Value) -> ModelRequest {
    let lifted = MessagesCodec.lift(&(&body).into()).expect("a request").request;
    let back = MessagesCodec.lower_source(&lifted);
    assert_eq!(value(&back.body), body);
    assert_eq!(back.diagnostics, []);
    lifted
}

#[test]
fn a_body_becomes_a_request_and_comes_back() {
    let body = json!({
        "model": "claude-x", "max_tokens": 99, "temperature": 0.5, "stream": true,
        "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral", "ttl": "1h"}}],
        "tools": [
            {"name": "look", "description": "", "input_schema": {"type": "object"}, "strict": true,
             "cache_control": {"type": "ephemeral"}, "defer_loading": false, "type": "custom"},
            {"type": "web_search_20250305", "name": "web_search", "max_uses": null},
        ],
        "tool_choice": {"type": "any", "disable_parallel_tool_use": true},
        "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": {"type": "object"}}},
        "thinking": {"type": "enabled", "budget_tokens": 50}, "stop_sequences": ["x"],
            "metadata": null,
        "messages": [says("user", "hi"), {"role": "assistant", "content": "so"}],
    });
    let request = comes_back(body.clone());
    assert_eq!(request.model.as_deref(), Some("claude-x"));
    assert_eq!(
        (request.max_output_tokens, request.temperature, request.stream),
        (Some(99), Some(0.5), Some(true))
    );
    assert_eq!(request.system[0].text, "Be brief.");
    assert_eq!(request.tool_choice, Some(ToolChoice::Required));
    assert_eq!(
        request.output,
        Some(OutputSchema::new("answer", Json::from(&json!({"type": "object"}))))
    );
    assert_eq!(request.metadata.get(PARALLEL_KEY).map(Json::as_str), Some("true"));
    assert!(request.metadata.get(BODY_KEY).expect("other keys").as_str().contains("budget_tokens"));
    assert!(request.prefill && request.cache == CacheMarks::Existing && request.tools.len() == 2);
    // A one-hour mark after a five-minute mark is refused, and null is no mark.
    let mut expected = body;
    expected["system"][0]["cache_control"] = json!({"type": "ephemeral"});
    expected["messages"][1]["content"] = json!([{"type": "text", "text": "so"}]);
    expected.as_object_mut().unwrap().remove("metadata");
    assert_eq!(sent(&request), expected);
}

#[test]
fn a_changed_request_is_written_as_it_is_now() {
    let body = json!({"model": "a", "max_tokens": 1.0e1, "system": "s", "messages": []});
    assert!(matches!(MessagesCodec.lift(&(&body).into()),
            Err(WireError::WrongType { path, .. }) if path == "max_tokens"));
    let mut request = comes_back(
        json!({"model": "a\u{fffd}", "output_format": null, "messages": [says("user", "hi")]}),
    );
    request.model = Some("b".into());
    let back = value(&MessagesCodec.lower_source(&request).body);
    assert_eq!(
        back,
        json!({"model": "b", "output_format": null, "messages": [says("user", "hi")]})
    );
    let mut request =
        comes_back(json!({"output_format": {"type": "json_schema", "schema": {}}, "messages": []}));
    request.output = None;
    let back = MessagesCodec.lower_source(&request);
    assert_eq!((value(&back.body), back.diagnostics.len()), (json!({"messages": []}), 1));
}

#[test]
fn results_are_one_message_and_come_first() {
    let history = [
        Message::from("q"),
        Message::new(Role::Assistant, [call("a"), call("b")]),
        results(&["a"]),
        results(&["b"]),
        Message::from("and?"),
        Message::from("please"),
    ];
    let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": "done"});
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "look", "input": {"a": 1}});
    let expected = json!([
        says("user", "q"),
        {"role": "assistant", "content": [call("a"), call("b")]},
        {"role": "user", "content": [result("a"), result("b"), {"type": "text", "text": "and?"}]},
        says("user", "please"),
    ]);
    assert_eq!(messages(history), expected);
}

#[test]
fn an_error_is_text_and_what_came_with_it_follows_the_results() {
    let image = || {
        Part::Image(Media {
            source: MediaSource::Base64("iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB".into()),
            media_type: Some("image/png".into()),
            name: None,
            metadata: Metadata::default(),
        })
    };
    let failed = |id: &str, output: Vec<Part>| {
        Part::ToolResult(ToolResult {
            call_id: id.into(),
            name: None,
            output,
            is_error: true,
            metadata: Metadata::default(),
        })
    };
    let history = [
        Message::from("q"),
        Message::new(Role::Assistant, [call("a"), call("b")]),
        Message::new(
            Role::Tool,
            [failed("a", vec![Part::text("out"), image()]), failed("b", vec![])],
        ),
    ];
    let content = &messages(history)[2]["content"];
    let kinds: Vec<_> = content.as_array().unwrap().iter().map(|block| &block["type"]).collect();
    assert_eq!(kinds, ["tool_result", "tool_result", "text", "image"]);
    assert_eq!(content[1]["content"], "[error]");
}

#[test]
fn system_messages_in_front_are_the_system_prompt() {
    let request = ModelRequest::new([
        Message::text(Role::System, "first"),
        Message::from("q"),
        Message::text(Role::System, "later"),
    ])
    .system("zeroth");
    let body = sent(&request);
    let texts: Vec<_> =
        body["system"].as_array().unwrap().iter().map(|block| &block["text"]).collect();
    assert_eq!(texts, ["zeroth", "first"]);
    assert_eq!(body["messages"][1]["role"], "user");
    assert!(matches!(
        MessagesCodec.lower(&ModelRequest::new([Message::text(Role::System, "alone")])),
        Err(WireError::NothingToSend)
    ));
}

#[test]
fn only_own_signed_thoughts_are_sent_and_never_last() {
    let thought = |provider: &str, signature: Option<&str>| {
        Part::Reasoning(Reasoning {
            text: "hm".into(),
            signature: signature.map(Into::into),
            provider: Some(provider.into()),
            ..Reasoning::default()
        })
    };
    let own = || thought("anthropic", Some("c2ln"));
    let mut request = ModelRequest::new([
        Message::from("q"),
        Message::new(
            Role::Assistant,
            [own(), thought("openai", Some("x")), thought("anthropic", None), Part::text("a  ")],
        ),
        Message::from("q"),
        Message::new(Role::Assistant, [Part::text("so \n"), own()]),
    ]);
    request.prefill = true;
    let body = sent(&request);
    let wire = json!({"type": "thinking", "thinking": "hm", "signature": "c2ln"});
    assert_eq!(body["messages"][1]["content"], json!([wire, {"type": "text", "text": "a  "}]));
    assert_eq!(body["messages"][3]["content"], json!([{"type": "text", "text": "so"}]));
}

#[test]
fn a_prefill_ends_without_white_space_whatever_is_dropped_behind_it() {
    // A result without its use is left out.
    let found = opaque(
        json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}),
    );
    let mut request = ModelRequest::new([
        Message::from("q"),
        Message::text(Role::Assistant, "so "),
        Message::new(Role::Assistant, [encrypted(), found]),
    ]);
    request.prefill = true;
    request.cache = CacheMarks::Existing;
    assert_eq!(sent(&request)["messages"], json!([says("user", "q"), says("assistant", "so")]));
}

#[test]
fn what_the_system_says_is_named_as_such() {
    let mut request = ModelRequest::new([Message::from("q")]);
    let mark = Metadata::default().with(CACHE_KEY, Json::from(&json!({"type": "ephemeral"})));
    request.system = vec![Text { text: "\u{1c} ".into(), metadata: mark }];
    let lowered = MessagesCodec.lower(&request).unwrap();
    let paths: Vec<_> =
        lowered.diagnostics.iter().map(|diagnostic| diagnostic.path.as_str()).collect();
    assert_eq!(paths, ["system[0]"]);
    assert_eq!(sent(&request).get("system"), None);
}

#[test]
fn tools_of_the_provider_keep_their_pairs_or_go() {
    let used = |id: &str| {
        opaque(json!({"type": "server_tool_use", "id": id, "name": "web_search", "input": {}}))
    };
    let found = |id: &str| {
        opaque(json!({"type": "web_search_tool_result", "tool_use_id": id, "content": []}))
    };
    let answer = |parts: Vec<Part>| Message::new(Role::Assistant, parts);
    let (one, two) = ("srvtoolu_1", "srvtoolu_2");
    let sent = messages([
        Message::from("q"),
        answer(vec![used(one), found(one), used(two), found("srvtoolu_3"), Part::text("so")]),
        Message::from("q"),
    ]);
    let kinds: Vec<_> =
        sent[1]["content"].as_array().unwrap().iter().map(|block| &block["type"]).collect();
    assert_eq!(kinds, ["server_tool_use", "web_search_tool_result", "text"]);
    // A paused answer is sent back unchanged, without a message after it.
    let mut paused = answer(vec![Part::text("let me see"), used(one)]);
    paused.metadata.insert("anthropic.response", Json::from(&json!({"stop_reason": "pause_turn"})));
    let sent = messages([Message::from("q"), paused]);
    assert_eq!((sent.as_array().unwrap().len(), &sent[1]["content"][1]["id"]), (2, &json!(one)));
    // Blocks of another provider are not sent.
    let other = Part::Opaque(OpaqueBlock { provider: "openai".into(), value: Json::from("x") });
    let lowered = MessagesCodec
        .lower(&ModelRequest::new([Message::new(Role::User, [Part::text("q"), other])]))
        .unwrap();
    assert_eq!(lowered.diagnostics[0].path, "messages[0].parts[1]");
}

#[test]
fn media_is_what_the_provider_takes() {
    let media = |source: MediaSource, media_type: Option<&str>| Media {
        source,
        media_type: media_type.map(Into::into),
        name: None,
        metadata: Metadata::default(),
    };
    let base64 = |data: &str, kind: &str| media(MediaSource::Base64(data.into()), Some(kind));
    let parts = vec![
        Part::Image(base64("/9j/wAARCAABAAEDASIAAhEBAxEB", "image/jpg")),
        Part::Image(base64("AAAA", "image/tiff")),
        Part::Image(base64("no base64", "image/png")),
        Part::Image(media(MediaSource::Url("data:image/gif;base64,R0lGODlhAQABAAAA".into()), None)),
        Part::Image(media(MediaSource::Url("file:///a.png".into()), None)),
        Part::Document(base64("JVBERi0xLjcK", "application/pdf")),
        Part::Document(base64("aGkgdGhlcmU=", "text/markdown")),
        Part::Document(media(MediaSource::Reference("file_1".into()), None)),
        Part::Audio(base64("AAAA", "audio/wav")),
        Part::Data(Data { name: "note".into(), value: Json::from("x") }),
        Part::Image(media(MediaSource::Reference("gs://bucket/a.png".into()), None)),
    ];
    let request = ModelRequest::new([Message::from(parts)]);
    let lowered = MessagesCodec.lower(&request).unwrap();
    let left_out: Vec<_> =
        lowered.diagnostics.iter().map(|diagnostic| diagnostic.path.as_str()).collect();
    assert_eq!(left_out, [1, 2, 4, 8, 9, 10].map(|i| format!("messages[0].parts[{i}]")));
    let sources = sent(&request)["messages"][0]["content"].clone();
    let sources: Vec<_> =
        sources.as_array().unwrap().iter().map(|block| block["source"].clone()).collect();
    assert_eq!(
        sources,
        [
            json!({"type": "base64", "media_type": "image/jpeg", "data": "/9j/wAARCAABAAEDASIAAhEBAxEB"}),
            json!({"type": "base64", "media_type": "image/gif", "data": "R0lGODlhAQABAAAA"}),
            json!({"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjcK"}),
            json!({"type": "text", "media_type": "text/plain", "data": "hi there"}),
            json!({"type": "file", "file_id": "file_1"}),
        ]
    );
}

#[test]
fn what_is_beside_the_messages_is_made_valid() {
    let mut request = ModelRequest::new([Message::from("q")])
        .tool_choice(ToolChoice::Named("gone".into()))
        .tools([
            FunctionTool::new("a b", Json::from(&json!({"properties": {}}))),
            FunctionTool::new("a_b", Json::from(&json!({"type": "object"}))),
        ])
        .output(OutputSchema::new("x", Json::from(&json!({"type": "object"}))));
    request.temperature = Some(1.5);
    request.cache = CacheMarks::Existing;
    let lowered = MessagesCodec.lower(&request).unwrap();
    let paths: Vec<_> =
        lowered.diagnostics.iter().map(|diagnostic| diagnostic.path.as_str()).collect();
    assert_eq!(paths, ["tools[0]", "tools[1]", "tool_choice", "temperature"]);
    let expected = json!({
        "max_tokens": DEFAULT_MAX_TOKENS, "temperature": 1.0,
        "tools": [{"name": "a_b", "input_schema": {"type": "object", "properties": {}}}],
        "output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}},
        "messages": [says("user", "q")],
    });
    assert_eq!(sent(&request), expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn whatever_body_is_read_comes_back(body in body_like()) {
        if let Ok(lifted) = MessagesCodec.lift(&Json::from(&body)) {
            let back = MessagesCodec.lower_source(&lifted.request);
            prop_assert_eq!(value(&back.body), body);
            prop_assert_eq!(back.diagnostics, []);
            let _ = MessagesCodec.lower(&lifted.request);
        }
    }
}

/// Bodies whose keys are present or not, null, or of another type.
fn body_like() -> impl Strategy<Value = Value> {
    let values = [
        json!(null),
        json!(7),
        json!("x"),
        json!(""),
        json!([]),
        json!({}),
        json!(true),
        json!(0.50),
        json!(-1),
        json!({"type": "auto"}),
        json!({"type": "tool", "name": "x"}),
        json!({"type": "none", "disable_parallel_tool_use": true}),
        json!({"type": "any", "disable_parallel_tool_use": false, "x": 1}),
        json!({"format": {"type": "json_schema", "schema": {}}}),
        json!({"format": null, "effort": "low"}),
        json!({"type": "json_schema", "schema": {"a": 1}}),
        json!({"effort": "low"}),
        json!([{"type": "text", "text": "a"}]),
        json!([{"type": "text", "text": "a", "x": null}, {"type": "text", "text": ""}]),
        json!([{"type": "image", "source": {"type": "url", "url": "u"}}]),
        json!([{"name": "f", "input_schema": {}, "strict": null, "odd": [1]}, {"name": "f"}, {"type": "bash", "name": "b"}]),
        json!([says("user", "hi"), {"role": "assistant", "content": null}, {"role": "system", "content": "s"}]),
        json!([{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "is_error": false, "content": "x"}]}]),
    ];
    let key = "(model|max_tokens|temperature|stream|system|tools|tool_choice|output_config|output_format|thinking|messages)";
    let entries =
        proptest::collection::btree_map(key, proptest::sample::select(values.to_vec()), 0..7);
    entries.prop_map(|entries| Value::Object(entries.into_iter().collect()))
}
