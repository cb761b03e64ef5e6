//! Chat Completions: whole bodies.

use context_codec_openai::chat::{BODY_KEY, ChatCodec, SOURCE_KEY};
use context_core::message::{Data, Media, MediaSource, OpaqueBlock};
use context_core::model::{FunctionTool, OutputSchema, Tool, ToolChoice, WireError};
use context_core::{Json, Message, MessageCodec, Metadata, ModelRequest, Part, Role, ToolResult};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::chat::{any_json, message_like};

fn value(json: &Json) -> Value {
    json.parse().unwrap()
}

#[track_caller]
fn sent(request: &ModelRequest) -> Value {
    value(&ChatCodec.lower(request).unwrap().body)
}

/// Lifts a body, and returns the request and the sent body. The source is restored exactly.
#[track_caller]
fn lifted(body: &Value) -> (ModelRequest, Value) {
    let lifted = ChatCodec.lift(&body.into()).unwrap().request;
    let back = ChatCodec.lower_source(&lifted);
    assert_eq!(value(&back.body), *body);
    assert_eq!(back.diagnostics, []);
    let sent = sent(&lifted);
    (lifted, sent)
}

fn hello() -> Value {
    json!([{"role": "user", "content": "hello"}])
}

#[test]
fn a_body_of_everything_is_a_request_of_everything() {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let body = json!({
        "model": "gpt-5",
        "messages": [
            {"role": "developer", "content": [{"type": "text", "text": "You book."}, {"type": "text", "text": "Trips."}]},
            {"role": "user", "content": "Two tickets."},
        ],
        "tools": [
            {"type": "function", "function": {"name": "book", "description": "Books.", "parameters": schema, "strict": true}},
            {"type": "custom", "custom": {"name": "sh"}},
        ],
        "tool_choice": {"type": "function", "function": {"name": "book"}},
        "response_format": {"type": "json_schema",
            "json_schema": {"name": "trip", "schema": schema, "strict": false}},
        "max_completion_tokens": 500,
        "temperature": 0.5,
        "stream": true,
        "stream_options": {"include_usage": true},
        "reasoning_effort": "low",
        "n": 1,
    });
    let (request, sent) = lifted(&body);
    assert_eq!(sent, body);
    assert_eq!(request.model.as_deref(), Some("gpt-5"));
    assert_eq!(
        request.system.iter().map(|text| text.text.as_str()).collect::<Vec<_>>(),
        ["You book.", "Trips."]
    );
    assert_eq!(request.messages.len(), 1);
    let tool = FunctionTool::new("book", &schema).description("Books.");
    let Tool::Function(read) = &request.tools[0] else { panic!("{:?}", request.tools) };
    assert_eq!(
        (&read.name, &read.description, read.strict),
        (&tool.name, &tool.description, Some(true))
    );
    assert!(matches!(&request.tools[1], Tool::Opaque(block) if block.provider == "openai"));
    assert_eq!(request.tool_choice, Some(ToolChoice::Named("book".into())));
    assert_eq!(
        request.output.as_ref().map(|output| (output.name.as_str(), output.strict)),
        Some(("trip", Some(false)))
    );
    assert_eq!(
        (request.max_output_tokens, request.temperature, request.stream),
        (Some(500), Some(0.5), Some(true))
    );
    let rest =
        json!({"stream_options": {"include_usage": true}, "reasoning_effort": "low", "n": 1});
    assert_eq!(request.metadata.get(BODY_KEY).map(value), Some(rest));
    assert_eq!(request.metadata.get(SOURCE_KEY), None);
}

#[test]
fn the_old_key_of_the_limit_is_remembered() {
    let body = json!({"model": "m", "messages": hello(), "max_tokens": 9});
    assert_eq!(lifted(&body).1, body);
    let both =
        json!({"model": "m", "messages": hello(), "max_tokens": 9, "max_completion_tokens": 8});
    let (request, sent) = lifted(&both);
    assert_eq!((request.max_output_tokens, sent), (Some(8), both));
    let fresh = ModelRequest::new([Message::from("hello")]).max_output_tokens(7);
    assert_eq!(sent_key(&fresh, "max_completion_tokens"), json!(7));
}

fn sent_key(request: &ModelRequest, key: &str) -> Value {
    sent(request)[key].clone()
}

#[test]
fn system_messages_that_say_more_stay_messages() {
    for system in [
        json!({"role": "system", "content": "x", "name": "boss"}),
        json!({"role": "system", "content": "x", "seen": true}),
        json!({"role": "system", "content": [{"type": "text", "text": "x"}]}),
    ] {
        let (request, _) = lifted(&json!({"model": "m", "messages": [system, hello()[0]]}));
        assert!(request.system.is_empty());
        assert_eq!(request.messages[0].role, Role::System);
    }
    // A system prompt alone is the conversation.
    let alone =
        json!({"model": "m", "messages": [{"role": "system", "content": "You are a potato."}]});
    let (request, sent) = lifted(&alone);
    assert!(request.system.is_empty());
    assert_eq!(sent, alone);
    // A system message after another one stays there.
    let two = json!({"model": "m", "messages": [
        {"role": "system", "content": "a"}, {"role": "developer", "content": "b"}, hello()[0],
        {"role": "system", "content": "c"}]});
    let (request, sent) = lifted(&two);
    assert_eq!((request.system.len(), request.messages.len()), (1, 3));
    assert_eq!(sent, two);
}

#[test]
fn legacy_functions_are_sent_as_tools() {
    let body = json!({"model": "m", "messages": [
            {"role": "user", "content": "q"},
            {"role": "assistant", "content": null, "function_call": {"name": "find", "arguments": "{}"}},
            {"role": "function", "name": "find", "content": "42"},
        ],
        "functions": [{"name": "find", "parameters": {"type": "object"}}], "function_call": {"name": "find"}});
    let (_, sent) = lifted(&body);
    let function = json!({"name": "find", "parameters": {"type": "object"}});
    assert_eq!(sent["tools"], json!([{"type": "function", "function": function}]));
    assert_eq!(sent["tool_choice"], json!({"type": "function", "function": {"name": "find"}}));
    assert_eq!((&sent["functions"], &sent["function_call"]), (&Value::Null, &Value::Null));
    assert_eq!(sent["messages"][1]["tool_calls"][0]["id"], sent["messages"][2]["tool_call_id"]);
}

#[test]
fn a_choice_that_is_none_of_ours_is_sent_as_it_was() {
    let choice = json!({"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}});
    let tool = json!({"type": "function", "function": {"name": "f", "parameters": {}}});
    let body = json!({"model": "m", "messages": hello(), "tools": [tool], "tool_choice": choice});
    let (mut request, sent) = lifted(&body);
    assert_eq!(sent, body);
    // The request's own choice takes precedence.
    request.tool_choice = Some(ToolChoice::None);
    assert_eq!(sent_key(&request, "tool_choice"), json!("none"));
    // Without tools there is no choice.
    request.tools.clear();
    let lowered = ChatCodec.lower(&request).unwrap();
    assert_eq!(value(&lowered.body).get("tool_choice"), None);
    assert!(lowered.diagnostics.iter().any(|diagnostic| diagnostic.path == "tool_choice"));
}

#[test]
fn what_belongs_to_others_is_left_out_as_a_unit() {
    let foreign = OpaqueBlock { provider: "anthropic".into(), value: json!({"type": "x"}).into() };
    let mut request = ModelRequest::new([Message::new(
        Role::User,
        [Part::text("hi"), Part::Opaque(foreign.clone())],
    )])
    .tools([Tool::Opaque(foreign)]);
    request.metadata = Metadata::default().with("anthropic.body", Json::from(&json!({"top_k": 4})));
    let lowered = ChatCodec.lower(&request).unwrap();
    assert_eq!(value(&lowered.body), json!({"messages": [{"role": "user", "content": "hi"}]}));
    let paths: Vec<_> =
        lowered.diagnostics.iter().map(|diagnostic| diagnostic.path.as_str()).collect();
    assert_eq!(paths, ["messages[0].parts[1]", "tools[0]"]);
}

#[test]
fn nothing_is_an_error() {
    for messages in
        [vec![], vec![Message::new(Role::User, [])], vec![Message::text(Role::Assistant, " ")]]
    {
        let request = ModelRequest::new(messages).system("Be brief.");
        assert!(matches!(ChatCodec.lower(&request), Err(WireError::NothingToSend)));
    }
}

fn image(name: &str) -> Part {
    let source = MediaSource::Base64("iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB".into());
    let (media_type, name) = (Some("image/png".into()), Some(name.into()));
    Part::Image(Media { source, media_type, name, metadata: Metadata::default() })
}

fn result(id: &str, output: Vec<Part>, is_error: bool) -> Part {
    let metadata = Metadata::default();
    Part::ToolResult(ToolResult {
        call_id: id.into(),
        name: Some("look".into()),
        output,
        is_error,
        metadata,
    })
}

#[test]
fn media_of_results_come_behind_all_results_of_the_turn() {
    let call = |id: &str| Part::tool_call(id, "look", json!({}));
    let request = ModelRequest::new([
        Message::from("look"),
        Message::new(Role::Assistant, [call("a"), call("b"), call("c")]),
        Message::new(Role::Tool, [result("a", vec![Part::text("seen"), image("1")], false)]),
        Message::new(
            Role::Tool,
            [result("b", vec![image("2"), image("3")], false), result("c", vec![], false)],
        ),
        Message::from("and then?"),
    ]);
    let messages = sent(&request)["messages"].clone();
    let roles: Vec<_> =
        messages.as_array().unwrap().iter().map(|m| m["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "tool", "tool", "user", "user"]);
    assert_eq!(messages[2]["content"], "seen\n[1 image follows after the results]");
    assert_eq!(messages[3]["content"], "[2 images follow after the results]");
    let shown = messages[5]["content"].as_array().unwrap();
    let kinds: Vec<_> = shown.iter().map(|part| part["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["text", "image_url", "text", "image_url", "image_url"]);
    assert!(shown[0]["text"].as_str().unwrap().contains("call a (look)"));
    assert_eq!(messages[6]["content"], "and then?");
}

#[test]
fn a_failure_is_said_once() {
    let said = |text: &str| {
        let output = if text.is_empty() { vec![] } else { vec![Part::text(text)] };
        let request = ModelRequest::new([
            Message::from("go"),
            Message::new(Role::Assistant, [Part::tool_call("a", "look", json!({}))]),
            Message::new(Role::Tool, [result("a", output, true)]),
        ]);
        sent(&request)["messages"][2]["content"].as_str().unwrap().to_owned()
    };
    assert_eq!(said("no such file"), "Error: no such file");
    assert_eq!(said("ERROR 404: gone"), "ERROR 404: gone");
    assert_eq!(said("the command failed\nwith code 1"), "the command failed\nwith code 1");
    assert_eq!(said(""), "Error: the call failed.");
}

#[test]
fn data_in_a_result_is_read_as_text() {
    let data = Part::Data(Data {
        name: "weather".into(),
        value: Json::from_text(r#"{"t": 1.50}"#).unwrap(),
    });
    let request = ModelRequest::new([
        Message::from("go"),
        Message::new(Role::Assistant, [Part::tool_call("a", "look", json!({}))]),
        Message::new(Role::Tool, [result("a", vec![data], false)]),
    ]);
    assert_eq!(sent(&request)["messages"][2]["content"], r#"{"t": 1.50}"#);
}

#[test]
fn calls_go_out_as_servers_take_them() {
    let long = "x".repeat(50);
    let messages = [
        Message::from("q"),
        Message::new(Role::Assistant, [Part::tool_call(long.as_str(), "bad name!", json!({}))]),
        Message::new(Role::Tool, [Part::tool_result(long.as_str(), "ok")]),
    ];
    let request = ModelRequest::new(messages).tools([FunctionTool::new("bad name!", json!({}))]);
    let body = sent(&request);
    let call = &body["messages"][1]["tool_calls"][0];
    assert!(call["id"].as_str().unwrap().len() <= 40);
    assert_eq!(call["id"], body["messages"][2]["tool_call_id"]);
    assert_eq!(body["messages"][1].get("content"), None);
    // A tool is declared under the name under which it is called.
    assert_eq!(call["function"]["name"], body["tools"][0]["function"]["name"]);
}

#[test]
fn sound_is_wav_or_mp3_and_documents_have_names() {
    let media = |media_type: &str, data: &str| {
        let source = MediaSource::Base64(data.into());
        Media {
            source,
            media_type: Some(media_type.into()),
            name: None,
            metadata: Metadata::default(),
        }
    };
    let parts = vec![
        Part::Audio(media("audio/mpeg", "SUQzBAAA")),
        Part::Audio(media("audio/ogg", "T2dnUwAA")),
        Part::Document(media("application/pdf", "JVBERi0xLjcK")),
    ];
    let lowered = ChatCodec.lower(&ModelRequest::new([Message::from(parts)])).unwrap();
    let content = &value(&lowered.body)["messages"][0]["content"];
    assert_eq!(
        *content,
        json!([
            {"type": "input_audio", "input_audio": {"data": "SUQzBAAA", "format": "mp3"}},
            {"type": "file", "file": {"filename": "document.pdf", "file_data": "data:application/pdf;base64,JVBERi0xLjcK"}},
        ])
    );
    assert_eq!(lowered.diagnostics[0].path, "messages[0].parts[1]");
}

#[test]
fn cache_marks_of_parts_are_sent_again() {
    let mark = json!({"mode": "explicit"});
    let body = json!({"model": "m", "messages": [{"role": "user", "content": [
        {"type": "text", "text": "long", "prompt_cache_breakpoint": mark}]}]});
    assert_eq!(lifted(&body).1, body);
}

#[test]
fn an_edited_request_is_written_as_it_is_now() {
    let body = json!({"model": "m", "messages": hello(), "tools": [
        {"type": "function", "function": {"name": "f", "parameters": {}}, "extra": 1}]});
    let (mut request, _) = lifted(&body);
    assert!(request.metadata.get(SOURCE_KEY).is_some());
    request.model = Some("other".into());
    let back = ChatCodec.lower_source(&request);
    assert_eq!(value(&back.body)["model"], "other");
    assert_eq!(value(&back.body)["tools"], body["tools"]);
    request.tools.clear();
    let back = ChatCodec.lower_source(&request);
    assert_eq!(value(&back.body), json!({"model": "other", "messages": hello()}));
    assert_eq!(back.diagnostics[0].path, SOURCE_KEY);
}

#[test]
fn what_cannot_be_read_is_named() {
    let refused =
        |text: &str| ChatCodec.lift(&Json::from_text(text).unwrap()).unwrap_err().to_string();
    assert_eq!(refused("[]"), "body must be an object, found a list");
    assert_eq!(refused("{}"), "messages is missing");
    assert_eq!(refused(r#"{"messages": 1}"#), "messages must be a list, found a number");
    assert_eq!(refused(r#"{"messages": [1]}"#), "messages[0] must be an object, found a number");
    let content = r#"{"messages": [{"role": "user", "content": [{"type": "text"}]}]}"#;
    assert_eq!(refused(content), "messages[0].content[0].text is missing");
    let call = r#"{"messages": [{"role": "assistant", "tool_calls": [{"function": 1}]}]}"#;
    assert_eq!(
        refused(call),
        "messages[0].tool_calls[0].function must be an object, found a number"
    );
}

#[test]
fn a_schema_is_output_and_other_formats_ride_along() {
    let output = OutputSchema::new("trip", json!({"type": "object"}));
    let format =
        sent_key(&ModelRequest::new([Message::from("x")]).output(output), "response_format");
    let schema = json!({"name": "trip", "schema": {"type": "object"}, "strict": true});
    assert_eq!(format, json!({"type": "json_schema", "json_schema": schema}));
    let body =
        json!({"model": "m", "messages": hello(), "response_format": {"type": "json_object"}});
    assert_eq!(lifted(&body).1, body);
}

/// Regression test: the earlier refusal was written after the content between the two, and so
/// changed its place with each turn.
#[test]
fn refusals_keep_their_places_but_for_the_last() {
    let refusal = |text: &str| json!({"type": "refusal", "refusal": text});
    let odd = json!({"type": "odd"});
    let asked = json!({"role": "user", "content": "go on"});
    let said = json!({"role": "assistant", "content": [refusal("no"), refusal("never"), odd]});
    let (_, sent) = lifted(&json!({"messages": [asked, said]}));
    let expected =
        json!({"role": "assistant", "content": [refusal("no"), odd], "refusal": "never"});
    assert_eq!(sent["messages"][1], expected);
    assert_eq!(lifted(&sent).1, sent);
}

fn body_like() -> impl Strategy<Value = Value> {
    let schema =
        any_json().prop_map(|schema| json!({"name": "f", "parameters": schema, "strict": null}));
    let tool = prop_oneof![
        schema.prop_map(|function| json!({"type": "function", "function": function, "extra": 1})),
        any_json(),
    ];
    let key = |key: &'static str, value: BoxedStrategy<Value>| {
        proptest::option::of(value)
            .prop_map(move |value| value.map(|value| (key.to_owned(), value)))
    };
    let number = || prop_oneof![any::<u64>().prop_map(Value::from), any_json()].boxed();
    let choice = prop_oneof![
        Just(json!("auto")),
        Just(json!({"type": "function", "function": {"name": "f"}})),
        any_json(),
    ];
    let format = any_json().prop_map(|schema| {
        json!({"type": "json_schema",
            "json_schema": {"name": "n", "schema": schema, "x": 1}})
    });
    let tools = proptest::collection::vec(tool, 0..3).prop_map(Value::from);
    (
        proptest::collection::vec(message_like(), 0..5).prop_map(Value::from),
        key("model", prop_oneof![Just(json!("m")), any_json()].boxed()),
        key("tools", prop_oneof![tools.clone(), any_json()].boxed()),
        key("functions", tools.boxed()),
        key("tool_choice", choice.boxed()),
        key("response_format", prop_oneof![format, any_json()].boxed()),
        key("max_tokens", number()),
        key("max_completion_tokens", number()),
        key("temperature", number()),
        key("stream", prop_oneof![Just(json!(true)), any_json()].boxed()),
        proptest::collection::vec(("[a-z$]{0,4}", any_json()), 0..3),
    )
        .prop_map(|(messages, a, b, c, d, e, f, g, h, i, more)| {
            let keys = [a, b, c, d, e, f, g, h, i].into_iter().flatten();
            let messages = ("messages".to_owned(), messages);
            Value::Object(more.into_iter().chain([messages]).chain(keys).collect())
        })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None,
        ..ProptestConfig::with_cases(300) })]

    #[test]
    fn whatever_body_is_read_comes_back(body in body_like()) {
        // Numbers of f64 are printed in one way, whatever their source text.
        let body = Json::from(&body);
        if let Ok(lifted) = ChatCodec.lift(&body) {
            let back = ChatCodec.lower_source(&lifted.request);
            prop_assert_eq!(value(&back.body), value(&body));
            prop_assert_eq!(back.diagnostics, []);
            // A sent body can be lifted, and is sent the same way again.
            if let Ok(sent) = ChatCodec.lower(&lifted.request) {
                let again = ChatCodec.lift(&sent.body).unwrap().request;
                let twice = ChatCodec.lower(&again).unwrap();
                prop_assert_eq!(value(&twice.body), value(&sent.body));
            }
        }
    }
}
