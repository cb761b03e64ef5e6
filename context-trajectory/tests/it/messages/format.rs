//! Tests of the compact text.

use context_trajectory::messages::{MessageRecord, format_context};
use proptest::prelude::*;

use super::{ai, any, record, result, user};

#[test]
fn every_kind_in_a_row() {
    let sum = r#"[{"name":"sum","args":{"b":[1,2.50],"a":"é\n"},"id":"1","type":"tool_call"}]"#;
    let run = [
        user("What?"),
        record(r#"{"type":"SystemMessage","content":"s"}"#),
        user("u"),
        ai("think", sum),
        result("1", "42").with("name", "sum"),
        result("2", "-"),
        ai("", "[]"),
        record(
            r#"{"type":"AIMessage","content":"x","invalid_tool_calls":[{"name":"t","error":"bad"},{"name":null}]}"#,
        ),
        ai("fin", "[]"),
    ];
    // A trailing space after a result is shown as a dot.
    insta::assert_snapshot!(format_context(&run).replace(" \n", "·\n"), @r#"
    === CURRENT CONTEXT ===
    [System]
    s

    ---

    [User]
    u

    ---

    [Assistant]
    think
    [Assistant:tool_calls]
    [{"args": {"a": "é\n", "b": [1, 2.50]}, "name": "sum"}]

    ---

    <results>
    [Tool:sum]
    42·
    </results>

    ---

    <results>
    [Tool:tool]
    -·
    </results>

    ---

    [Assistant]
    (Empty)

    ---

    [Assistant]
    x
    [Assistant:invalid_tool_calls]
    [{"error": "bad", "name": "t"}, {"error": "", "name": "tool"}]

    ---

    [Assistant]
    fin
    "#);
}

#[test]
fn a_vendors_calls_are_shown_and_parts_are_texts() {
    let run = [
        user("What?"),
        record(
            r#"{"type":"AIMessage","content":null,"additional_kwargs":{"tool_calls":[
                {"id":"1","function":{"name":"look","arguments":"{\"at\":\"x\"}"}},
                {"id":"2","function":{"name":"look","arguments":"{broken"}}]}}"#,
        ),
        record(
            r#"{"type":"HumanMessage","additional_kwargs":null,"content":[
                "see",{"type":"text","text":"this"},{"type":"image_url","image_url":{"url":"data:"}},
                {"type":"thinking","thinking":"hm"}]}"#,
        ),
    ];
    insta::assert_snapshot!(format_context(&run), @r#"
    === CURRENT CONTEXT ===
    [Assistant:tool_calls]
    [{"args": {"at": "x"}, "name": "look"}, {"args": "{broken", "name": "look"}]

    ---

    [User]
    see
    this
    [image_url]
    "#);
}

#[test]
fn only_a_question_in_front_is_left_out() {
    assert_eq!(format_context(&[]), "None");
    assert_eq!(format_context(&[user("u")]), "None");
    insta::assert_snapshot!(format_context(&[ai("lost", "[]"), user("u")]), @r#"
    === CURRENT CONTEXT ===
    [Assistant]
    lost

    ---

    [User]
    u
    "#);
    insta::assert_snapshot!(format_context(&[record(r#"{"type":"Odd","content":"?"}"#)]), @r#"
    === CURRENT CONTEXT ===
    [Odd]
    ?
    "#);
    assert_eq!(format_context(&[record("{}")]), "None");
}

#[test]
fn arguments_of_any_depth_are_shown() {
    let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
    let run = [ai("", &format!(r#"[{{"name":"t","args":{{"a":{deep}}}}}]"#))];
    assert!(format_context(&run).contains(&"[".repeat(200)));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_records_are_shown(records in proptest::collection::vec(any::record(), 0..5)) {
        let text = format_context(&records);
        let question = records.first()
            .is_some_and(|first| first.type_name().as_deref() == Some("HumanMessage"));
        for name in records[usize::from(question)..].iter().filter_map(MessageRecord::name) {
            let is_tool = text.contains(&format!("[Tool:{name}]"));
            prop_assert!(is_tool || records.iter().all(|record| record.tool_call_id().is_none()
                || record.name() != Some(name.clone())));
        }
        prop_assert!(text == "None" || text.starts_with("=== CURRENT CONTEXT ===\n"));
    }
}
