//! Every body that is lifted is restored exactly.

use context_codec_uimessage::{UiMessageCodec, ui};
use context_core::{Json, Message, MessageCodec, Metadata, Part};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

use crate::{round_trip, value};

fn text() -> impl Strategy<Value = String> {
    select(vec!["", "a", "so it is", "\"é\n", "{}", "{\"a\": 1}"]).prop_map(str::to_owned)
}

fn any_json() -> impl Strategy<Value = Value> {
    let part =
        json!({"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,AA=="});
    let leaf = prop_oneof![
        select(vec![
            json!(null),
            json!(1.5),
            json!({}),
            json!([]),
            json!({"signature": "s", "itemId": "i"}),
            part
        ]),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 6, 3, |inner| {
        let keys = select(vec!["a", "type", "text", "anthropic", "google", "thoughtSignature"]);
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::btree_map(keys, inner, 0..3).prop_map(|map| map
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect::<Value>()),
        ]
    })
}

/// An object with some of these keys, with any values.
fn with(base: Value, keys: &'static [&'static str]) -> impl Strategy<Value = Value> {
    proptest::collection::btree_map(select(keys.to_vec()), any_json(), 0..4).prop_map(
        move |others| {
            let mut object: Map<String, Value> = base.as_object().expect("an object").clone();
            for (key, value) in others {
                object.entry(key).or_insert(value);
            }
            object.into()
        },
    )
}

fn tool() -> impl Strategy<Value = Value> {
    let states = select(vec![
        "input-streaming",
        "input-available",
        "approval-requested",
        "approval-responded",
        "output-available",
        "output-error",
        "output-denied",
        "later",
    ]);
    let kinds = select(vec!["tool-f", "tool-", "tool-a-b", "tool-invocation", "dynamic-tool"]);
    (states, kinds, select(vec!["c", "d"]), any::<bool>(), text()).prop_flat_map(
        |(state, kind, id, failed, error)| {
            let mut base = json!({"type": kind, "state": state, "toolCallId": id});
            if kind == "dynamic-tool" {
                base["toolName"] = "g".into();
            }
            if failed || state == "output-error" {
                base["errorText"] = error.into();
            }
            with(
                base,
                &[
                    "input",
                    "output",
                    "rawInput",
                    "providerExecuted",
                    "preliminary",
                    "approval",
                    "callProviderMetadata",
                    "title",
                ],
            )
        },
    )
}

fn part() -> impl Strategy<Value = Value> {
    let others: &[&str] = &["state", "providerMetadata", "id", "data", "url"];
    prop_oneof![
        4 => tool(),
        3 => text().prop_flat_map(move |text| with(json!({"type": "text", "text": text}), others)),
        2 => text().prop_flat_map(move |text| with(json!({"type": "reasoning", "text": text}),
            others)),
        1 => Just(json!({"type": "reasoning", "reasoning": "hm", "details": []})),
        3 => with(json!({"type": "step-start"}), &["x"]),
        2 => with(json!({"type": "file", "url": "data:image/png;base64,AAAA", "mediaType": "image/png"}), &["x", "text"]),
        1 => with(json!({"type": "file", "url": "https://example.org", "filename": "f"}), &["x", "data"]),
        1 => with(json!({"type": "data-x"}), &["id", "data", "transient"]),
        1 => with(json!({"type": "source-url", "sourceId": "1"}), &["url"]),
        1 => with(json!({"type": "later"}), &["x"]),
        1 => Just(json!({"type": "tool-invocation", "toolInvocation":
            {"state": "result", "toolCallId": "c", "toolName": "f", "args": {}, "result": 1, "step": 0}})),
    ]
}

fn message() -> impl Strategy<Value = Value> {
    let role = prop_oneof![1 => Just("system"), 2 => Just("user"), 5 => Just("assistant")];
    let content = proptest::option::weighted(0.3, text());
    let parts = proptest::option::weighted(0.9, proptest::collection::vec(part(), 0..8));
    let id = proptest::option::weighted(
        0.9,
        select(vec![json!("a"), json!("b"), json!(7), json!(null)]),
    );
    (role, content, parts, id).prop_flat_map(|(role, content, parts, id)| {
        let mut base = json!({"role": role});
        for (key, value) in
            [("content", content.map(Value::from)), ("parts", parts.map(Value::from)), ("id", id)]
        {
            if let Some(value) = value {
                base[key] = value;
            }
        }
        with(base, &["metadata", "createdAt", "annotations"])
    })
}

fn body() -> impl Strategy<Value = Value> {
    let messages = proptest::collection::vec(message(), 0..6);
    (messages, any::<bool>()).prop_flat_map(|(messages, bare)| match bare {
        true => Just(Value::from(messages)).boxed(),
        false => with(json!({"messages": messages}), &["id", "trigger"]).boxed(),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn every_body_comes_back(body in body(), pretty: bool) {
        let text = if pretty { serde_json::to_string_pretty(&body) } else {
            serde_json::to_string(&body) };
        let request = round_trip(&Json::from_text(text.unwrap()).unwrap());
        // Indentation makes no difference.
        prop_assert_eq!(&UiMessageCodec.lift(&body.into()).unwrap().request, &request);
    }

    #[test]
    fn what_is_shown_is_shown_again_alike(body in body()) {
        let request = UiMessageCodec.lift(&body.into()).unwrap().request;
        let Ok(shown) = UiMessageCodec.lower(&request) else { return Ok(()) };
        let again = UiMessageCodec.lift(&shown.body).unwrap().request;
        prop_assert_eq!(value(&UiMessageCodec.lower(&again).unwrap().body), value(&shown.body));
    }

    #[test]
    fn messages_without_marks_are_shown_with_all_their_calls_and_results(body in body()) {
        let request = UiMessageCodec.lift(&body.into()).unwrap().request;
        let bare = request.messages.iter().map(|message| {
            let mut message = Message::clone(message);
            message.metadata = Metadata::default();
            message
        });
        let bare: Vec<_> = bare.collect();
        let counts = |messages: &[Message]| {
            let parts = || messages.iter().flat_map(|message| &message.parts);
            let calls = parts().filter(|part| matches!(part, Part::ToolCall(_))).count();
            (calls, parts().filter(|part| matches!(part, Part::ToolResult(_))).count())
        };
        let lowered = ui::lower(&bare);
        prop_assert_eq!(&lowered.diagnostics, &[]);
        let lifted = lowered.messages.iter().flat_map(|message| ui::lift(message).unwrap());
        let again: Vec<_> = lifted.map(|lifted| lifted.message).collect();
        prop_assert_eq!(counts(&again), counts(&bare));
    }

    #[test]
    fn an_edit_is_never_undone(body in body(), at: proptest::sample::Index, text in "[a-z]{12}") {
        let mut request = UiMessageCodec.lift(&body.into()).unwrap().request;
        if request.messages.is_empty() {
            return Ok(());
        }
        let index = at.index(request.messages.len());
        let mut message = (*request.messages[index]).clone();
        if message.role == context_core::Role::Tool {
            return Ok(());
        }
        message.parts.push(Part::text(text.clone()));
        request.messages.replace(index, message.into());
        let back = UiMessageCodec.lower_source(&request).body;
        prop_assert!(back.as_str().contains(&text));
    }
}
