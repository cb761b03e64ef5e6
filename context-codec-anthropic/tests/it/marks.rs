//! The provider accepts every request that is sent, above all its cache marks.

use std::time::Duration;

use context_codec_anthropic::messages::{BODY_KEY, CACHE_KEY, MessagesCodec};
use context_codec_kit::provider_rules::check_body;
use context_core::message::{Media, MediaSource, Origin, Reasoning, Text, ToolInput};
use context_core::model::{CacheMarks, FunctionTool, WireError};
use context_core::{
    Json, Message, MessageCodec, Metadata, ModelRequest, Part, Role, ToolCall, ToolResult,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::requests::{call, encrypted, opaque, results, sent, value};

/// Returns the positions of marks: tools, system, then messages and blocks.
fn marks(body: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut look = |path: String, block: &Value| {
        if !block["cache_control"].is_null() {
            found.push(path);
        }
    };
    for key in ["tools", "system"] {
        for (i, block) in body[key].as_array().into_iter().flatten().enumerate() {
            look(format!("{key}{i}"), block);
        }
    }
    for (m, message) in body["messages"].as_array().into_iter().flatten().enumerate() {
        for (b, block) in message["content"].as_array().into_iter().flatten().enumerate() {
            look(format!("{m}.{b}"), block);
        }
    }
    found
}

/// Returns the lifetimes of marks, in the order of the body. `None` is five minutes.
fn lifetimes(body: &Value) -> Vec<Option<String>> {
    let mut found = Vec::new();
    let mut look = |block: &Value| {
        if !block["cache_control"].is_null() {
            found.push(block["cache_control"]["ttl"].as_str().map(str::to_owned));
        }
    };
    ["tools", "system"]
        .iter()
        .for_each(|key| body[key].as_array().into_iter().flatten().for_each(&mut look));
    for message in body["messages"].as_array().into_iter().flatten() {
        message["content"].as_array().into_iter().flatten().for_each(&mut look);
    }
    found
}

fn talk(count: usize) -> Vec<Message> {
    let role = |i| if i % 2 == 0 { Role::User } else { Role::Assistant };
    (0..count).map(|i| Message::text(role(i), format!("t{i}"))).collect()
}

#[test]
fn marks_live_as_long_as_the_request_asks() {
    let asked = |request: ModelRequest, seconds| {
        lifetimes(&sent(&request.cache_lifetime(Duration::from_secs(seconds))))
    };
    let hour = || Some("1h".to_owned());
    let request = || ModelRequest::new(talk(5)).system("s");
    assert_eq!(lifetimes(&sent(&request())), [None, None, None]);
    assert_eq!(asked(request(), 300), [None, None, None]);
    assert_eq!(asked(request(), 301), [hour(), hour(), hour()]);
    assert_eq!(asked(request(), 100_000), [hour(), hour(), hour()]);
    // The provider refuses an hour behind the five minutes that a tool of the program carries.
    let mark = Metadata::default().with(CACHE_KEY, Json::from(&json!({"type": "ephemeral"})));
    let mut tool = FunctionTool::new("look", Json::from(&json!({"type": "object"})));
    tool.metadata = mark;
    let behind = request().tools([tool]);
    assert_eq!(asked(behind.clone(), 3_600), [None, None, None, None]);
    let lowered = MessagesCodec.lower(&behind.cache_lifetime(Duration::from_secs(3_600))).unwrap();
    assert_eq!(lowered.diagnostics.len(), 3, "{:?}", lowered.diagnostics);
}

#[test]
fn marks_stand_where_they_are_wanted_and_are_four_at_most() {
    let tool = || FunctionTool::new("look", Json::from(&json!({"type": "object"})));
    let auto = |request: ModelRequest| marks(&sent(&request));
    assert_eq!(
        auto(ModelRequest::new(talk(5)).system("s").tools([tool()])),
        ["system0", "2.0", "4.0"]
    );
    assert_eq!(auto(ModelRequest::new(talk(1)).tools([tool()])), ["tools0", "0.0"]);
    assert_eq!(auto(ModelRequest::new(talk(1))), ["0.0"]);
    let mut at = ModelRequest::new(talk(9)).cache(CacheMarks::At(vec![1, 3, 5, 7]));
    assert_eq!(auto(at.clone()), ["1.0", "3.0", "5.0", "7.0"]);
    at = at.system("s");
    assert_eq!(auto(at.clone()), ["system0", "3.0", "5.0", "7.0"]);
    assert_eq!(MessagesCodec.lower(&at).unwrap().diagnostics[0].path, "messages[1]");
    // Automatic marks of the body use one mark.
    at.metadata.insert(BODY_KEY, Json::from(&json!({"cache_control": {"type": "ephemeral"}})));
    assert_eq!(auto(at), ["system0", "5.0", "7.0"]);
}

/// A recall changes with each turn. What precedes it does not.
#[test]
fn the_mark_of_the_system_prompt_stands_before_recalled_memories() {
    let recalled = || Text { text: "note".into(), metadata: Origin::Recall.to_metadata() };
    let tool = FunctionTool::new("look", Json::from(&json!({"type": "object"})));
    let mut request = ModelRequest::new(talk(1)).system("s").tools([tool]);
    request.system.extend([Text { text: " ".into(), ..Text::default() }, recalled()]);
    assert_eq!(marks(&sent(&request)), ["system0", "0.0"]);
    assert_eq!(sent(&request)["system"].as_array().unwrap().len(), 2);
    // A recall alone leaves the mark to the tools.
    request.system = vec![recalled()];
    assert_eq!(marks(&sent(&request)), ["tools0", "0.0"]);
}

#[test]
fn a_mark_moves_to_what_can_carry_it() {
    let history = vec![
        Message::from("q"),
        Message::new(Role::Assistant, [Part::text("a"), encrypted(), call("c")]),
        results(&["c"]),
        Message::new(Role::Assistant, [encrypted(), opaque(json!({"type": "fallback"}))]),
        Message::from("more"),
    ];
    let request = ModelRequest::new(history).cache(CacheMarks::At(vec![3]));
    assert_eq!(marks(&value(&MessagesCodec.lower(&request).unwrap().body)), ["2.0"]);
    // After a repair, positions still name the given messages.
    let mut broken = talk(4);
    broken.insert(1, results(&["nobody"]));
    let request = ModelRequest::new(broken).cache(CacheMarks::At(vec![4]));
    assert_eq!(marks(&sent(&request)), ["3.0"]);
}

/// A mark, valid or not.
fn mark() -> impl Strategy<Value = Option<Value>> {
    let all = [
        json!({"type": "ephemeral"}),
        json!({"type": "ephemeral", "ttl": "1h"}),
        json!({"type": "odd"}),
        json!(7),
    ];
    proptest::option::of(proptest::sample::select(all.to_vec()))
}

fn marked(mark: Option<Value>) -> Metadata {
    let entries = mark.map(|mark| (CACHE_KEY.to_owned(), Json::from(&mark)));
    entries.into_iter().collect()
}

fn any_part() -> impl Strategy<Value = Part> {
    let id = || proptest::sample::select(vec!["a", "b", "srvtoolu_1", "srvtoolu_2", "ä"]);
    let text = || proptest::sample::select(vec!["", " ", "x", "y "]);
    let with = |mut value: Value, mark: Option<Value>| {
        value["cache_control"] = mark.unwrap_or_default();
        opaque(value)
    };
    prop_oneof![
        3 => (text(), mark()).prop_map(|(text,
            mark)| Part::Text(Text { text: text.into(), metadata: marked(mark) })),
        1 => (text(), any::<bool>()).prop_map(|(text, own)| Part::Reasoning(Reasoning {
            text: text.into(),
            signature: Some("c2ln".into()),
            provider: own.then(|| "anthropic".into()),
            ..Reasoning::default()
        })),
        2 => (id(), mark()).prop_map(|(id, mark)| Part::ToolCall(ToolCall {
            id: id.into(),
            name: "look".into(),
            input: ToolInput::Json(Json::from(&json!({}))),
            metadata: marked(mark),
        })),
        2 => (id(), text(), mark(), mark(),
            any::<bool>()).prop_map(|(id, text, inner, outer, is_error)| {
            Part::ToolResult(ToolResult {
                call_id: id.into(),
                name: None,
                output: vec![Part::Text(Text { text: text.into(), metadata: marked(inner) })],
                is_error,
                metadata: marked(outer),
            })
        }),
        1 => (id(), mark()).prop_map(move |(id, mark)| {
            with(json!({"type": "server_tool_use", "id": id, "name": "web_search", "input": {}}),
                mark)
        }),
        1 => (id(), mark()).prop_map(move |(id, mark)| {
            with(json!({"type": "web_search_tool_result", "tool_use_id": id, "content": []}), mark)
        }),
        1 => mark().prop_map(|mark| Part::Image(Media {
            source: MediaSource::Url("https://example.org/a".into()),
            media_type: None,
            name: None,
            metadata: marked(mark),
        })),
    ]
}

fn any_request() -> impl Strategy<Value = ModelRequest> {
    let role =
        proptest::sample::select(vec![Role::User, Role::Assistant, Role::Tool, Role::System]);
    let message = (role, proptest::collection::vec(any_part(), 0..4))
        .prop_map(|(role, parts)| Message::new(role, parts));
    let cache = prop_oneof![
        Just(CacheMarks::Auto),
        Just(CacheMarks::Existing),
        proptest::collection::vec(0..10_usize, 0..6).prop_map(CacheMarks::At),
    ];
    let texts = proptest::collection::vec(("( |s)", mark()), 0..3);
    let tools = proptest::collection::vec(mark(), 0..3);
    let history = proptest::collection::vec(message, 0..9);
    (history, cache, texts, tools, any::<bool>()).prop_map(
        |(history, cache, texts, tools, prefill)| {
            let mut request = ModelRequest::new(history).model("m").cache(cache);
            request.prefill = prefill;
            request.system = texts
                .into_iter()
                .map(|(text, mark)| Text { text: text.into(), metadata: marked(mark) })
                .collect();
            request.tools = tools
                .into_iter()
                .enumerate()
                .map(|(i, mark)| {
                    let mut tool =
                        FunctionTool::new(format!("t{i}"), Json::from(&json!({"type": "object"})));
                    tool.metadata = marked(mark);
                    tool.into()
                })
                .collect();
            request
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// Includes marks: never more than four, never where marks are not allowed, never a one-hour
    /// mark after a five-minute mark.
    #[test]
    fn the_provider_takes_whatever_is_sent(request in any_request()) {
        match MessagesCodec.lower(&request) {
            Err(error) => prop_assert!(matches!(error, WireError::NothingToSend)),
            Ok(lowered) => {
                let body = value(&lowered.body);
                prop_assert_eq!(check_body("anthropic", &body), [], "{}", body);
                prop_assert_eq!(MessagesCodec.lower(&request).unwrap(), lowered);
                // The body can be lifted again and is then sent unchanged.
                let again = MessagesCodec.lift(&Json::from(&body)).unwrap().request;
                prop_assert_eq!(value(&MessagesCodec.lower_source(&again).body), body.clone());
                prop_assert_eq!(value(&MessagesCodec.lower(&again).unwrap().body), body);
            }
        }
    }
}
