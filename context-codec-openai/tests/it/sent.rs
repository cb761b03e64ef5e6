//! Content that both forms leave out, and the notes they write instead.

use context_codec_openai::chat::ChatCodec;
use context_codec_openai::responses::{PROVIDER, ResponsesCodec};
use context_core::message::{Media, MediaSource, OpaqueBlock, Text};
use context_core::model::{FunctionTool, ProviderCompaction, Tool, ToolChoice};
use context_core::{Json, Message, MessageCodec, ModelRequest, Part, Role};
use serde_json::{Value, json};

#[track_caller]
fn sent(codec: &dyn MessageCodec, request: &ModelRequest) -> (Value, Vec<String>) {
    let lowered = codec.lower(request).unwrap();
    (lowered.body.parse().unwrap(), lowered.diagnostics.into_iter().map(|d| d.path).collect())
}

fn media(source: MediaSource, media_type: Option<&str>) -> Media {
    Media {
        source,
        media_type: media_type.map(str::to_owned),
        name: None,
        metadata: Default::default(),
    }
}

fn bytes(media_type: &str) -> Media {
    media(MediaSource::Base64("QUJD".into()), Some(media_type))
}

fn at(url: &str) -> Media {
    media(MediaSource::Url(url.to_owned()), None)
}

/// Returns a request with a call of a tool and a result with this output.
fn answered(output: Vec<Part>) -> ModelRequest {
    let call = Part::tool_call("c1", "look", Json::from_text("{}").unwrap());
    let Part::ToolResult(mut result) = Part::tool_result("c1", "") else { unreachable!() };
    result.output = output;
    ModelRequest::new([
        Message::from("q"),
        Message::new(Role::Assistant, [call]),
        Message::new(Role::Tool, [Part::ToolResult(result)]),
    ])
}

#[test]
fn tools_have_legal_names_and_are_there_once() {
    let function = |name: &str| Tool::from(FunctionTool::new(name, json!({"type": "object"})));
    let foreign =
        OpaqueBlock { provider: "elsewhere".into(), value: json!({"type": "bash"}).into() };
    let request = ModelRequest::new([
        Message::from("q"),
        Message::new(
            Role::Assistant,
            [Part::tool_call("c1", "look up", Json::from_text("{}").unwrap())],
        ),
        Message::new(Role::Tool, [Part::tool_result("c1", "found")]),
    ])
    .tools([function("look up"), function("look_up"), Tool::Opaque(foreign)])
    .tool_choice(ToolChoice::Named("look up".to_owned()));

    let (body, _) = sent(&ChatCodec, &request);
    assert_eq!(body["tools"].as_array().unwrap().len(), 1);
    assert_eq!(body["tools"][0]["function"]["name"], "look_up");
    assert_eq!(body["tool_choice"]["function"]["name"], "look_up");
    assert_eq!(body["messages"][1]["tool_calls"][0]["function"]["name"], "look_up");

    let (body, _) = sent(&ResponsesCodec, &request);
    let tool = json!({"type": "function", "name": "look_up", "parameters": {"type": "object"}, "strict": null});
    assert_eq!(body["tools"], json!([tool]));
    assert_eq!(body["tool_choice"], json!({"type": "function", "name": "look_up"}));
    assert_eq!(body["input"][1]["name"], "look_up");
}

#[test]
fn what_is_not_there_is_not_chosen() {
    let request = ModelRequest::new([Message::from("q")]).tool_choice(ToolChoice::Required);
    for codec in [&ChatCodec as &dyn MessageCodec, &ResponsesCodec] {
        let (body, said) = sent(codec, &request);
        assert_eq!(body.get("tool_choice"), None);
        assert_eq!(said, ["tool_choice"]);
    }
}

#[test]
fn blank_system_texts_say_nothing() {
    let request = ModelRequest::new([Message::from("q")])
        .system("Be kind.")
        .system(" \u{1c}\n")
        .system("Be brief.");
    let (body, _) = sent(&ResponsesCodec, &request);
    assert_eq!(body["instructions"], "Be kind.\n\nBe brief.");
    let (body, _) = sent(&ChatCodec, &request);
    assert_eq!(body["messages"][0]["content"].as_array().unwrap().len(), 2);
}

#[test]
fn images_are_of_types_that_are_seen() {
    let images = [
        bytes("image/bmp"),
        at("data:image/tiff;base64,QUJD"),
        at("file:///a.png"),
        media(MediaSource::Base64("/9j/wAARCAABAAEDASIAAhEBAxEB".into()), Some("image/jpg")),
        at("data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB"),
    ];
    let request = ModelRequest::new([Message::new(Role::User, images.map(Part::Image))]);
    let left_out = ["messages[0].parts[0]", "messages[0].parts[1]", "messages[0].parts[2]"];
    let (jpeg, png) = (
        "data:image/jpeg;base64,/9j/wAARCAABAAEDASIAAhEBAxEB",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB",
    );

    let (body, said) = sent(&ChatCodec, &request);
    let image = |url: &str| json!({"type": "image_url", "image_url": {"url": url}});
    assert_eq!(body["messages"][0]["content"], json!([image(jpeg), image(png)]));
    assert_eq!(said, left_out);

    let (body, said) = sent(&ResponsesCodec, &request);
    let image = |url: &str| json!({"type": "input_image", "image_url": url, "detail": "auto"});
    assert_eq!(body["input"][0]["content"], json!([image(jpeg), image(png)]));
    assert_eq!(said, left_out);
}

#[test]
fn a_document_with_its_bytes_in_the_address_is_sent_as_bytes() {
    let url = "data:text/plain;base64,QUJD";
    let request = ModelRequest::new([Message::new(Role::User, [Part::Document(at(url))])]);
    let (body, said) = sent(&ResponsesCodec, &request);
    let file = json!({"type": "input_file", "filename": "document.txt", "file_data": url});
    assert_eq!(body["input"][0]["content"], json!([file]));
    assert!(said.is_empty());
    let (body, _) = sent(&ChatCodec, &request);
    let file = json!({"type": "file", "file": {"filename": "document.txt", "file_data": url}});
    assert_eq!(body["messages"][0]["content"], json!([file]));
}

#[test]
fn a_result_says_what_of_it_is_not_sent() {
    for (output, text) in [
        (vec![], ""),
        (vec![Part::text("")], ""),
        (
            vec![Part::text("seen"), Part::Image(bytes("image/bmp"))],
            "seen\n[1 image cannot be shown]",
        ),
        (
            vec![Part::Image(bytes("image/bmp")), Part::Image(bytes("image/bmp"))],
            "[2 images cannot be shown]",
        ),
        (
            vec![Part::Opaque(OpaqueBlock {
                provider: "elsewhere".into(),
                value: json!({}).into(),
            })],
            "(no content that can be shown here)",
        ),
    ] {
        let request = answered(output);
        assert_eq!(sent(&ResponsesCodec, &request).0["input"][2]["output"], text);
        assert_eq!(sent(&ChatCodec, &request).0["messages"][2]["content"], text);
    }
}

#[test]
fn an_item_is_sent_once_however_often_it_is_there() {
    let search = json!({"type": "web_search_call", "id": "ws_1", "status": "completed"});
    let block = OpaqueBlock { provider: PROVIDER.to_owned(), value: search.clone().into() };
    let message = Message::new(Role::Assistant, [Part::Opaque(block), Part::text("a")]);
    let request =
        ModelRequest::new([Message::from("q"), message.clone(), Message::from("r"), message]);
    let (body, said) = sent(&ResponsesCodec, &request);
    let found = body["input"].as_array().unwrap().iter().filter(|item| **item == search);
    assert_eq!(found.count(), 1);
    assert_eq!(said, ["messages[3].parts[0]"]);
}

#[test]
fn a_compaction_is_asked_for_at_the_end_and_its_block_comes_back_in_front() {
    let asked = ModelRequest::new([Message::from("q"), Message::text(Role::Assistant, "a")])
        .compaction(ProviderCompaction::new());
    let (body, said) = sent(&ResponsesCodec, &asked);
    let input = body["input"].as_array().unwrap();
    assert_eq!(input.len(), 3);
    assert_eq!((&input[2], said.len()), (&json!({"type": "compaction_trigger"}), 0));
    let own = asked.clone().compaction(ProviderCompaction::new().instructions("Keep names."));
    assert_eq!(sent(&ResponsesCodec, &own).1, ["compaction"]);
    let refused = ChatCodec.lower(&asked).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the form openai has no request for a compaction by the provider"
    );

    let block = json!({"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAAB"});
    let opaque = OpaqueBlock { provider: PROVIDER.to_owned(), value: block.clone().into() };
    let text = Text::for_block("[sealed]", Some(90));
    let parts = [Part::Opaque(opaque), Part::Text(text), Part::text("facts")];
    let request = ModelRequest::new([Message::new(Role::User, parts), "Go on.".into()]);
    let (body, said) = sent(&ResponsesCodec, &request);
    assert_eq!((&body["input"][0], said.len()), (&block, 0));
    assert!(!body.to_string().contains("[sealed]"));
    let (body, said) = sent(&ChatCodec, &request);
    assert!(body.to_string().contains("[sealed]") && !body.to_string().contains("gAAAAB"));
    assert_eq!(said.len(), 0, "nothing is lost, so nothing is reported");
}
