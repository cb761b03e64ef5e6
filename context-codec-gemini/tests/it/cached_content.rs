//! Requests whose beginning the provider has stored.

use std::sync::Arc;
use std::time::Duration;

use context_codec_gemini::generate::{GenerateCodec, cached_content};
use context_codec_kit::provider_rules::check_body;
use context_core::model::{CachedContent, FunctionTool, ToolChoice, WireError};
use context_core::{Message, MessageCodec, ModelRequest, Part, Role};
use serde_json::{Value, json};

use crate::sending::{call, result};
use crate::shared::{json, value};

fn talk() -> ModelRequest {
    ModelRequest::new([
        Message::from("<timetable/>"),
        Message::from("Which train is first?"),
        Message::text(Role::Assistant, "The one at 7:05."),
        Message::from("And then?"),
    ])
    .model("gemini-2.5-flash")
    .system("You book trips.")
    .tools([FunctionTool::new("look", json!({"type": "object"}))])
}

fn sent(request: &ModelRequest, messages: usize) -> Value {
    let content = CachedContent::of("cachedContents/8kz", request, messages);
    let body = value(&GenerateCodec.lower(&request.clone().cached_content(content)).unwrap().body);
    assert_eq!(check_body("gemini", &body), []);
    body
}

fn user(text: &str) -> Value {
    json!({"role": "user", "parts": [{"text": text}]})
}

#[test]
fn what_is_stored_is_not_sent_again() {
    let model = json!({"role": "model", "parts": [{"text": "The one at 7:05."}]});
    let name = "cachedContents/8kz";
    let first = user("Which train is first?");
    let rests = [
        // Both messages of the user are one content, of which a part is stored.
        (1, json!([first, model, user("And then?")])),
        (2, json!([model, user("And then?")])),
        (3, json!([user("And then?")])),
    ];
    for (messages, contents) in rests {
        assert_eq!(sent(&talk(), messages), json!({"contents": contents, "cachedContent": name}));
    }
    let nothing = sent(&talk(), 0);
    assert_eq!(nothing["contents"][0]["parts"].as_array().unwrap().len(), 2);
    let all = CachedContent::of(name, &talk(), 4);
    assert!(matches!(
        GenerateCodec.lower(&talk().cached_content(all)),
        Err(WireError::NothingToSend)
    ));
}

#[test]
fn a_body_that_stores_content_and_the_requests_with_it_are_the_whole_conversation() {
    let whole = value(&GenerateCodec.lower(&talk()).unwrap().body);
    let content = CachedContent::of("n", &talk(), 3);
    let stored = cached_content(&content, "models/m", Duration::from_secs(90)).unwrap();
    let mut stored = value(&stored.body);
    assert_eq!((&stored["model"], &stored["ttl"]), (&json!("models/m"), &json!("90s")));
    assert_eq!(
        (&stored["systemInstruction"], &stored["tools"]),
        (&whole["systemInstruction"], &whole["tools"])
    );
    let rest = sent(&talk(), 3);
    let contents = stored["contents"].as_array_mut().unwrap();
    contents.extend(rest["contents"].as_array().unwrap().iter().cloned());
    assert_eq!(stored["contents"], whole["contents"]);
}

#[test]
fn a_request_that_does_not_begin_with_what_is_stored_is_refused() {
    let stored = Arc::new(CachedContent::of("cachedContents/8kz", &talk(), 1));
    let fault = |request: ModelRequest| match GenerateCodec
        .lower(&request.cached_content(Arc::clone(&stored)))
    {
        Err(WireError::CachedContent { name, part, .. }) if name == "cachedContents/8kz" => part,
        other => panic!("{other:?}"),
    };
    assert_eq!(fault(talk().system("Be brief.")), "system prompt");
    assert_eq!(
        fault(talk().tools([FunctionTool::new("book", json!({"type": "object"}))])),
        "tools"
    );
    assert_eq!(fault(talk().tool_choice(ToolChoice::Required)), "tool choice");
    let settings = json!({"toolConfig": {"retrievalConfig": {"languageCode": "pt"}}});
    let mut with_settings = talk();
    with_settings.metadata.insert("gemini.body", settings);
    assert!(stored.fits(&with_settings));
    assert_eq!(fault(with_settings), "tool choice");
    let mut cut = talk();
    cut.messages = cut.messages.range(1..).cloned().collect();
    assert_eq!(fault(cut), "messages");
    // Of cached content that a body names nothing is known, so nothing may stand beside it.
    let named = CachedContent::new("cachedContents/8kz");
    let error = GenerateCodec.lower(&talk().cached_content(named)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the cached content cachedContents/8kz holds other system prompt than the request: the provider takes no \
         system prompt, tools or tool choice beside cached content"
    );
}

#[test]
fn stored_messages_do_not_end_with_open_calls() {
    let request = ModelRequest::new([
        Message::from("q"),
        Message::new(Role::Assistant, [call("a", "bash")]),
        Message::new(Role::Tool, [result("a", vec![Part::text("ok")])]),
    ]);
    let content = CachedContent::of("n", &request, 2);
    assert!(matches!(
        cached_content(&content, "m", Duration::from_secs(1)),
        Err(WireError::CachedContent { part: "results", .. })
    ));
    assert!(GenerateCodec.lower(&request.clone().cached_content(content)).is_err());
    let whole = CachedContent::of("n", &request, 3);
    let mut more = request;
    more.messages.push(Message::from("And now?").into());
    let body = value(&GenerateCodec.lower(&more.cached_content(whole)).unwrap().body);
    assert_eq!(body["contents"], json!([user("And now?")]));
}

/// An answer of which nothing is sent, such as a thought of another provider, once took the message
/// before it out of what is stored.
#[test]
fn stored_messages_may_end_with_an_answer_of_which_nothing_is_sent() {
    let mut request = talk();
    request.messages = [
        Message::from("<timetable/>"),
        Message::text(Role::Assistant, " "),
        Message::from("Which train is first?"),
    ]
    .into();
    let content = CachedContent::of("n", &request, 2);
    let stored = cached_content(&content, "gemini-2.5-flash", Duration::from_secs(90)).unwrap();
    assert_eq!(value(&stored.body)["contents"], json!([user("<timetable/>")]));
    assert_eq!(sent(&request, 2)["contents"], json!([user("Which train is first?")]));
}

#[test]
fn the_name_comes_back() {
    let body = json!({"contents": [user("q")], "cachedContent": "cachedContents/8kz"});
    let lifted = GenerateCodec.lift(&json(&body)).unwrap().request;
    assert_eq!(lifted.cached_content.as_deref(), Some(&CachedContent::new("cachedContents/8kz")));
    assert_eq!(value(&GenerateCodec.lower(&lifted).unwrap().body), body);
    assert_eq!(value(&GenerateCodec.lower_source(&lifted).body), body);
}
