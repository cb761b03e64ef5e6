//! Messages to records and back.

use context_codec_kit::JsonPatch;
use context_core::{Json, Message, Part, Role, ToolResult};
use context_trajectory::messages::{
    MessageRecord, MessageRecordError, TokenUsage, to_messages, to_records,
};
use proptest::prelude::*;

use super::{any, record};

fn through_text(records: &[MessageRecord]) -> Vec<MessageRecord> {
    let line = |record: &MessageRecord| {
        let text = record.to_json().as_str().to_owned();
        assert!(!text.contains('\n'));
        serde_json::from_str(&text).unwrap()
    };
    records.iter().map(line).collect()
}

fn list(records: &[MessageRecord]) -> Json {
    Json::from_serialize(records).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn messages_come_back_equal(messages in proptest::collection::vec(any::message(), 0..4)) {
        let records = to_records(&messages);
        prop_assert_eq!(&to_messages(&through_text(&records)).unwrap(), &messages);
        // After storing and loading, the records are equal.
        prop_assert_eq!(to_records(&to_messages(&records).unwrap()), records);
    }

    #[test]
    fn records_come_back_as_the_same_values(record in any::record()) {
        let records = [record];
        let messages = to_messages(&records).unwrap();
        let back = to_records(&messages);
        prop_assert_eq!(&to_messages(&back).unwrap(), &messages);
        prop_assert!(JsonPatch::between(&list(&records), &list(&back)).is_none(), "{:?}\n{:?}",
            records, back);
    }
}

#[test]
fn an_answer_is_stored_as_frameworks_store_it() {
    let call = Part::tool_call("1", "t", Json::from_text(r#"{"z":1,"a":1.50}"#).unwrap());
    let message = Message::new(Role::Assistant, [Part::text("a"), call]);
    let mut records = to_records([&message]);
    insta::assert_snapshot!(records[0].to_json(), @r#"{"type":"AIMessage","content":"a","name":"","additional_kwargs":{},"response_metadata":{},"tool_calls":[{"name":"t","args":{"z":1,"a":1.50},"id":"1","type":"tool_call"}],"invalid_tool_calls":[]}"#);
    let usage =
        TokenUsage { input_tokens: 3, output_tokens: 2, total_tokens: 5, ..TokenUsage::default() };
    records[0] = records[0].clone().with_usage(&usage);
    let back = to_messages(&records).unwrap();
    assert_eq!(back[0].parts, message.parts);
    assert_eq!(to_records(&back)[0].usage(), Some(usage));
    // A message without usage does not get zeros.
    assert_eq!(to_records([&message])[0].usage(), None);
}

#[test]
fn a_failed_result_stays_failed_and_names_stay() {
    let result = ToolResult {
        call_id: "1".into(),
        name: Some("t".into()),
        output: vec![Part::text("boom")],
        is_error: true,
        metadata: Default::default(),
    };
    let message =
        Message::new(Role::Tool, [Part::ToolResult(result), Part::tool_result("2", "fine")]);
    let records = to_records([&message]);
    insta::assert_snapshot!(list(&records), @r#"[{"type":"ToolMessage","content":"boom","name":"t","additional_kwargs":{},"response_metadata":{},"tool_call_id":"1","status":"error"},{"type":"ToolMessage","content":"fine","name":"","additional_kwargs":{},"response_metadata":{},"tool_call_id":"2","context.continues":true}]"#);
    assert!(records[0].is_error() && !records[1].is_error());
    assert_eq!(to_messages(&records).unwrap(), [message]);

    let ann = record(r#"{"type":"HumanMessage","content":"u","name":"ann"}"#);
    let back = to_messages(std::slice::from_ref(&ann)).unwrap();
    assert_eq!(back[0].metadata.get("name").map(Json::as_str), Some(r#""ann""#));
    assert_eq!(to_records(&back)[0].name().as_deref(), Some("ann"));
}

#[test]
fn a_record_that_was_changed_since_is_read_as_it_is_now() {
    // Only the stored whole message contains the position of the call.
    let call = Part::tool_call("1", "t", serde_json::json!({}));
    let message = Message::new(Role::Assistant, [call, Part::text("before")]);
    let mut records = to_records([&message]);
    assert_eq!(to_messages(&records).unwrap(), [message]);
    records[0].set("content", "after");
    assert_eq!(to_messages(&records).unwrap()[0].plain_text(), "after");
}

#[test]
fn a_message_that_was_changed_since_is_stored_as_it_is_now() {
    let odd =
        record(r#"{"type":"HumanMessage","content":[{"type":"text","text":"a"}],"extra":null}"#);
    let mut message = to_messages(&[odd]).unwrap().remove(0);
    message.parts = vec![Part::text("b")];
    let records = to_records([&message]);
    assert_eq!(records[0].text(), "b");
    assert_eq!(to_messages(&records).unwrap(), [message]);
}

#[test]
fn what_is_of_no_known_type_has_no_message() {
    let records = [
        record(r#"{"type":"HumanMessage","content":"u"}"#),
        record(r#"{"type":"Odd","content":"?"}"#),
    ];
    assert!(matches!(to_messages(&records), Err(MessageRecordError::UnknownType { index: 1 })));
    let list = MessageRecord::from_json(&Json::from_text("[]").unwrap());
    assert!(matches!(list, Err(MessageRecordError::NotAnObject { found: "a list" })));
}
