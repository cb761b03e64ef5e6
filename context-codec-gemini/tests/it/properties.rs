//! Properties for any input.

use context_codec_gemini::generate::{self, GenerateCodec};
use context_core::message::{Media, MediaSource, OpaqueBlock, Reasoning, ToolInput};
use context_core::model::{ModelCodec, WireError};
use context_core::{Json, Message, MessageCodec, Metadata, ModelRequest, Part, Role, ToolResult};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::shared::{check_contents, json, value};

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-c ]{0,4}", "\\PC{0,6}", Just(String::new())]
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any_text().prop_map(Value::from)
    ];
    leaf.prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::btree_map("[a-c]", inner, 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn any_object() -> impl Strategy<Value = Value> {
    proptest::collection::btree_map("(output|error|result|[a-c])", any_json(), 0..3)
        .prop_map(|map| Value::Object(map.into_iter().collect()))
}

/// Returns an object with some of these entries, and sometimes an unknown one.
fn with(base: Value, extra: Vec<(String, Value)>) -> Value {
    let Value::Object(mut map) = base else { return base };
    map.extend(extra);
    Value::Object(map)
}

fn extra() -> impl Strategy<Value = Vec<(String, Value)>> {
    let key = "(x|thought|mediaResolution|id|willContinue)";
    proptest::collection::vec(
        (key.prop_map(String::from), prop_oneof![Just(Value::Null), Just(Value::Bool(true))]),
        0..2,
    )
    .prop_map(|entries| {
        entries.into_iter().filter(|(key, value)| key != "id" || value.is_null()).collect()
    })
}

fn any_part() -> impl Strategy<Value = Value> {
    let id = prop_oneof![Just(None), "[a-b]{1,2}".prop_map(Some)];
    let media = "(image/png|audio/wav|video/mp4|application/pdf)";
    let base = prop_oneof![
        any_text().prop_map(|text| json!({"text": text})),
        any_text().prop_map(|text| json!({"text": text, "thought": true})),
        any_text().prop_map(|text| json!({"text": text, "thoughtSignature": "cw=="})),
        media.prop_map(|kind| json!({"inlineData": {"mimeType": kind, "data": "aGk="}})),
        media.prop_map(|kind| json!({"file_data": {"mime_type": kind, "file_uri": "gs://a/b"}})),
        (id.clone(), "[f-g.]{1,2}", any_object(), extra()).prop_map(|(id, name, args, extra)| {
            let id = id.map(|id| ("id".to_owned(), Value::from(id)));
            json!({"functionCall": with(json!({"name": name, "args": args}),
                extra.into_iter().chain(id).collect())})
        }),
        (id, "[f-g.]{1,2}", any_object(), extra()).prop_map(|(id, name, object, extra)| {
            let id = id.map(|id| ("id".to_owned(), Value::from(id)));
            let parts = json!([{"inlineData": {"mimeType": "image/png", "data": "aGk="}},
                {"odd": 1}]);
            let parts = extra.is_empty().then(|| ("parts".to_owned(), parts));
            let extra = extra.into_iter().chain(id).chain(parts).collect();
            json!({"functionResponse": with(json!({"name": name, "response": object}), extra)})
        }),
        Just(json!({"executableCode": {"code": "1"}})),
        Just(json!({"thoughtSignature": "cw=="})),
        Just(json!({})),
    ];
    (base, extra()).prop_map(|(base, extra)| with(base, extra))
}

fn any_content() -> impl Strategy<Value = Value> {
    let role = prop_oneof![Just(None), "(user|model|function|system)".prop_map(Some)];
    (role, proptest::collection::vec(any_part(), 0..4), extra()).prop_map(|(role, parts, extra)| {
        let role = role.map(|role| ("role".to_owned(), Value::from(role)));
        with(
            json!({"parts": parts}),
            extra.into_iter().filter(|(key, _)| key == "x").chain(role).collect(),
        )
    })
}

fn any_body() -> impl Strategy<Value = Value> {
    let config = proptest::collection::btree_map(
        "(maxOutputTokens|temperature|responseMimeType|responseSchema|response_json_schema|topK)",
        prop_oneof![any_json(), Just(json!(3)), Just(json!("application/json"))],
        0..4,
    )
    .prop_map(|map| json!(map));
    let tool = prop_oneof![
        Just(json!({"googleSearch": {}})),
        Just(json!({})),
        any_object().prop_map(|schema| json!({"functionDeclarations": [{"name": "f",
            "parameters": schema}]})),
        any_object().prop_map(|schema| json!({"function_declarations": [{"name": "f", "parameters_json_schema": schema}], "x": 1})),
    ];
    let choice = proptest::collection::btree_map(
        "(mode|allowedFunctionNames|x)",
        prop_oneof![
            Just(json!("ANY")),
            Just(json!("AUTO")),
            Just(json!("VALIDATED")),
            Just(json!(["f"])),
            any_json()
        ],
        0..3,
    )
    .prop_map(|map| json!({"functionCallingConfig": map}));
    let system = prop_oneof![Just(Value::Null), any_content()];
    let tools = proptest::collection::vec(tool, 0..3);
    (proptest::collection::vec(any_content(), 0..5), system, tools, choice, config, any::<u8>())
        .prop_map(|(contents, system, tools, choice, config, with)| {
            let mut body = json!({"contents": contents});
            let keys = [
                ("systemInstruction", system),
                ("tools", Value::from(tools)),
                ("toolConfig", choice),
                ("generation_config", config),
                ("cachedContent", json!("x")),
            ];
            for (i, (key, value)) in keys.into_iter().enumerate() {
                if with & (1 << i) != 0 {
                    body[key] = value;
                }
            }
            body
        })
}

fn media() -> impl Strategy<Value = Media> {
    let source = prop_oneof![
        Just(MediaSource::Base64("aGk=".into())),
        Just(MediaSource::Url("https://example.com/a".into())),
        Just(MediaSource::Reference("file_1".into())),
        Just(MediaSource::Reference("gs://a/b".into())),
    ];
    let media_type = prop_oneof![
        Just(None),
        Just(Some("image/png".to_owned())),
        Just(Some("audio/wav".to_owned()))
    ];
    (source, media_type).prop_map(|(source, media_type)| Media {
        source,
        media_type,
        name: None,
        metadata: Metadata::default(),
    })
}

fn part() -> impl Strategy<Value = Part> {
    let provider = prop_oneof![Just("gemini".to_owned()), Just("anthropic".to_owned())];
    let simple = prop_oneof![
        any_text().prop_map(Part::text),
        media().prop_map(Part::Image),
        media().prop_map(Part::Audio),
        provider.clone().prop_map(|provider| {
            Part::Opaque(OpaqueBlock {
                provider,
                value: json(&json!({"executableCode": {"code": "1"}})),
            })
        }),
    ];
    prop_oneof![
        simple.clone(),
        (any_text(), provider).prop_map(|(text, provider)| {
            Part::Reasoning(Reasoning {
                text: text.into(),
                provider: Some(provider),
                ..Reasoning::default()
            })
        }),
        ("[a-b:]{0,1}", "[f-g]", any_json(), any::<bool>()).prop_map(|(id, name, input, whole)| {
            let mut part = Part::tool_call(id, name, json(&input));
            if let Part::ToolCall(call) = &mut part
                && !whole
            {
                call.input = ToolInput::Invalid("{".into());
            }
            part
        }),
        ("[a-b:]{0,1}", proptest::collection::vec(simple, 0..3), any::<bool>()).prop_map(
            |(id, output, is_error)| {
                let metadata = Metadata::default();
                Part::ToolResult(ToolResult { call_id: id, name: None, output, is_error, metadata })
            }
        ),
    ]
}

fn history() -> impl Strategy<Value = Vec<Message>> {
    let role =
        prop_oneof![Just(Role::System), Just(Role::User), Just(Role::Assistant), Just(Role::Tool)];
    let message = (role, proptest::collection::vec(part(), 0..4))
        .prop_map(|(role, parts)| Message::new(role, parts));
    proptest::collection::vec(message, 0..8)
}

proptest! {
    #[test]
    fn a_content_comes_back(content in any_content()) {
        let content = json(&content);
        let lifted = generate::lift(&content).unwrap();
        let source = generate::lower_source(&lifted.message);
        prop_assert_eq!(value(&source.messages[0]), value(&content));
        prop_assert!(source.diagnostics.is_empty());
    }

    #[test]
    fn a_body_comes_back(body in any_body(), pretty in any::<bool>()) {
        let text = if pretty { serde_json::to_string_pretty(&body).unwrap() } else {
            body.to_string() };
        if let Ok(lifted) = GenerateCodec.lift(&Json::from_text(text).unwrap()) {
            let source = GenerateCodec.lower_source(&lifted.request);
            prop_assert_eq!(value(&source.body), body);
            prop_assert!(source.diagnostics.is_empty());
        }
    }

    #[test]
    fn any_history_is_sent_as_the_provider_takes_it(history in history(), new in any::<bool>()) {
        let mut request = ModelRequest::new(history);
        request.model = new.then(|| "gemini-3-pro".to_owned());
        match GenerateCodec.lower(&request) {
            Ok(lowered) => {
                check_contents(&value(&lowered.body));
                // A sent body is valid: nothing is left to repair.
                let again = GenerateCodec.lift(&lowered.body).unwrap().request;
                prop_assert_eq!(value(&GenerateCodec.lower(&again).unwrap().body),
                    value(&lowered.body));
            }
            Err(error) => prop_assert!(matches!(error, WireError::NothingToSend)),
        }
    }

    #[test]
    fn nothing_makes_it_panic(value in any_json(), content in any_content()) {
        let bodies = [json!({"contents": value}), json!({"contents": [value]}),
            json!({"contents": [{"parts": value}]})];
        for body in &bodies {
            let _ = GenerateCodec.lift(&json(body));
        }
        let _ = generate::lift(&json(&value));
        let _ = GenerateCodec.lift_answer(&json(&value));
        let answer = json!({"candidates": [{"content": content, "finishReason": "STOP"}]});
        let answer = GenerateCodec.lift_answer(&json(&answer));
        if let Ok(answer) = answer {
            let _ = GenerateCodec.lower(&crate::shared::answered(&answer.message));
        }
    }
}
