//! Media that are sent, and those that are left out.

use context_codec_gemini::generate::GenerateCodec;
use context_core::message::{MediaSource, OpaqueBlock};
use context_core::{Json, Message, MessageCodec, ModelRequest, Part, Role};
use serde_json::{Value, json};

use crate::sending::{call, media, result};
use crate::shared::value;

#[test]
fn media_that_are_not_what_they_say_are_left_out() {
    const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB";
    let image = |data: &str, named: &str| {
        Part::Image(media(
            MediaSource::Base64(data.into()),
            Some(named).filter(|named| !named.is_empty()),
        ))
    };
    let at =
        |url: &str, named: Option<&str>| Part::Image(media(MediaSource::Url(url.into()), named));
    let damaged = vec![
        image("", "image/png"),
        image("no base64", "image/png"),
        image(PNG, "image/jpeg"),
        image(PNG, "image/gif"),
        image("aGk=", "image/png"),
        image(PNG, ""),
        at("data:image/svg+xml;base64,PHN2Zy8+", None),
        at("file:///a.png", Some("image/png")),
    ];
    let inside = at(&format!("data:image/png;base64,{PNG}"), None);
    let request = ModelRequest::new([
        Message::new(Role::User, [vec![Part::text("q")], damaged.clone(), vec![inside]].concat()),
        Message::new(Role::Assistant, [call("a", "f")]),
        Message::new(Role::Tool, [result("a", vec![Part::text("see"), damaged[1].clone()])]),
    ]);
    let lowered = GenerateCodec.lower(&request).unwrap();
    let body = value(&lowered.body);
    let inside = json!({"inlineData": {"mimeType": "image/png", "data": PNG}});
    assert_eq!(body["contents"][0]["parts"], json!([{"text": "q"}, inside]));
    let response = &body["contents"][2]["parts"][0]["functionResponse"]["response"];
    assert_eq!(response["output"], "see\n[1 image cannot be shown]");
    assert_eq!(lowered.diagnostics.len(), damaged.len() + 1);
    assert_eq!(
        lowered.diagnostics[1].to_string(),
        "unrepresentable at messages[0].parts[2]: left out: media whose bytes are not Base64"
    );
}

#[test]
fn media_in_blocks_of_its_own_are_checked_too() {
    let block = |value: Value| {
        Part::Opaque(OpaqueBlock { provider: "gemini".to_owned(), value: Json::from(&value) })
    };
    let video = json!({"inlineData": {"mimeType": "video/mp4", "data": "AAAA"}, "videoMetadata": {"fps": 1}});
    let youtube = json!({"fileData": {"fileUri": "https://youtu.be/a"}});
    for damaged in [
        json!({"inlineData": {"mimeType": "video/mp4", "data": "no base64"}}),
        json!({"inlineData": {"mimeType": "video/x-matroska", "data": "AAAA"}}),
        json!({"inlineData": {"data": "AAAA"}}),
        json!({"inlineData": {"mime_type": "image/png", "data": "AAAA"}}),
        json!({"inlineData": 1}),
        json!({"fileData": {"fileUri": "file:///etc/passwd"}}),
        json!({"fileData": {"fileUri": "https://a/b", "mimeType": "application/zip"}}),
    ] {
        let parts =
            [Part::text("q"), block(video.clone()), block(youtube.clone()), block(damaged.clone())];
        let output = vec![block(video.clone()), block(damaged.clone())];
        let request = ModelRequest::new([
            Message::new(Role::User, parts),
            Message::new(Role::Assistant, [call("a", "f")]),
            Message::new(Role::Tool, [result("a", output)]),
        ]);
        let lowered = GenerateCodec.lower(&request).unwrap();
        let body = value(&lowered.body);
        assert_eq!(
            body["contents"][0]["parts"],
            json!([{"text": "q"}, video, youtube]),
            "{damaged}"
        );
        let response = &body["contents"][2]["parts"][0]["functionResponse"];
        assert_eq!(response["parts"], json!([video]), "{damaged}");
        assert_eq!(
            response["response"],
            json!({"output": "[1 document cannot be shown]"}),
            "{damaged}"
        );
        assert_eq!(lowered.diagnostics.len(), 2, "{:?}", lowered.diagnostics);
    }
}
