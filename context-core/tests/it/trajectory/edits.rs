//! Changing and removing nodes.

use context_core::Timestamp;
use context_core::trajectory::{Changes, Measures, NewNode, NodeRemoval, Round};

use super::{NOW, action, add, endpoints, file, id, refused, round_with_query, state, titles};

const LATER: Timestamp = Timestamp::from_micros(2_000_000);

fn with_action() -> Round {
    let mut round = round_with_query(0);
    add(&mut round, action(), &[0]);
    round
}

fn output(value: serde_json::Value) -> Changes {
    Changes::new().set("output", value)
}

#[test]
fn versions_say_what_was_when_and_who() {
    let mut round = with_action();
    let first = output("r1".into()).set("success", true);
    round.change(id(1), &first, Some("tools".into()), LATER).unwrap();
    round.change(id(1), &output("r2".into()), None, LATER).unwrap();
    let node = round.node(id(1)).unwrap();
    let versions = serde_json::to_string(&node.versions).unwrap();
    insta::assert_snapshot!(versions, @r#"[{"number":0,"at":2000000,"author":"tools","was":{"output":"Pending","success":false}},{"number":1,"at":2000000,"was":{"output":"r1"}}]"#);
    assert_eq!(node.body.get("output").unwrap().to_json().as_str(), "\"r2\"");
}

#[test]
fn changes_are_made_whole_or_not_at_all() {
    let mut round = with_action();
    for (changes, code) in [
        (output("x".into()).set("nope", "1"), "unknown_field"),
        (output("x".into()).set("success", "yes"), "wrong_form"),
        (output("x".into()).set("label", "other"), "fixed_field"),
        (Changes::new().set("round", "1"), "fixed_field"),
        (Changes::new().set("type", "State"), "fixed_field"),
        (Changes::new().set("created_at", "0"), "fixed_field"),
    ] {
        refused(&mut round, code, |round| round.change(id(1), &changes, None, NOW));
    }
    refused(&mut round, "node_not_found", |round| round.change(id(9), &Changes::new(), None, NOW));
}

#[test]
fn what_changes_nothing_makes_no_version() {
    let mut round = with_action();
    assert_eq!(round.change(id(1), &Changes::new(), None, NOW).unwrap(), []);
    assert_eq!(round.change(id(1), &output("Pending".into()), None, NOW).unwrap(), []);
    assert_eq!(round.node(id(1)).unwrap().versions, []);
}

#[test]
fn descriptions_and_measures_have_versions_too() {
    let mut round = with_action();
    let mut measures = Measures::default();
    measures.output_tokens = Some(7);
    let changes = Changes::new().describe("a probe").measure(&measures);
    round.change(id(1), &changes, None, NOW).unwrap();
    let node = round.node(id(1)).unwrap();
    assert_eq!(&*node.description, "a probe");
    assert_eq!(node.measures.as_ref().unwrap().output_tokens, Some(7));
    assert_eq!(node.versions.len(), 1);
    let decoded: context_core::trajectory::TrajectoryNode =
        serde_json::from_str(&serde_json::to_string(&**node).unwrap()).unwrap();
    assert_eq!(decoded, **node);
}

#[test]
fn an_endpoint_that_goes_hands_back_to_what_led_there() {
    let mut round = with_action();
    round.remove(id(1), NodeRemoval::Leaf, NOW).unwrap();
    assert_eq!(endpoints(&round), [0]);
    add(&mut round, action(), &[0]);
    assert_eq!(titles(&round), ["Query(query00000)", "Action(action00001)"], "no number twice");
    refused(&mut round, "node_not_found", |round| round.remove(id(1), NodeRemoval::Leaf, NOW));
}

#[test]
fn inner_nodes_go_only_if_asked() {
    let mut round = with_action();
    add(&mut round, state(), &[1]);
    add(&mut round, file(), &[1]);
    refused(&mut round, "has_successors", |round| round.remove(id(1), NodeRemoval::Leaf, NOW));
    refused(&mut round, "has_successors", |round| round.remove(id(0), NodeRemoval::Splice, NOW));

    let mut spliced = round.clone();
    spliced.remove(id(1), NodeRemoval::Splice, NOW).unwrap();
    assert_eq!(titles(&spliced), ["Query(query00000)", "State(state00000)", "File(file00000)"]);
    assert_eq!(spliced.predecessors(id(2)).map(|edge| edge.from).collect::<Vec<_>>(), [id(0)]);
    assert_eq!(spliced.order().len(), 3);

    round.remove(id(1), NodeRemoval::Cascade, NOW).unwrap();
    assert_eq!(titles(&round), ["Query(query00000)"]);
    assert_eq!(endpoints(&round), [0]);
    assert_eq!(round.edges().count(), 0);
}

#[test]
fn cascading_leaves_what_something_else_leads_to() {
    let mut round = with_action();
    round.add(NewNode::new(action(), [id(0)]).append(), NOW).unwrap();
    add(&mut round, state(), &[1, 2]);
    round.remove(id(1), NodeRemoval::Cascade, NOW).unwrap();
    assert_eq!(titles(&round), ["Query(query00000)", "Action(action00001)", "State(state00000)"]);
}

#[test]
fn the_only_node_leaves_an_empty_round() {
    let mut round = round_with_query(0);
    round.remove(id(0), NodeRemoval::Leaf, NOW).unwrap();
    assert!(round.is_empty() && round.query().is_none() && endpoints(&round).is_empty());
    round.ask(context_core::trajectory::NewQuery::new("again"), NOW).unwrap();
    assert_eq!(titles(&round), ["Query(query00001)"]);
}
