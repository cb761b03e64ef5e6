//! A page that sends its messages back gets the stored ones, and no others.

use context_codec_kit::sanitize::HistorySanitizer;
use context_codec_uimessage::ui;
use context_core::message::{OpaqueBlock, Reasoning};
use context_core::{Message, Metadata, Part, Role};
use serde_json::json;

fn stored() -> Vec<Message> {
    let thought = Reasoning {
        text: "Trains.".into(),
        signature: Some("c2ln".into()),
        provider: Some("anthropic".into()),
        ..Reasoning::default()
    };
    let call = Part::tool_call("c1", "trains", json!({"to": "Lisbon"}));
    let block = OpaqueBlock { provider: "anthropic".into(), value: json!({"type": "x"}).into() };
    let facts = Metadata::default().with("anthropic.response", json!({"id": "msg_1"}));
    let answer = [Part::Reasoning(thought), Part::text("I look."), call, Part::Opaque(block)];
    vec![
        Message::from("Trains to Lisbon?"),
        Message::new(Role::Assistant, answer).with_metadata(facts),
        Message::new(Role::Tool, [Part::tool_result("c1", "Two.")]),
        Message::text(Role::Assistant, "At 9 and at 10."),
    ]
}

#[test]
fn a_page_that_sends_its_messages_back_gets_the_stored_ones() {
    let page = ui::lower(&stored()).messages;
    let lifted: Vec<Message> = page
        .iter()
        .flat_map(|message| ui::lift(message).unwrap())
        .map(|lifted| lifted.message)
        .collect();
    let clean = HistorySanitizer::new().stored(stored()).sanitize(lifted);
    assert_eq!(clean.messages[1..], stored()[1..]);
    assert_eq!(clean.messages[0].parts, stored()[0].parts);
    assert_eq!(clean.report.dropped, []);
}
