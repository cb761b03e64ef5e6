//! Chat Completions: answers, whole and streamed.

use std::fs;

use context_codec_openai::chat::ChatCodec;
use context_core::message::{MediaSource, ToolInput};
use context_core::model::{AnswerDelta, ModelCodec, StopReason, WireError};
use context_core::{Answer, Json, Message, MessageCodec, ModelRequest, Part, Role};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::chat::any_json;
use crate::data;

#[track_caller]
fn whole(body: &Value) -> Answer {
    ChatCodec.lift_answer(&body.into()).unwrap()
}

/// Returns an answer with this message.
#[track_caller]
fn said(message: Value, finish: &str) -> Answer {
    whole(&json!({"choices": [{"index": 0, "message": message, "finish_reason": finish}]}))
}

/// Reads events. The answer after any number of the first events can be sent back.
#[track_caller]
fn streamed(events: &[impl AsRef<str>]) -> (Answer, Vec<AnswerDelta>) {
    let mut stream = ChatCodec.answer_stream();
    let mut deltas = Vec::new();
    for event in events {
        deltas.extend(stream.push(event.as_ref()).unwrap());
        sendable(stream.answer().message);
    }
    (stream.finish(), deltas)
}

/// Checks that a conversation that ends with the message can be sent, and that every call in it has
/// its result.
#[track_caller]
fn sendable(message: Message) {
    let request = ModelRequest::new([Message::from("q"), message]);
    let body: Value = ChatCodec.lower(&request).unwrap().body.parse().unwrap();
    let messages = body["messages"].as_array().unwrap();
    let calls = messages[1..]
        .iter()
        .flat_map(|message| message["tool_calls"].as_array().into_iter().flatten());
    let called: Vec<_> = calls.map(|call| &call["id"]).collect();
    let results = messages.iter().filter(|message| message["role"] == "tool");
    assert_eq!(called, results.map(|message| &message["tool_call_id"]).collect::<Vec<_>>());
}

fn chunk(delta: Value) -> String {
    json!({"id": "x", "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
    .to_string()
}

fn end(reason: &str) -> String {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}).to_string()
}

fn calls(answer: &Answer) -> Vec<(&str, &str, &str)> {
    fn call(part: &Part) -> Option<(&str, &str, &str)> {
        match part {
            Part::ToolCall(call) => {
                Some((call.id.as_str(), call.name.as_str(), call.input.as_written()))
            }
            _ => None,
        }
    }
    answer.message.parts.iter().filter_map(call).collect()
}

#[test]
fn what_an_answer_says_and_costs() {
    let body = json!({"id": "c1", "model": "gpt-5-2025", "choices": [{"index": 0, "finish_reason": "stop",
            "message": {"role": "assistant", "content": "hi", "refusal": null, "annotations": []}}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150,
            "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 10},
            "completion_tokens_details": {"reasoning_tokens": 40}}});
    let answer = whole(&body);
    assert_eq!(answer.message, Message::text(Role::Assistant, "hi"));
    assert_eq!((answer.id.as_deref(), answer.model.as_deref()), (Some("c1"), Some("gpt-5-2025")));
    assert_eq!((answer.stop, answer.complete), (Some(StopReason::Stop), true));
    let usage = answer.usage.unwrap();
    assert_eq!((usage.input, usage.cache_read, usage.cache_write), (30, 60, 10));
    assert_eq!((usage.output, usage.reasoning, usage.total()), (50, Some(40), 150));
}

#[test]
fn why_it_ended() {
    let call =
        json!([{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]);
    for (message, finish, stop) in [
        (json!({"content": "x"}), "length", StopReason::Length),
        (json!({"content": "x"}), "content_filter", StopReason::ContentFilter),
        (json!({"content": null, "tool_calls": call}), "tool_calls", StopReason::ToolCalls),
        // An answer that was forced to call ends like this.
        (json!({"content": null, "tool_calls": call}), "stop", StopReason::ToolCalls),
        (
            json!({"content": null, "function_call": {"name": "f", "arguments": "{}"}}),
            "function_call",
            StopReason::ToolCalls,
        ),
        (json!({"content": null, "refusal": "No."}), "stop", StopReason::Refusal),
        (
            json!({"content": "x"}),
            "insufficient_system_resource",
            StopReason::Other("insufficient_system_resource".into()),
        ),
    ] {
        assert_eq!(said(message, finish).stop, Some(stop));
    }
}

#[test]
fn thoughts_of_compatible_servers_are_read_under_either_key() {
    for key in ["reasoning_content", "reasoning"] {
        let answer = said(json!({"content": "4", key: "2 + 2"}), "stop");
        let (stream, deltas) = streamed(&[
            chunk(json!({key: "2 +"})),
            chunk(json!({key: " 2"})),
            chunk(json!({"content": "4"})),
            end("stop"),
        ]);
        assert_eq!(stream.message, answer.message);
        assert!(
            matches!(&answer.message.parts[0], Part::Reasoning(thought) if thought.text == "2 + 2")
        );
        assert_eq!(deltas[1], AnswerDelta::Reasoning(" 2".into()));
    }
}

#[test]
fn an_error_is_an_answer_without_parts() {
    let body = json!({"error": {"message": "Rate limit reached", "type": "requests", "code": "rate_limit_exceeded"}});
    let answer = whole(&body);
    assert!(answer.message.parts.is_empty() && !answer.complete);
    let error = answer.error.unwrap();
    assert_eq!((error.provider.as_str(), error.code.as_str()), ("openai", "rate_limit"));
    // In the middle of a stream, the content before the error is kept.
    let (stream, _) = streamed(&[
        chunk(json!({"content": "so"})),
        body.to_string(),
        chunk(json!({"content": "more"})),
    ]);
    assert_eq!(stream.error, Some(error));
    assert_eq!((stream.message.plain_text().as_ref(), stream.complete), ("so", false));
}

#[test]
fn parallel_calls_are_put_together_by_their_index() {
    let delta = |index: u64, rest: Value| {
        let mut call = json!({"index": index});
        call.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        chunk(json!({"tool_calls": [call]}))
    };
    let events = [
        chunk(json!({"role": "assistant", "content": null})),
        delta(
            0,
            json!({"id": "a", "type": "function", "function": {"name": "f", "arguments": ""}}),
        ),
        delta(0, json!({"function": {"arguments": "{\"x\""}})),
        delta(
            1,
            json!({"id": "b", "type": "function", "function": {"name": "g", "arguments": "{"}}),
        ),
        delta(0, json!({"function": {"arguments": ":1}"}})),
        delta(1, json!({"function": {"arguments": "}"}})),
        end("tool_calls"),
        "[DONE]".to_owned(),
    ];
    let (answer, deltas) = streamed(&events);
    assert_eq!(calls(&answer), [("a", "f", "{\"x\":1}"), ("b", "g", "{}")]);
    assert_eq!((answer.stop.clone(), answer.complete), (Some(StopReason::ToolCalls), true));
    assert_eq!(deltas[0], AnswerDelta::ToolCall { id: "a".into(), name: "f".into() });
    assert_eq!(deltas[1], AnswerDelta::ToolInput("{\"x\"".into()));
    let body = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{\"x\":1}"}},
        {"id": "b", "type": "function", "function": {"name": "g", "arguments": "{}"}}]});
    assert_eq!(said(body, "tool_calls").message, answer.message);
    // Cut off after the fifth event, one call is whole.
    let (cut, _) = streamed(&events[..5]);
    assert_eq!((calls(&cut), cut.complete), (vec![("a", "f", "{\"x\":1}")], false));
    assert!(cut.diagnostics.iter().all(|diagnostic| diagnostic.code.as_str() == "cut_off"));
}

#[test]
fn servers_that_send_calls_in_their_own_ways_are_understood() {
    let function = |name: &str, arguments: &str| json!({"name": name, "arguments": arguments});
    // Whole calls, all of them under the first index.
    let whole = [
        chunk(json!({"tool_calls": [{"index": 0, "id": "a",
                "function": function("f", "{\"x\":1}")}]})),
        chunk(json!({"tool_calls": [{"index": 0, "id": "b",
                "function": function("f", "{\"x\":2}")}]})),
        end("stop"),
    ];
    assert_eq!(calls(&streamed(&whole).0), [("a", "f", "{\"x\":1}"), ("b", "f", "{\"x\":2}")]);
    // Without index and id.
    let bare = [
        chunk(
            json!({"tool_calls": [{"function": function("f", "{}")}, {"function": function("g", "{}")}]}),
        ),
        end("tool_calls"),
    ];
    assert_eq!(calls(&streamed(&bare).0), [("", "f", "{}"), ("", "g", "{}")]);
    // Id and name repeated with every piece.
    let again = [
        chunk(
            json!({"tool_calls": [{"index": 0, "id": "a", "function": function("f", "{\"x\"")}]}),
        ),
        chunk(json!({"tool_calls": [{"index": 0, "id": "a", "function": function("f", ":{}}")}]})),
        end("tool_calls"),
    ];
    assert_eq!(calls(&streamed(&again).0), [("a", "f", "{\"x\":{}}")]);
    // The same whole call twice.
    let twice = [whole[0].clone(), whole[0].clone(), end("tool_calls")];
    assert_eq!(calls(&streamed(&twice).0), [("a", "f", "{\"x\":1}")]);
    // Arguments that are an object.
    let object = [
        chunk(
            json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": {"x": 1}}}]}),
        ),
        end("stop"),
    ];
    assert_eq!(calls(&streamed(&object).0), [("a", "f", "{\"x\":1}")]);
    // A whole answer as the only event.
    let body = json!({"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]});
    let (answer, deltas) = streamed(&[body.to_string()]);
    assert_eq!(
        (answer.message, deltas),
        (whole_message(&body), vec![AnswerDelta::Text("hi".into())])
    );
}

fn whole_message(body: &Value) -> Message {
    whole(body).message
}

#[test]
fn no_arguments_are_an_empty_object() {
    let answer = said(
        json!({"tool_calls": [{"id": "a", "function": {"name": "f", "arguments": ""}}]}),
        "tool_calls",
    );
    let (stream, _) = streamed(&[
        chunk(json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f"}}]})),
        end("tool_calls"),
    ]);
    assert_eq!(calls(&answer), [("a", "f", "{}")]);
    assert_eq!(stream.message, answer.message);
}

#[test]
fn a_call_that_the_limit_cut_off_is_left_out() {
    let message = json!({"content": "so", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{\"x"}}]});
    let answer = said(message.clone(), "length");
    assert_eq!(answer.message, Message::text(Role::Assistant, "so"));
    assert_eq!(answer.diagnostics[0].code.as_str(), "cut_off");
    // Input that is not JSON was written so by the model, which may be told.
    let answer = said(message, "tool_calls");
    assert!(matches!(&answer.message.parts[1],
            Part::ToolCall(call) if matches!(call.input, ToolInput::Invalid(_))));
}

#[test]
fn legacy_calls_refusals_and_sound_come_in_events_too() {
    let (answer, _) = streamed(&[
        chunk(json!({"function_call": {"name": "f", "arguments": "{\"x\""}})),
        chunk(json!({"function_call": {"arguments": ":1}"}})),
        end("function_call"),
    ]);
    let body = json!({"content": null, "function_call": {"name": "f", "arguments": "{\"x\":1}"}});
    assert_eq!(answer.message, said(body, "function_call").message);
    let (answer, _) = streamed(&[
        chunk(json!({"refusal": "I "})),
        chunk(json!({"refusal": "won't."})),
        end("stop"),
    ]);
    assert_eq!(
        answer.message,
        said(json!({"content": null, "refusal": "I won't."}), "stop").message
    );
    assert_eq!(answer.stop, Some(StopReason::Refusal));
    let (answer, _) = streamed(&[
        chunk(json!({"audio": {"id": "audio_1", "transcript": "he"}})),
        chunk(json!({"audio": {"data": "AAAA", "transcript": "llo"}})),
        end("stop"),
    ]);
    let body = json!({"content": null, "audio": {"id": "audio_1", "data": "AAAA", "transcript": "hello", "expires_at": 1}});
    assert_eq!(answer.message, said(body, "stop").message);
    assert!(matches!(&answer.message.parts[0],
            Part::Audio(audio) if audio.source == MediaSource::Base64("AAAA".into())));
    let sent: Value = ChatCodec
        .lower(&ModelRequest::new([Message::from("q"), answer.message]))
        .unwrap()
        .body
        .parse()
        .unwrap();
    assert_eq!(
        sent["messages"][1],
        json!({"role": "assistant", "content": null, "audio": {"id": "audio_1"}})
    );
}

#[test]
fn of_several_answers_the_first_is_taken() {
    let choice = |index: u64, text: &str| json!({"index": index, "message": {"content": text}, "finish_reason": "stop"});
    let answer = whole(&json!({"choices": [choice(0, "a"), choice(1, "b")]}));
    assert_eq!((answer.message.plain_text().as_ref(), answer.diagnostics.len()), ("a", 1));
    let other = json!({"choices": [{"index": 1, "delta": {"content": "b"}}]}).to_string();
    let (stream, _) =
        streamed(&[chunk(json!({"content": "a"})), other.clone(), other, end("stop")]);
    assert_eq!((stream.message.plain_text().as_ref(), stream.diagnostics.len()), ("a", 1));
}

#[test]
fn what_cannot_be_read_is_named() {
    let refused = |body: Value| ChatCodec.lift_answer(&body.into()).unwrap_err().to_string();
    assert_eq!(refused(json!([])), "answer must be an object, found a list");
    assert_eq!(refused(json!({"choices": []})), "choices[0] is missing");
    assert_eq!(refused(json!({"choices": [{}]})), "choices[0].message is missing");
    assert_eq!(
        refused(json!({"choices": [{"message": {"content": 1}}]})),
        "choices[0].message.content must be a string or a list of parts, found a number"
    );
    let mut stream = ChatCodec.answer_stream();
    stream.push(&chunk(json!({"content": "a"}))).unwrap();
    for event in ["{", "7", "{\"choices\": 7}", "{\"choices\": [{\"delta\": {\"content\": 7}}]}"] {
        assert!(
            matches!(
                stream.push(event),
                Err(WireError::Unreadable { .. } | WireError::WrongType { .. })
            ),
            "{event}"
        );
    }
    assert_eq!(stream.answer().message.plain_text(), "a");
}

/// Regression test: an event was applied key by key until one could not be read, and the keys
/// before it stayed.
#[test]
fn an_event_that_cannot_be_read_changes_nothing() {
    let mut stream = ChatCodec.answer_stream();
    stream.push(&chunk(json!({"content": "a", "tool_calls": [{"index": 0, "id": "c1"}]}))).unwrap();
    let before = stream.answer();
    let whole = json!({"content": "b", "tool_calls": [{"id": "c2", "type": "function"}]});
    for broken in [
        json!({"delta": {"reasoning": "b", "content": "b", "refusal": 1}}),
        json!({"delta": {"content": [{"type": "text", "text": "b"}, {"type": "image_url"}, 1]}}),
        json!({"delta": {"content": "b", "annotations": {}}}),
        json!({"delta": {"audio": {"id": "s"}, "tool_calls": [{"index": 0, "function": {"name": "f"}}, {"index": 1, "id": 1}]}}),
        json!({"delta": {"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": 1}}]}}),
        json!({"delta": {"content": "b", "function_call": {"name": 1}}}),
        json!({"message": whole}),
    ] {
        let event = json!({"id": "i", "model": "m", "usage": {"prompt_tokens": 9}, "choices": [
            {"index": 1}, {"delta": {"content": "b"}, "finish_reason": "stop"}, broken]});
        assert!(stream.push(&event.to_string()).is_err(), "{event}");
        assert_eq!(stream.answer(), before, "{event}");
    }
}

#[test]
#[ignore = "needs test data; `cargo xtask test` runs it"]
fn recorded_answers_are_read() {
    let exchanges = data::exchanges("openai");
    let (mut bodies, mut streams, mut errors) = (0, 0, 0);
    for exchange in &exchanges {
        let answer = if exchange.events.is_empty() {
            bodies += 1;
            whole(&exchange.answer)
        } else {
            streams += 1;
            streamed(&exchange.events).0
        };
        assert_eq!(answer.error.is_some(), exchange.status >= 400, "{}", exchange.name);
        if answer.error.is_some() {
            errors += 1;
            continue;
        }
        assert!(
            answer.complete && answer.stop.is_some() && answer.diagnostics.is_empty(),
            "{answer:?}"
        );
        assert!(
            !answer.message.parts.is_empty() && answer.usage.is_some_and(|usage| usage.output > 0)
        );
        sendable(answer.message);
    }
    assert_eq!((bodies, streams, errors), (17, 1, 2));
}

#[test]
#[ignore = "needs test data; `cargo xtask test` runs it"]
fn fixtures_of_others_are_read() {
    let folder = data::folder();
    let folder = folder.join("vercel-ai-fixtures/openai/chat");
    let text = fs::read_to_string(folder.join("azure-model-router.1.chunks.txt")).unwrap();
    let (answer, deltas) = streamed(&text.lines().collect::<Vec<_>>());
    assert_eq!(answer.message, Message::text(Role::Assistant, "Capital of Denmark."));
    assert_eq!((answer.complete, answer.stop), (true, Some(StopReason::Stop)));
    assert_eq!(answer.model.as_deref(), Some("gpt-5-nano-2025-08-07"));
    assert_eq!(
        answer.usage.map(|usage| (usage.input, usage.output, usage.reasoning)),
        Some((15, 78, Some(64)))
    );
    assert_eq!(deltas.len(), 4);
    let body =
        Json::from_text(fs::read_to_string(folder.join("openai-text.json")).unwrap()).unwrap();
    let answer = ChatCodec.lift_answer(&body).unwrap();
    assert!(answer.message.plain_text().starts_with("**Holiday Name:** Galaxy Day"));
    assert_eq!((answer.message.parts.len(), answer.message.metadata.is_empty()), (1, true));
}

fn pieces(text: &str, at: usize) -> (String, String) {
    let at =
        (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    (text[..at].to_owned(), text[at..].to_owned())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn in_events_or_at_once_it_is_the_same(
        text in "\\PC{0,12}", thought in "\\PC{0,6}", refusal in proptest::option::of("\\PC{1,6}"),
        inputs in proptest::collection::vec("\\{\"a\":[0-9]{1,3}\\}|\\{|", 0..4),
            cut in 0_usize..8, finish in "stop|length|tool_calls",
    ) {
        let mut message = json!({"role": "assistant", "content": text,
            "reasoning_content": thought});
        let mut events = Vec::new();
        let two = |text: &str| <[String; 2]>::from(pieces(text, cut));
        events.extend(two(&thought).map(|piece| chunk(json!({"reasoning_content": piece}))));
        events.extend(two(&text).map(|piece| chunk(json!({"content": piece}))));
        if let Some(refusal) = &refusal {
            message["refusal"] = json!(refusal);
            events.extend(two(refusal).map(|piece| chunk(json!({"refusal": piece}))));
        }
        let mut list = Vec::new();
        for (i, input) in inputs.iter().enumerate() {
            let id = format!("c{i}");
            list.push(json!({"id": id, "type": "function",
                "function": {"name": "f", "arguments": input}}));
            let [one, two] = two(input);
            events.push(chunk(json!({"tool_calls": [{"index": i, "id": id, "function": {"name": "f", "arguments": one}}]})));
            events.push(chunk(json!({"tool_calls": [{"index": i,
                "function": {"arguments": two}}]})));
        }
        message["tool_calls"] = json!(list);
        events.push(end(&finish));
        let (stream, _) = streamed(&events);
        let answer = said(message, &finish);
        prop_assert_eq!(&stream.message, &answer.message);
        prop_assert_eq!((stream.stop, stream.complete), (answer.stop, true));
    }

    #[test]
    fn nothing_makes_it_panic(body in any_json(), inner in any_json()) {
        let _ = ChatCodec.lift_answer(&Json::from(&body));
        let mut stream = ChatCodec.answer_stream();
        for event in [body.to_string(), chunk(inner.clone()), chunk(json!({"content": inner, "tool_calls": inner, "audio": inner}))] {
            let _ = stream.push(&event);
        }
        let _ = stream.finish();
    }
}
