//! UIMessages through the public API: lifting, lowering of other messages, and that nothing is
//! lost.

mod exact;
mod foreign;
mod hostile;
mod reading;
mod sanitized;

use context_codec_uimessage::UiMessageCodec;
use context_core::{Json, Message, MessageCodec, ModelRequest};
use serde_json::Value;

fn value(json: &Json) -> Value {
    json.parse().expect("JSON parses")
}

/// Lifts a body, stores and loads its messages, and restores it: the result is equal.
#[track_caller]
fn round_trip(body: &Json) -> ModelRequest {
    let mut request = UiMessageCodec.lift(body).expect("a body").request;
    for (at, message) in request.messages.clone().iter().enumerate() {
        let loaded = Message::decode(&message.encode()).expect("as it was stored");
        assert_eq!(loaded, **message);
        request.messages.replace(at, loaded.into());
    }
    let back = UiMessageCodec.lower_source(&request);
    assert_eq!(back.diagnostics, []);
    assert_eq!(value(&back.body), value(body));
    request
}

/// Returns the messages of a body, without their metadata.
#[track_caller]
fn read(body: Value) -> Vec<Message> {
    let request = round_trip(&body.into());
    request
        .messages
        .iter()
        .map(|message| Message::new(message.role, message.parts.clone()))
        .collect()
}

/// Returns the UIMessages of messages, and the diagnostics.
fn shown(messages: impl IntoIterator<Item = Message>) -> (Value, Vec<String>) {
    let lowered = UiMessageCodec.lower(&ModelRequest::new(messages)).expect("something to write");
    (value(&lowered.body), lowered.diagnostics.iter().map(ToString::to_string).collect())
}
