//! Files of other systems.

use context_core::{ErrorKind, Json};
use context_trajectory::messages::{
    ImportError, ImportProblem, MessageRecord, import_messages, load_messages,
};

/// Regression: a record changed when it was written and read again.
#[test]
fn what_was_written_over_several_lines_is_on_one_from_the_beginning() {
    let calls = "[{\"name\":\"t\",\n\"args\":\"{\",\"error\":\"a\\nb\"}]";
    let file = format!(r#"[{{"type":"AIMessage","content":"c","invalid_tool_calls":{calls}}}]"#);
    let records = import_messages(&file).unwrap().records;
    assert_eq!(MessageRecord::from_json(&records[0].to_json()).unwrap(), records[0]);
    assert_eq!(records[0].invalid_calls()[0].error.as_deref(), Some("a\nb"));
    let mut set = records[0].clone();
    set.set("extra", Json::from_text("{\"a\":\n1}".to_owned()).unwrap());
    assert!(!set.to_json().as_str().contains('\n'));
}

#[test]
fn both_generations_are_read_and_nothing_goes_silently() {
    let items = r#"[{"type":"SystemMessage","content":"s"},{"type":"HumanMessage","content":"u"},
        {"type":"Odd","content":"?"},{"type":"ToolMessage","content":"r","tool_call_id":" "},
        {"content":"c"},"junk"]"#;
    let object = format!(r#"{{"messages":{items},"round_summaries":[{{"round":0}}]}}"#);
    let (old, new) = (import_messages(items).unwrap(), import_messages(&object).unwrap());
    assert_eq!(old.records, new.records);
    assert_eq!(old.records.len(), 3);
    let problems: Vec<_> =
        new.unread.iter().map(|unread| (unread.index, unread.problem.clone())).collect();
    let unknown = ImportProblem::UnknownType { name: "Odd".into() };
    let expected = [
        (2, unknown),
        (4, ImportProblem::NoType),
        (5, ImportProblem::NotAnObject { found: "a string" }),
    ];
    assert_eq!(problems, expected);
    assert_eq!(new.extra["round_summaries"].as_str(), r#"[{"round":0}]"#);
}

#[test]
fn damage_is_an_error() {
    assert!(matches!(import_messages("{\"messages\": ["), Err(ImportError::NotJson(_))));
    assert!(matches!(import_messages("{}"), Err(ImportError::NotMessages { found: "nothing" })));
    assert!(matches!(
        import_messages("{\"messages\": 1}"),
        Err(ImportError::NotMessages { found: "a number" })
    ));
    assert!(matches!(
        import_messages("\"text\""),
        Err(ImportError::NotMessages { found: "a string" })
    ));
}

#[tokio::test]
async fn files_are_read_and_left_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("messages.json");
    assert_eq!(load_messages(&path).await.unwrap_err().kind(), ErrorKind::NotFound);
    std::fs::write(&path, "{broken").unwrap();
    assert_eq!(load_messages(&path).await.unwrap_err().kind(), ErrorKind::Corrupt);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{broken");
}
