//! Whole requests.

use context_codec_gemini::generate::{BODY_KEY, GenerateCodec, SKIP_SIGNATURE, UNSIGNED_KEY};
use context_codec_kit::normalize::HistoryRules;
use context_core::message::{Media, MediaSource, OpaqueBlock, Reasoning};
use context_core::model::{FunctionTool, OutputSchema, Tool, ToolChoice, WireError};
use context_core::{Message, MessageCodec, Metadata, ModelRequest, Part, Role, ToolResult};
use serde_json::{Value, json};

use crate::shared::{check_contents, json, value};

pub(crate) fn sent(request: &ModelRequest) -> Value {
    let body = value(&GenerateCodec.lower(request).unwrap().body);
    check_contents(&body);
    body
}

pub(crate) fn call(id: &str, name: &str) -> Part {
    Part::tool_call(id, name, json(&json!({"path": "a.rs"})))
}

pub(crate) fn media(source: MediaSource, media_type: Option<&str>) -> Media {
    Media {
        source,
        media_type: media_type.map(str::to_owned),
        name: None,
        metadata: Metadata::default(),
    }
}

pub(crate) fn result(id: &str, output: Vec<Part>) -> Part {
    let call_id = id.to_owned();
    Part::ToolResult(ToolResult {
        call_id,
        name: None,
        output,
        is_error: false,
        metadata: Metadata::default(),
    })
}

#[test]
fn the_user_speaks_first() {
    let request = ModelRequest::new([Message::text(Role::Assistant, "hi"), Message::from("q")]);
    let expected = json!([
        {"role": "user", "parts": [{"text": HistoryRules::OPENING}]},
        {"role": "model", "parts": [{"text": "hi"}]},
        {"role": "user", "parts": [{"text": "q"}]},
    ]);
    assert_eq!(sent(&request)["contents"], expected);
}

#[test]
fn ids_with_odd_characters() {
    let request = ModelRequest::new([
        Message::from("q"),
        Message::new(Role::Assistant, [call("toolu:1/x", "bash")]),
        Message::new(Role::Tool, [Part::tool_result("toolu:1/x", "ok")]),
    ]);
    let expected = json!([
        {"role": "user", "parts": [{"text": "q"}]},
        {"role": "model", "parts": [
            {"functionCall": {"id": "toolu_1_x", "name": "bash", "args": {"path": "a.rs"}}},
        ]},
        {"role": "user", "parts": [
            {"functionResponse": {"id": "toolu_1_x", "name": "bash", "response": {"output": "ok"}}},
        ]},
    ]);
    assert_eq!(sent(&request)["contents"], expected);
}

#[test]
fn responses_come_first_and_carry_their_error() {
    let mut failed = Part::tool_result("b", "no");
    if let Part::ToolResult(result) = &mut failed {
        result.is_error = true;
    }
    let request = ModelRequest::new([
        Message::from("q"),
        Message::new(Role::Assistant, [call("a", "f"), call("b", "g")]),
        Message::new(Role::User, [Part::text("and?"), Part::tool_result("a", "ok")]),
        Message::new(Role::Tool, [failed]),
    ]);
    let body = sent(&request);
    let parts = &body["contents"][2]["parts"];
    assert_eq!(parts[0]["functionResponse"]["response"], json!({"output": "ok"}));
    assert_eq!(
        parts[1]["functionResponse"],
        json!({"id": "b", "name": "g", "response": {"error": "no"}})
    );
    assert_eq!(parts[2], json!({"text": "and?"}));
}

#[test]
fn system_messages_in_front_are_the_system_instruction() {
    let request = ModelRequest::new([
        Message::text(Role::System, "b"),
        Message::from("q"),
        Message::text(Role::System, "now"),
        Message::from("go"),
    ])
    .system("a");
    let body = sent(&request);
    assert_eq!(body["systemInstruction"], json!({"parts": [{"text": "a"}, {"text": "b"}]}));
    let parts = body["contents"][0]["parts"].as_array().unwrap();
    assert_eq!(parts.len(), 3);
    assert!(parts[1]["text"].as_str().unwrap().contains("now"));
}

#[test]
fn the_first_call_of_a_step_is_signed_for_models_that_demand_it() {
    let mut request = ModelRequest::new([
        Message::from("q"),
        Message::new(Role::Assistant, [call("a", "f"), call("b", "f")]),
        Message::new(Role::Tool, [Part::tool_result("a", "1"), Part::tool_result("b", "2")]),
    ]);
    let signatures = |request: &ModelRequest| {
        let body = sent(request);
        let parts = body["contents"][1]["parts"].as_array().unwrap().clone();
        parts.iter().map(|part| part.get("thoughtSignature").cloned()).collect::<Vec<_>>()
    };
    assert_eq!(signatures(&request), [None, None]);
    request.model = Some("gemini-2.5-flash".into());
    assert_eq!(signatures(&request), [None, None]);
    request.model = Some("models/gemini-3-pro-preview".into());
    assert_eq!(signatures(&request), [Some(json!(SKIP_SIGNATURE)), None]);
    request.metadata.insert(UNSIGNED_KEY, json(&json!(false)));
    assert_eq!(signatures(&request), [None, None]);
    request.model = None;
    request.metadata.insert(UNSIGNED_KEY, json(&json!(true)));
    assert_eq!(signatures(&request), [Some(json!(SKIP_SIGNATURE)), None]);
}

#[test]
fn media_of_results_follow_or_are_nested() {
    let png = || {
        Part::Image(media(
            MediaSource::Base64("iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB".into()),
            Some("image/png"),
        ))
    };
    let sound =
        Part::Audio(media(MediaSource::Base64("UklGRgQAAABXQVZF".into()), Some("audio/wav")));
    let mut request = ModelRequest::new([
        Message::from("q"),
        Message::new(Role::Assistant, [call("a", "f"), call("b", "g")]),
        Message::new(
            Role::Tool,
            [result("a", vec![Part::text("see"), png()]), result("b", vec![sound, png()])],
        ),
    ]);
    let body = sent(&request);
    let parts = body["contents"][2]["parts"].as_array().unwrap();
    let output =
        |part: &Value| part["functionResponse"]["response"]["output"].as_str().unwrap().to_owned();
    assert_eq!(output(&parts[0]), "see\n(image/png follows the results)");
    assert_eq!(output(&parts[1]), "(audio/wav and 1 more follow the results)");
    assert_eq!(parts[2], json!({"text": "From the result of f:"}));
    assert_eq!(
        parts[3],
        json!({"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB"}})
    );
    assert_eq!(parts.len(), 7);

    request.model = Some("gemini-3-flash-preview".into());
    let body = sent(&request);
    let parts = body["contents"][2]["parts"].as_array().unwrap();
    let nested = json!([{"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB"}}]);
    assert_eq!(parts[0]["functionResponse"]["parts"], nested);
    assert_eq!(parts[1]["functionResponse"]["parts"], nested);
    assert_eq!(parts.len(), 4);
}

#[test]
fn what_belongs_to_others_is_dropped_and_told() {
    let thought = |provider: Option<&str>| {
        Part::Reasoning(Reasoning {
            text: "hm".into(),
            signature: Some("cw==".into()),
            provider: provider.map(str::to_owned),
            ..Reasoning::default()
        })
    };
    let foreign =
        || Part::Opaque(OpaqueBlock { provider: "openai".into(), value: json(&json!({})) });
    let file =
        Part::Document(media(MediaSource::Reference("file_1".into()), Some("application/pdf")));
    let untyped = Part::Image(media(MediaSource::Url("https://example.com/image".into()), None));
    let typed = Part::Image(media(MediaSource::Url("https://example.com/a.PNG?x=1".into()), None));
    let request = ModelRequest::new([
        Message::new(Role::User, [Part::text("q"), file.clone(), untyped, typed]),
        Message::new(
            Role::Assistant,
            [thought(Some("anthropic")), foreign(), thought(Some("gemini")), Part::text("a")],
        ),
        Message::from("go"),
    ])
    .tools([Tool::Opaque(OpaqueBlock {
        provider: "openai".into(),
        value: json(&json!({"type": "x"})),
    })]);
    let lowered = GenerateCodec.lower(&request).unwrap();
    let paths: Vec<_> =
        lowered.diagnostics.iter().map(|diagnostic| diagnostic.path.as_str()).collect();
    let expected = [
        "messages[0].parts[1]",
        "messages[0].parts[2]",
        "messages[1].parts[0]",
        "messages[1].parts[1]",
        "tools[0]",
    ];
    assert_eq!(paths, expected);
    let body = value(&lowered.body);
    let file =
        json!({"fileData": {"mimeType": "image/png", "fileUri": "https://example.com/a.PNG?x=1"}});
    assert_eq!(body["contents"][0]["parts"], json!([{"text": "q"}, file]));
    assert_eq!(
        body["contents"][1]["parts"][0],
        json!({"text": "hm", "thought": true, "thoughtSignature": "cw=="})
    );
    assert!(body.get("tools").is_none());

    // A message of only such parts is left out.
    let foreign = ModelRequest::new([Message::new(Role::User, [foreign()])]);
    assert!(matches!(GenerateCodec.lower(&foreign), Err(WireError::NothingToSend)));
    assert!(matches!(GenerateCodec.lower(&ModelRequest::default()), Err(WireError::NothingToSend)));
}

#[test]
fn tools_choice_and_configuration() {
    let mut request = ModelRequest::new([Message::from("q")])
        .tools([
            Tool::Opaque(OpaqueBlock {
                provider: "gemini".into(),
                value: json(&json!({"googleSearch": {}})),
            }),
            FunctionTool::new("f", json!({"type": "object"})).description("does f").into(),
        ])
        .tool_choice(ToolChoice::Named("f".into()))
        .max_output_tokens(100)
        .output(OutputSchema::new("city", json!({"type": "object"})));
    request.temperature = Some(0.5);
    request
        .metadata
        .insert(BODY_KEY, json(&json!({"serviceTier": "x", "generationConfig": {"topK": 40.0}})));
    let body = sent(&request);
    let expected = json!({
        "contents": [{"role": "user", "parts": [{"text": "q"}]}],
        "tools": [
            {"googleSearch": {}},
            {"functionDeclarations": [
                {"name": "f", "description": "does f", "parametersJsonSchema": {"type": "object"}},
            ]},
        ],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}},
        "generationConfig": {
            "topK": 40.0,
            "maxOutputTokens": 100,
            "temperature": 0.5,
            "responseMimeType": "application/json",
            "responseJsonSchema": {"type": "object"},
        },
        "serviceTier": "x",
    });
    assert_eq!(body, expected);
    let lifted = GenerateCodec.lift(&json(&body)).unwrap().request;
    assert_eq!(lifted.tool_choice, request.tool_choice);
    assert_eq!(lifted.tools, request.tools);
    assert_eq!(lifted.max_output_tokens, Some(100));
    assert_eq!(lifted.temperature, Some(0.5));
    assert_eq!(lifted.output.as_ref().unwrap().schema, request.output.as_ref().unwrap().schema);
    assert_eq!(sent(&lifted), body);
}

#[test]
fn tools_are_declared_under_the_name_their_calls_have() {
    let request = ModelRequest::new([
        Message::from("q"),
        Message::new(Role::Assistant, [call("a", "read file")]),
        Message::new(Role::Tool, [Part::tool_result("a", "ok")]),
    ])
    .tools([FunctionTool::new("read file", json!({}))])
    .tool_choice(ToolChoice::Named("read file".into()));
    let body = sent(&request);
    assert_eq!(body["tools"][0]["functionDeclarations"][0]["name"], "read_file");
    assert_eq!(
        body["toolConfig"]["functionCallingConfig"]["allowedFunctionNames"],
        json!(["read_file"])
    );
    assert_eq!(body["contents"][1]["parts"][0]["functionCall"]["name"], "read_file");
    assert_eq!(body["contents"][2]["parts"][0]["functionResponse"]["name"], "read_file");
}

#[test]
fn names_begin_with_a_letter_and_a_choice_is_declared() {
    let tool = |name: &str| Tool::from(FunctionTool::new(name, json(&json!({"type": "object"}))));
    let named = |name: &str| ToolChoice::Named(name.to_owned());
    let request = ModelRequest::new([Message::from("q")]).tools([tool("1st"), tool("_1st")]);
    let body = sent(&request.clone().tool_choice(named("1st")));
    let declared = json!([{"functionDeclarations": [
        {"name": "_1st", "parametersJsonSchema": {"type": "object"}},
    ]}]);
    assert_eq!(body["tools"], declared);
    assert_eq!(
        body["toolConfig"]["functionCallingConfig"]["allowedFunctionNames"],
        json!(["_1st"])
    );
    assert_eq!(sent(&request.tool_choice(named("second"))).get("toolConfig"), None);
}

#[test]
fn of_several_allowed_names_the_declared_ones_stay() {
    let config = |names: Value| json!({"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": names}});
    let body = json!({
        "contents": [{"role": "user", "parts": [{"text": "q"}]}],
        "tools": [{"functionDeclarations": [{"name": "a"}, {"name": "b"}]}],
        "toolConfig": config(json!(["a", "b", "c"])),
    });
    let mut request = GenerateCodec.lift(&json(&body)).unwrap().request;
    assert_eq!(sent(&request)["toolConfig"], config(json!(["a", "b"])));
    request.tools.clear();
    assert_eq!(sent(&request)["toolConfig"], json!({"functionCallingConfig": {}}));
}

#[test]
fn what_is_blank_is_no_instruction() {
    let mut request = ModelRequest::new([Message::from("q")]).system(" \u{1c}").system("Be brief.");
    assert_eq!(sent(&request)["systemInstruction"], json!({"parts": [{"text": "Be brief."}]}));
    request.system.pop();
    assert_eq!(sent(&request).get("systemInstruction"), None);
}

#[test]
fn only_the_model_runs_code_and_signs() {
    let code = json!({"executableCode": {"language": "PYTHON", "code": "1"}});
    let block = || Part::Opaque(OpaqueBlock { provider: "gemini".to_owned(), value: json(&code) });
    let signed = Metadata::default().with("gemini.thought_signature", "c2ln");
    let text = Part::Text(context_core::message::Text { text: "q".into(), metadata: signed });
    let request = ModelRequest::new([
        Message::new(Role::User, [block()]),
        Message::new(Role::User, [text, block()]),
        Message::new(Role::Assistant, [block()]),
        Message::from("go on"),
    ]);
    let expected = json!([
        {"role": "user", "parts": [{"text": "q"}]},
        {"role": "model", "parts": [code]},
        {"role": "user", "parts": [{"text": "go on"}]},
    ]);
    assert_eq!(sent(&request)["contents"], expected);
    assert_eq!(GenerateCodec.lower(&request).unwrap().diagnostics.len(), 2);
}

#[test]
fn bodies_come_back_and_changes_count() {
    let body = json!({
        "contents": [
            {"parts": [{"text": "q"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "f"}}, {"functionCall": {"name": "f", "args": {"n": 2}}}]},
            {"role": "user", "parts": [
                {"functionResponse": {"name": "f", "response": {"output": "1"}}},
                {"functionResponse": {"name": "f", "response": {"output": "2"}}},
            ]},
        ],
        "system_instruction": {"role": "user", "parts": [{"text": "s", "x": 1}]},
        "tools": [
            {"function_declarations": [{"name": "f", "parameters": {"type": "OBJECT"}}, {"name": "g"}], "codeExecution": {}},
            {"functionDeclarations": [{"name": "h", "parametersJsonSchema": true, "behavior": "BLOCKING"}]},
        ],
        "tool_config": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f", "g"]}, "x": 1},
        "generationConfig": {
            "maxOutputTokens": -1, "temperature": 1, "responseMimeType": "application/json",
            "responseSchema": {"type": "OBJECT"},
        },
        "safetySettings": [{"category": "x"}],
        "model": "models/gemini-2.5-pro",
    });
    let lifted = GenerateCodec.lift(&json(&body)).unwrap().request;
    assert_eq!(lifted.tools.len(), 4);
    assert_eq!(lifted.system[0].text, "s");
    assert_eq!(lifted.tool_choice, Some(ToolChoice::Required));
    assert_eq!((lifted.temperature, lifted.max_output_tokens), (Some(1.0), None));
    let source = GenerateCodec.lower_source(&lifted);
    assert_eq!((value(&source.body), source.diagnostics), (body.clone(), Vec::new()));
    // Responses without ids belong to the calls of their name, in order.
    let (Part::ToolResult(first), Part::ToolCall(call)) =
        (&lifted.messages[2].parts[0], &lifted.messages[1].parts[0])
    else {
        panic!("{lifted:?}")
    };
    assert_eq!(first.call_id, call.id);
    let sent = sent(&lifted);
    assert_eq!(sent["contents"][1]["parts"][0], json!({"functionCall": {"name": "f", "args": {}}}));
    assert_eq!(sent["contents"][2], body["contents"][2]);
    assert_eq!(sent["generationConfig"]["maxOutputTokens"], json!(-1));

    let changed = lifted.system("more");
    let source = GenerateCodec.lower_source(&changed);
    assert_eq!(source.diagnostics.len(), 1);
    assert_eq!(
        value(&source.body)["systemInstruction"]["parts"],
        json!([{"text": "s"}, {"text": "more"}])
    );
}

#[test]
fn errors_of_bodies_name_the_place() {
    let cases = [
        (json!([]), ""),
        (json!({}), "contents"),
        (json!({"contents": {}}), "contents"),
        (json!({"contents": [{"parts": []}, 1]}), "contents[1]"),
        (json!({"contents": [{"parts": [{"text": 1}]}]}), "contents[0].parts[0].text"),
        (json!({"contents": [], "tools": 1}), "tools"),
        (
            json!({"contents": [], "tools": [{"functionDeclarations": [{}]}]}),
            "tools[0].functionDeclarations[0].name",
        ),
        (
            json!({"contents": [], "toolConfig": {"functionCallingConfig": 1}}),
            "toolConfig.functionCallingConfig",
        ),
        (json!({"contents": [], "generationConfig": []}), "generationConfig"),
        (
            json!({"contents": [], "systemInstruction": {"parts": [{"text": []}]}}),
            "systemInstruction.parts[0].text",
        ),
    ];
    for (body, path) in cases {
        let error = GenerateCodec.lift(&json(&body)).unwrap_err();
        assert_eq!(error.path(), path, "{body}: {error}");
    }
}
