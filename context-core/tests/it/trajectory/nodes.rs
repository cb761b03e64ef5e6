//! Nodes, labels, fields.

use context_core::Json;
use context_core::base::JsonMap;
use context_core::trajectory::{NewNode, NewQuery, NodeBody, NodeTitle, Round, TrajectoryNodeKind};

use super::{
    NOW, action, add, endpoints, file, id, refused, round, round_with_query, state, titles, try_add,
};

#[test]
fn a_question_is_start_root_and_only_endpoint() {
    let round = round_with_query(0);
    assert_eq!(titles(&round), ["Query(query00000)"]);
    assert_eq!(round.query().unwrap().id, id(0));
    assert_eq!(endpoints(&round), [0]);
    assert_eq!(&*round.query().unwrap().description, "User query No.00000");
}

#[test]
fn a_second_question_is_refused_whatever_the_call() {
    let mut round = round_with_query(0);
    refused(&mut round, "second_query", |round| round.ask(NewQuery::new("again"), NOW));
    let second = NewNode::new(NodeBody::query("again"), [id(0)]).edge("again");
    refused(&mut round, "second_query", |round| try_add(round, second));
}

#[test]
fn nothing_comes_before_the_question() {
    let new = NewNode::new(action(), [id(0)]);
    refused(&mut round(0), "no_query_yet", |round| try_add(round, new));
}

#[test]
fn labels_are_numbered_by_kind() {
    let mut round = round_with_query(0);
    add(&mut round, action(), &[0]);
    add(&mut round, state(), &[1]);
    add(&mut round, action(), &[2]);
    assert_eq!(
        titles(&round),
        ["Query(query00000)", "Action(action00000)", "State(state00000)", "Action(action00001)"]
    );
}

fn knowledge(round: &mut Round, label: Option<&str>) -> String {
    let new = NewNode::new(NodeBody::knowledge("domain", "k"), [id(0)]).edge("produces");
    let new = match label {
        Some(label) => new.label(label),
        None => new,
    };
    let (id, _) = round.add(new, NOW).unwrap();
    (*round.node(id).unwrap().label).to_owned()
}

#[test]
fn an_own_label_takes_a_number() {
    let mut round = round_with_query(0);
    knowledge(&mut round, Some("rule"));
    assert_eq!(knowledge(&mut round, None), "knowledge00001");
}

#[test]
fn an_own_label_that_looks_like_the_next_is_no_trap() {
    let mut round = round_with_query(0);
    knowledge(&mut round, Some("knowledge00001"));
    assert_eq!(knowledge(&mut round, None), "knowledge00002");
    assert_eq!(knowledge(&mut round, None), "knowledge00003");
    knowledge(&mut round, Some("knowledge1_0"));
    knowledge(&mut round, Some("knowledge99999999999999999999"));
    assert_eq!(knowledge(&mut round, None), "knowledge00006");
}

#[test]
fn labels_are_unique_in_their_kind() {
    let mut round = round_with_query(0);
    knowledge(&mut round, Some("a"));
    let same =
        NewNode::new(NodeBody::knowledge("domain", "k"), [id(0)]).edge("produces").label("a");
    refused(&mut round, "duplicate_label", |round| try_add(round, same));
    let other_kind = NewNode::new(file(), [id(0)]).edge("produces").label("a");
    try_add(&mut round, other_kind).unwrap();
    let empty = NewNode::new(file(), [id(0)]).edge("produces").label("");
    refused(&mut round, "missing_fields", |round| try_add(round, empty));
}

#[test]
fn any_label_is_read_back() {
    for label in ["revenue(USD)", "a)b(c", "\"quoted\"", "two\nlines", "é 漢字 🙂", ")", "("] {
        let mut round = round_with_query(0);
        let new = NewNode::new(file(), [id(0)]).edge("produces").label(label);
        let (node, _) = try_add(&mut round, new).unwrap();
        let text = round.node(node).unwrap().title().to_string();
        assert_eq!(text.parse::<NodeTitle>().unwrap().to_string(), text);
        assert_eq!(round.resolve(&text).unwrap().id, node);
        let restored = Round::from_record(round.to_record()).unwrap();
        assert_eq!(&*restored.resolve(&text).unwrap().label, label);
    }
    let round = round_with_query(0);
    for (text, code) in [
        ("nonsense", "bad_node_id"),
        ("Action(action00009)", "node_not_found"),
        ("0.7", "node_not_found"),
        ("Ghost(1)", "unknown_type"),
    ] {
        assert_eq!(round.resolve(text).unwrap_err().code(), code, "{text}");
    }
}

fn fields(json: &str) -> JsonMap {
    Json::from_text(json).unwrap().parse().unwrap()
}

#[test]
fn fields_are_checked_and_named() {
    let code = |kind: TrajectoryNodeKind, json: &str| {
        NodeBody::new(kind, &fields(json)).unwrap_err().code()
    };
    assert_eq!(TrajectoryNodeKind::from_name("Ghost").unwrap_err().code(), "unknown_type");
    assert_eq!(code(TrajectoryNodeKind::Table, "{}"), "missing_fields");
    assert_eq!(code(TrajectoryNodeKind::Table, r#"{"path": null}"#), "missing_fields");
    assert_eq!(
        code(TrajectoryNodeKind::Table, r#"{"path": "t.csv", "bogus": 1}"#),
        "unknown_field"
    );
    assert_eq!(
        code(TrajectoryNodeKind::Action, r#"{"action": "a", "success": "yes"}"#),
        "wrong_form"
    );
    let error =
        NodeBody::new(TrajectoryNodeKind::Table, &fields(r#"{"path": "t.csv", "bogus": 1}"#))
            .unwrap_err();
    assert_eq!(error.to_string(), "a Table has no field \"bogus\"");
}

#[test]
fn older_names_of_fields_are_read() {
    let body =
        NodeBody::new(TrajectoryNodeKind::State, &fields(r#"{"state": "s", "uncentainty": "u"}"#))
            .unwrap();
    assert_eq!((body.text("content"), body.text("uncertainty")), ("s", "u"));
    let action = NodeBody::new(
        TrajectoryNodeKind::Action,
        &fields(r#"{"action": "a", "params": {"n": 1.50}}"#),
    )
    .unwrap();
    let json = serde_json::to_string(&action).unwrap();
    insta::assert_snapshot!(json, @r#"{"action":"a","params":{"n":1.50},"output":"Pending","success":false}"#);
}

#[test]
fn every_field_has_a_default_of_its_form_or_must_be_given() {
    for kind in TrajectoryNodeKind::ALL {
        let required: JsonMap = (kind.fields().iter().filter(|field| field.default.is_none()))
            .map(|field| (field.name.to_owned(), Json::from("x")))
            .collect();
        let body = NodeBody::new(kind, &required).unwrap();
        assert_eq!(body.kind(), TrajectoryNodeKind::from_name(kind.as_str()).unwrap());
        assert_eq!(body.iter().count(), kind.fields().len());
    }
}

#[test]
fn what_is_too_much_is_refused_before_anything_changes() {
    let mut round = round_with_query(0);
    let long = NewNode::new(file(), [id(0)]).edge("produces").label("x".repeat(513));
    refused(&mut round, "too_much", |round| try_add(round, long));
    let large = NewNode::new(NodeBody::state("x".repeat((16 << 20) + 1)), [id(0)]);
    refused(&mut round, "too_much", |round| try_add(round, large));
}
