//! Lowering of messages that were not lifted from UIMessages.

use context_codec_uimessage::UiMessageCodec;
use context_core::message::{Data, Media, MediaSource, OpaqueBlock, Reasoning, ToolInput};
use context_core::model::WireError;
use context_core::{
    Message, MessageCodec, Metadata, ModelRequest, Part, Role, ToolCall, ToolResult,
};
use serde_json::{Value, json};

use crate::{shown, value};

fn media(source: MediaSource, media_type: Option<&str>) -> Media {
    Media {
        source,
        media_type: media_type.map(Into::into),
        name: None,
        metadata: Metadata::default(),
    }
}

fn result(call_id: &str, output: Vec<Part>, is_error: bool) -> Part {
    Part::ToolResult(ToolResult {
        call_id: call_id.to_owned(),
        name: None,
        output,
        is_error,
        metadata: Metadata::default(),
    })
}

fn ui(role: &str, n: usize, parts: Value) -> Value {
    json!({"id": format!("msg-{n}"), "role": role, "parts": parts})
}

#[test]
fn a_turn_of_several_steps_is_one_ui_message() {
    let picture = Part::Image(media(MediaSource::Base64("AAAA".into()), Some("image/png")));
    let (body, said) = shown([
        Message::text(Role::System, "Be brief."),
        Message::from("Look at both."),
        Message::new(
            Role::Assistant,
            [
                Part::text("I look."),
                Part::tool_call("c1", "see", json!({"n": 1})),
                Part::tool_call("c2", "see", json!({"n": 2})),
                Part::tool_call("c3", "ask", json!({})),
            ],
        ),
        Message::new(Role::Tool, [result("c2", vec![Part::text("gone")], true)]),
        Message::new(Role::Tool, [result("c1", vec![Part::text("here:"), picture], false)]),
        Message::text(Role::Assistant, "One is gone."),
        Message::from("Thanks."),
    ]);
    assert_eq!(said, [""; 0]);
    let (start, see) = (json!({"type": "step-start"}), "tool-see");
    assert_eq!(
        body,
        json!([
            ui("system", 1, json!([{"type": "text", "text": "Be brief."}])),
            ui("user", 2, json!([{"type": "text", "text": "Look at both."}])),
            ui(
                "assistant",
                3,
                json!([
                    {"type": "text", "text": "I look."},
                    {"type": see, "toolCallId": "c1", "state": "output-available",
                        "input": {"n": 1}, "output": [
                        {"type": "text", "text": "here:"},
                        {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,AAAA"},
                    ]},
                    {"type": see, "toolCallId": "c2", "state": "output-error", "input": {"n": 2}, "errorText": "gone"},
                    {"type": "tool-ask", "toolCallId": "c3", "state": "input-available",
                        "input": {}},
                    start,
                    {"type": "text", "text": "One is gone."},
                ])
            ),
            ui("user", 4, json!([{"type": "text", "text": "Thanks."}])),
        ])
    );
}

#[test]
fn results_find_their_call_wherever_they_stand() {
    let call = |id: &str| Message::new(Role::Assistant, [Part::tool_call(id, "f", json!({}))]);
    let (body, said) = shown([
        call("c"),
        Message::from("wait"),
        Message::new(Role::User, [Part::tool_result("c", "late"), Part::text("and?")]),
        // The same id again, and one result too many.
        call("c"),
        Message::new(Role::Tool, [Part::tool_result("c", "new"), Part::tool_result("c", "lost")]),
    ]);
    let tool = |output: &str| json!([{"type": "tool-f", "toolCallId": "c", "state": "output-available", "input": {}, "output": output}]);
    assert_eq!(
        body,
        json!([
            ui("assistant", 1, tool("late")),
            ui("user", 2, json!([{"type": "text", "text": "wait"}])),
            ui("user", 3, json!([{"type": "text", "text": "and?"}])),
            ui("assistant", 4, tool("new")),
        ])
    );
    assert_eq!(said, ["unpaired at messages[4].parts[1]: left out: a result without its call"]);
}

#[test]
fn what_the_form_cannot_hold_is_said() {
    let opaque = |provider: &str| {
        Part::Opaque(OpaqueBlock {
            provider: provider.to_owned(),
            value: json!({"type": "x"}).into(),
        })
    };
    let (body, said) = shown([
        Message::new(
            Role::User,
            [
                Part::Image(media(MediaSource::Reference("file-1".to_owned()), None)),
                Part::Audio(media(MediaSource::Url("https://example.org/a".to_owned()), None)),
                Part::tool_call("c", "f", json!({})),
                Part::Unknown(json!({"type": "later"}).into()),
                Part::Data(Data { name: "place".to_owned(), value: json!({"n": 1}).into() }),
            ],
        ),
        Message::new(
            Role::Assistant,
            [
                opaque("anthropic"),
                opaque("uimessage"),
                Part::Reasoning(Reasoning {
                    text: "hm".into(),
                    signature: Some("s".into()),
                    ..Reasoning::default()
                }),
                Part::ToolCall(ToolCall {
                    id: "d".to_owned(),
                    name: "f".to_owned(),
                    input: ToolInput::Invalid("{".to_owned()),
                    metadata: Metadata::default(),
                }),
            ],
        ),
        Message::new(
            Role::Tool,
            [
                Part::text("?"),
                result("d", vec![opaque("x"), Part::text("a"), Part::text("b")], true),
            ],
        ),
    ]);
    assert_eq!(
        said,
        [
            "unrepresentable at messages[2].parts[0]: left out: a tool message holds only results",
            "unrepresentable at messages[0].parts[0]: left out: a file needs an address or its bytes",
            "unrepresentable at messages[0].parts[2]: left out: only an assistant message holds thoughts and calls",
            "unrepresentable at messages[0].parts[3]: left out: the form has no such part",
            "unrepresentable at messages[1].parts[0]: left out: a block of another provider",
            "unrepresentable at messages[1].parts[2]: left out: a signature without its provider",
            "unrepresentable at messages[2].parts[1]: left out: an error holds only text",
        ]
    );
    assert_eq!(
        body,
        json!([
            ui(
                "user",
                1,
                json!([
                    {"type": "file", "mediaType": "audio/*", "url": "https://example.org/a"},
                    {"type": "data-place", "data": {"n": 1}},
                ])
            ),
            ui(
                "assistant",
                2,
                json!([
                    {"type": "x"},
                    {"type": "reasoning", "text": "hm"},
                    {"type": "tool-f", "toolCallId": "d", "state": "output-error", "rawInput": "{", "errorText": "a\nb"},
                ])
            ),
        ])
    );
}

#[test]
fn a_request_has_its_system_prompt_and_no_more() {
    let request =
        ModelRequest::new([Message::from("hi")]).system("Be brief.").system("Be kind.").model("m");
    let lowered = UiMessageCodec.lower(&request).unwrap();
    assert_eq!(
        value(&lowered.body),
        json!([
            {"id": "system", "role": "system", "parts": [{"type": "text", "text": "Be brief."}, {"type": "text", "text": "Be kind."}]},
            {"id": "msg-2", "role": "user", "parts": [{"type": "text", "text": "hi"}]},
        ])
    );
    let said: Vec<_> = lowered.diagnostics.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        ["unrepresentable at request: left out: the form holds a conversation, not model"]
    );
}

#[test]
fn nothing_is_an_error() {
    for messages in [
        vec![],
        vec![Message::new(Role::Assistant, [])],
        vec![Message::new(Role::Tool, [Part::tool_result("c", "x")])],
    ] {
        let error = UiMessageCodec.lower(&ModelRequest::new(messages)).unwrap_err();
        assert!(matches!(error, WireError::NothingToSend), "{error}");
    }
}

#[test]
fn ids_by_position_are_free() {
    let body = json!([{"id": "msg-2", "role": "user", "parts": [{"type": "text", "text": "a"}]}, {"role": "user", "parts": []}]);
    let request = UiMessageCodec.lift(&body.into()).unwrap().request;
    let sent = value(&UiMessageCodec.lower(&request).unwrap().body);
    assert_eq!((&sent[0]["id"], &sent[1]["id"]), (&json!("msg-2"), &json!("msg-2'")));
}

#[test]
fn files_that_no_browser_can_read_are_left_out() {
    let url = |url: &str| media(MediaSource::Url(url.to_owned()), Some("image/png"));
    let bytes = |data: &str| media(MediaSource::Base64(data.into()), Some("image/png"));
    let files =
        [bytes(""), bytes("no base64"), url(""), url("javascript:alert(1)"), url("file:///a.png")];
    let shown_ones = [url("/files/1.png"), url("https://example.org/a.png"), bytes("AAAA")];
    let parts = files.into_iter().chain(shown_ones).map(Part::Image);
    let (body, said) = shown([Message::new(Role::User, parts)]);
    assert_eq!(body[0]["parts"].as_array().unwrap().len(), 3);
    assert_eq!(said.len(), 5);
    assert_eq!(
        said[1],
        "unrepresentable at messages[0].parts[1]: left out: media whose bytes are not Base64"
    );
}

#[test]
fn results_hold_only_files_that_a_page_can_show() {
    let image = |source| Part::Image(media(source, Some("image/png")));
    let damaged = image(MediaSource::Base64("no base64".into()));
    let elsewhere = image(MediaSource::Url("file:///etc/passwd".to_owned()));
    let sound = image(MediaSource::Base64("AAAA".into()));
    let (body, said) = shown([
        Message::new(Role::Assistant, [Part::tool_call("c", "see", json!({}))]),
        Message::new(Role::Tool, [result("c", vec![damaged, sound, elsewhere], false)]),
    ]);
    assert_eq!(
        body[0]["parts"][0]["output"],
        json!([
            {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,AAAA"},
            {"type": "text", "text": "[2 images cannot be shown]"},
        ])
    );
    assert_eq!(said.len(), 2);
    assert!(said[0].contains("media whose bytes are not Base64"), "{said:?}");
    assert!(said[1].contains("an address the provider cannot fetch"), "{said:?}");
}
