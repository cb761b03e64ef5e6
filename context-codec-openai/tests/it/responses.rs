//! The Responses API through the public API: requests that are sent, and that nothing of a source
//! is lost.

use context_codec_openai::responses::{BODY_KEY, PROVIDER, ResponsesCodec, SOURCE_KEY};
use context_core::message::{Data, Media, MediaSource, OpaqueBlock, Reasoning};
use context_core::model::{FunctionTool, Tool, ToolChoice, WireError};
use context_core::{Json, Message, MessageCodec, Metadata, ModelRequest, Part, Role, ToolResult};
use serde_json::{Value, json};

pub(crate) fn value(json: &Json) -> Value {
    json.parse().unwrap()
}

#[track_caller]
pub(crate) fn lifted(body: &Value) -> ModelRequest {
    let request = ResponsesCodec.lift(&body.into()).unwrap().request;
    let back = ResponsesCodec.lower_source(&request);
    assert_eq!(value(&back.body), *body);
    assert_eq!(back.diagnostics, []);
    request
}

/// Returns the body, and the places where something was repaired or left out.
#[track_caller]
fn sent(request: &ModelRequest) -> (Value, Vec<String>) {
    let lowered = ResponsesCodec.lower(request).unwrap();
    (value(&lowered.body), lowered.diagnostics.into_iter().map(|d| d.path).collect())
}

#[track_caller]
fn items(request: &ModelRequest) -> Value {
    sent(request).0["input"].clone()
}

pub(crate) fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

pub(crate) fn call(id: &str) -> Value {
    json!({"type": "function_call", "call_id": id, "name": "look", "arguments": "{\"a\": 1.50}"})
}

pub(crate) fn output(id: &str) -> Value {
    json!({"type": "function_call_output", "call_id": id, "output": "nothing there"})
}

pub(crate) fn thought(id: &str) -> Value {
    json!({"type": "reasoning", "id": id, "summary": [], "encrypted_content": "gAAAA"})
}

#[test]
fn a_whole_body_is_sent_as_it_was_read() {
    let body = json!({
        "model": "gpt-5",
        "instructions": "Be brief.",
        "input": [
            {"role": "developer", "content": "Be kind."},
            {"role": "user", "content": [
                {"type": "input_text", "text": "what is this?", "prompt_cache_breakpoint": {"mode": "explicit"}},
                {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB", "detail": "low"},
                {"type": "input_image", "image_url": "https://example.org/a.png", "detail": "auto"},
                {"type": "input_image", "file_id": "file-1", "detail": "high"},
                {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0xLjcK"},
                {"type": "input_file", "file_url": "https://example.org/a.pdf"},
                {"type": "input_file", "file_id": "file-2", "detail": "low"},
            ]},
            {"type": "reasoning", "id": "rs_1", "summary": [
                {"type": "summary_text", "text": "First."}, {"type": "summary_text", "text": "Second."},
            ], "encrypted_content": "gAAAA", "content": [], "status": "completed"},
            {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "phase": "commentary",
             "content": [
                {"type": "output_text", "text": "I look.", "annotations": [
                    {"type": "url_citation", "url": "https://example.org", "title": "t", "start_index": 0, "end_index": 1},
                ]},
                {"type": "refusal", "refusal": "Not at that."},
            ]},
            {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}},
            {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": "{broken",
             "status": "completed", "namespace": "files", "caller": {"type": "direct"}},
            {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c2", "name": "sh", "input": "ls -l"},
            {"type": "local_shell_call", "id": "lsh_1", "call_id": "c3", "status": "completed",
             "action": {"type": "exec", "command": ["ls"], "env": {}}},
            {"type": "function_call_output", "call_id": "c1", "caller": {"type": "direct"}, "output": [
                {"type": "input_text", "text": "see"},
                {"type": "input_image", "image_url": "https://example.org/a.png", "detail": "auto"},
                {"type": "input_file", "file_id": "file-2"},
            ]},
            {"type": "custom_tool_call_output", "call_id": "c2", "output": "total 0"},
            {"type": "local_shell_call_output", "id": "c3", "output": "{}"},
            {"role": "assistant", "content": "Nothing.", "phase": "final_answer"},
            {"role": "system", "content": "Time: noon."},
            user("thanks"),
        ],
        "tools": [
            {"type": "function", "name": "look", "description": "Looks.", "parameters": {"type": "object"},
             "strict": true, "defer_loading": true},
            {"type": "web_search", "search_context_size": "low"},
        ],
        "tool_choice": {"type": "function", "name": "look"},
        "text": {"format": {"type": "json_schema", "name": "a", "schema": {"type": "object"}, "strict": true},
                 "verbosity": "low"},
        "max_output_tokens": 100,
        "temperature": 0.5,
        "stream": true,
        "store": false,
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"effort": "low"},
    });
    let request = lifted(&body);
    assert_eq!(sent(&request), (body, vec![]));
    assert!(request.metadata.get(SOURCE_KEY).is_none());
    assert!(request.messages.iter().all(|message| message.metadata.get(SOURCE_KEY).is_none()));

    let roles: Vec<_> =
        request.messages.iter().map(|message| (message.role, message.parts.len())).collect();
    use Role::{Assistant, System, Tool, User};
    let expected = [
        (System, 1),
        (User, 7),
        (Assistant, 7),
        (Tool, 2),
        (User, 1),
        (Assistant, 1),
        (System, 1),
        (User, 1),
    ];
    assert_eq!(roles, expected);
    let Part::Reasoning(thought) = &request.messages[2].parts[0] else { panic!() };
    assert_eq!(
        (thought.text.as_str(), thought.encrypted.as_deref()),
        ("First.\n\nSecond.", Some("gAAAA"))
    );
    assert_eq!(request.tool_choice, Some(ToolChoice::Named("look".into())));
    assert!(request.output.is_some());
}

#[test]
fn what_is_often_sent_unsoundly_is_sent_soundly() {
    let result = ToolResult {
        call_id: "c1".into(),
        name: None,
        output: vec![
            Part::text("out"),
            Part::Image(picture()),
            Part::Data(Data { name: "exit".into(), value: json!({"code": 1}).into() }),
        ],
        is_error: true,
        metadata: Metadata::default(),
    };
    let thought =
        Reasoning { text: "plan".into(), signature: Some("SIG".into()), ..Reasoning::default() };
    let request = ModelRequest::new([
        Message::from("q"),
        Message::new(
            Role::Assistant,
            [
                Part::Reasoning(thought),
                Part::text("text"),
                Part::tool_call("c1", "bash", json!({"cmd": "ls"})),
            ],
        ),
        Message::new(Role::Tool, [Part::ToolResult(result)]),
        Message::from("and then?"),
    ]);
    let (body, left_out) = sent(&request);
    assert_eq!(
        body["input"],
        json!([
            user("q"),
            {"role": "assistant", "content": "text"},
            {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": "{\"cmd\":\"ls\"}"},
            {"type": "function_call_output", "call_id": "c1", "output": [
                {"type": "input_text", "text": "Error: out"},
                {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB", "detail": "auto"},
                {"type": "input_text", "text": "{\"code\":1}"},
            ]},
            user("and then?"),
        ])
    );
    assert_eq!(left_out, ["messages[1].parts[0]"]);
}

fn picture() -> Media {
    let source = MediaSource::Base64("iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB".into());
    Media {
        source,
        media_type: Some("image/png".into()),
        name: None,
        metadata: Metadata::default(),
    }
}

#[test]
fn a_thought_is_sent_with_what_follows_it_or_not_at_all() {
    let with = |items: Value, extra: Value| {
        let mut body = json!({"input": items});
        body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        items_of(&body)
    };
    let kept = json!([user("q"), thought("rs_1"), thought("rs_2"), call("c"), output("c")]);
    assert_eq!(with(kept.clone(), json!({})), kept);
    // No item follows the thought.
    let alone =
        json!([user("q"), {"role": "assistant", "content": "a"}, thought("rs_1"), user("r")]);
    assert_eq!(
        with(alone, json!({})),
        json!([user("q"), {"role": "assistant", "content": "a"}, user("r")])
    );
    // The same thought again.
    let twice = json!([
        user("q"),
        thought("rs_1"),
        call("c"),
        output("c"),
        thought("rs_1"),
        call("d"),
        output("d")
    ]);
    let once = json!([user("q"), thought("rs_1"), call("c"), output("c"), call("d"), output("d")]);
    assert_eq!(with(twice, json!({})), once);
    // A thought known by its id alone is sent only to a provider that stores answers.
    let by_id = json!({"type": "reasoning", "id": "rs_1", "summary": []});
    let stored = json!([user("q"), by_id, call("c"), output("c")]);
    assert_eq!(with(stored.clone(), json!({})), stored);
    assert_eq!(with(stored, json!({"store": false})), json!([user("q"), call("c"), output("c")]));
    // The thought's text was edited.
    let body = json!({"input": [user("q"), {"type": "reasoning", "id": "rs_1", "summary": [
        {"type": "summary_text", "text": "secret"}, {"type": "summary_text", "text": "more"}]},
            call("c"), output("c")]});
    let mut request = lifted(&body);
    let mut message = (*request.messages[1]).clone();
    let Part::Reasoning(edited) = &mut message.parts[0] else { panic!() };
    edited.text = "[redacted]".into();
    request.messages.replace(1, message.into());
    assert_eq!(
        items(&request)[1]["summary"],
        json!([{"type": "summary_text", "text": "[redacted]"}])
    );
    assert!(!ResponsesCodec.lower_source(&request).body.as_str().contains("secret"));
}

#[track_caller]
fn items_of(body: &Value) -> Value {
    items(&lifted(body))
}

#[test]
fn what_belongs_to_another_provider_stays_here() {
    let block = |provider: &str| {
        Part::Opaque(OpaqueBlock {
            provider: provider.into(),
            value: json!({"type": "server_tool_use"}).into(),
        })
    };
    let mut request = ModelRequest::new([
        Message::from("q"),
        Message::new(Role::Assistant, [block("anthropic"), Part::text("a"), block(PROVIDER)]),
        Message::new(Role::Assistant, [block("openai")]),
    ]);
    request.tools = vec![
        Tool::Opaque(OpaqueBlock {
            provider: "anthropic".into(),
            value: json!({"type": "bash"}).into(),
        }),
        FunctionTool::new("f", json!({"type": "object"})).into(),
    ];
    let (body, left_out) = sent(&request);
    assert_eq!(
        body["input"],
        json!([user("q"), {"role": "assistant", "content": "a"}, {"type": "server_tool_use"}])
    );
    let tool =
        json!({"type": "function", "name": "f", "parameters": {"type": "object"}, "strict": null});
    assert_eq!(body["tools"], json!([tool]));
    assert_eq!(left_out, ["messages[2]", "tools[0]", "messages[1].parts[0]"]);
}

#[test]
fn a_server_tool_is_sent_with_its_output_or_not_at_all() {
    let shell = json!({"type": "shell_call", "call_id": "s", "action": {"commands": ["ls"]}});
    let shown = json!({"type": "shell_call_output", "call_id": "s", "output": []});
    let whole = json!([user("q"), shell, shown, user("r")]);
    assert_eq!(items_of(&json!({"input": whole})), whole);
    assert_eq!(
        items_of(&json!({"input": [user("q"), shell, user("r")]})),
        json!([user("q"), user("r")])
    );
    assert_eq!(
        items_of(&json!({"input": [user("q"), shown, user("r")]})),
        json!([user("q"), user("r")])
    );
}

#[test]
fn results_stand_together_and_each_id_comes_once() {
    let body = json!({"input": [
        user("q"), call("c1"), call("c2"), output("c2"), user("wait"), output("c1"),
        {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [
            {"type": "output_text", "text": "a", "annotations": []}]},
        user("again"),
        {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [
            {"type": "output_text", "text": "a", "annotations": []}]},
    ]});
    let sent = items_of(&body);
    assert_eq!(
        sent.as_array().unwrap()[1..6],
        [call("c1"), call("c2"), output("c2"), output("c1"), user("wait")]
    );
    assert_eq!(
        (&sent[6]["id"], &sent[8]),
        (&json!("msg_1"), &json!({"role": "assistant", "content": "a"}))
    );
    // Ids and names as the provider accepts them.
    let long = "x".repeat(100);
    let sent = items_of(
        &json!({"input": [user("q"), {"type": "function_call", "call_id": long, "name": "a.b", "arguments": ""},
        {"type": "function_call_output", "call_id": long, "output": "o"}]}),
    );
    assert_eq!(sent[1]["call_id"].as_str().unwrap().len(), 64);
    assert_eq!(sent[1]["call_id"], sent[2]["call_id"]);
    assert_eq!((&sent[1]["name"], &sent[1]["arguments"]), (&json!("a_b"), &json!("{}")));
}

#[test]
fn results_may_answer_calls_that_only_the_provider_has() {
    let input = json!([output("c1"), output("c2"), user("go on"), call("d"), output("d")]);
    for key in ["previous_response_id", "conversation"] {
        let (body, left_out) = sent(&lifted(&json!({"input": input, key: "resp_1"})));
        assert_eq!(body, json!({"input": input, key: "resp_1"}));
        assert_eq!(left_out, [""; 0]);
    }
    // Paths still name positions in the request.
    let (_, left_out) = sent(&lifted(
        &json!({"input": [output("c1"), user("go on"), call("d")], "conversation": "c"}),
    ));
    assert_eq!(left_out, ["messages[2].parts[0]"]);
    // A conversation that begins here has its calls here.
    let (body, left_out) = sent(&lifted(&json!({"input": input, "previous_response_id": null})));
    assert_eq!(body["input"], json!([user("go on"), call("d"), output("d")]));
    assert_eq!(left_out, ["messages[0].parts[0]", "messages[0].parts[1]"]);
    // An empty input may be enough.
    assert!(ResponsesCodec.lower(&lifted(&json!({"previous_response_id": "resp_1"}))).is_ok());
    let nothing = ResponsesCodec.lower(&lifted(&json!({"input": [], "model": "m"})));
    assert!(matches!(nothing, Err(WireError::NothingToSend)));
}

#[test]
fn results_of_calls_that_are_no_functions_are_written_as_the_call_was() {
    let body = json!({"input": [
        user("q"),
        {"type": "custom_tool_call", "call_id": "c1", "name": "sh", "input": "ls", "id": "ctc_1"},
        {"type": "function_call", "call_id": "c2", "name": "f", "arguments": "{}", "caller": {"type": "program", "caller_id": "p"}},
    ]});
    let mut request = lifted(&body);
    let results =
        Message::new(Role::Tool, [Part::tool_result("c1", "a"), Part::tool_result("c2", "b")]);
    request.messages.push(results.into());
    let sent = items(&request);
    assert_eq!(sent[3], json!({"type": "custom_tool_call_output", "call_id": "c1", "output": "a"}));
    let caller = json!({"type": "program", "caller_id": "p"});
    assert_eq!(
        sent[4],
        json!({"type": "function_call_output", "call_id": "c2", "output": "b", "caller": caller})
    );
}

#[test]
fn what_has_no_form_is_left_out_and_said() {
    let media = |media_type: Option<&str>, source| Media {
        source,
        media_type: media_type.map(Into::into),
        name: None,
        metadata: Metadata::default(),
    };
    let bytes = || MediaSource::Base64("JVBERi0xLjcK".into());
    let parts = vec![
        Part::text("look"),
        Part::Audio(media(Some("audio/wav"), bytes())),
        Part::Image(media(None, bytes())),
        Part::Document(media(Some("application/pdf"), bytes())),
    ];
    let (body, left_out) = sent(&ModelRequest::new([Message::from(parts)]));
    assert_eq!(
        body["input"][0]["content"],
        json!([
            {"type": "input_text", "text": "look"},
            {"type": "input_file", "filename": "document.pdf", "file_data": "data:application/pdf;base64,JVBERi0xLjcK"},
        ])
    );
    assert_eq!(left_out, ["messages[0].parts[1]", "messages[0].parts[2]"]);
}

#[test]
fn an_edited_message_is_written_as_it_is_now() {
    let mut request = lifted(
        &json!({"input": [{"role": "user", "content": [{"type": "input_text", "text": "hi"}]}]}),
    );
    let edited = Message::from("ho").with_metadata(request.messages[0].metadata.clone());
    request.messages = vec![edited.into()].into();
    let back = ResponsesCodec.lower_source(&request);
    assert_eq!(value(&back.body), json!({"input": [user("ho")]}));
    assert_eq!(back.diagnostics.len(), 1);
    request.model = Some("m".into());
    request.metadata.insert(BODY_KEY, json!({"store": false, "model": "other", "input": []}));
    assert_eq!(sent(&request).0, json!({"model": "m", "input": [user("ho")], "store": false}));
}

#[test]
fn what_names_no_file_of_the_provider_is_left_out() {
    let at =
        |source: &str| Media { source: MediaSource::Reference(source.to_owned()), ..picture() };
    for odd in ["", "gs://bucket/a.png", "blob:0", "a b"] {
        let parts = [
            Part::text("q"),
            Part::Image(at(odd)),
            Part::Document(at(odd)),
            Part::Image(at("file-1")),
        ];
        let (body, said) = sent(&ModelRequest::new([Message::new(Role::User, parts)]));
        let content = json!([
            {"type": "input_text", "text": "q"},
            {"type": "input_image", "file_id": "file-1", "detail": "auto"},
        ]);
        assert_eq!(body["input"][0]["content"], content, "{odd:?}");
        assert_eq!(said.len(), 2, "{said:?}");
    }
}
