//! Names of edges: inference and refusal.

use context_core::trajectory::edge::{self, infer};
use context_core::trajectory::{
    EdgeNames, NewNode, NodeBody, Relation, TrajectoryNode, TrajectoryNodeKind,
};

use super::{NOW, action, add, file, id, refused, round_with_query, state, try_add};

#[test]
fn the_table_of_inference() {
    let mut table = String::new();
    let mut rows: Vec<(String, Vec<TrajectoryNodeKind>)> =
        TrajectoryNodeKind::ALL.iter().map(|kind| (kind.to_string(), vec![*kind])).collect();
    rows.push(("State+Query".into(), vec![TrajectoryNodeKind::State, TrajectoryNodeKind::Query]));
    rows.push(("Query+Query".into(), vec![TrajectoryNodeKind::Query, TrajectoryNodeKind::Query]));
    rows.push(("nothing".into(), vec![]));
    for (name, before) in rows {
        let inferred = TrajectoryNodeKind::ALL
            .iter()
            .filter_map(|kind| Some(format!(" {kind}={}", infer(&before, *kind).ok()?)));
        table += &format!("{name}:{}\n", inferred.collect::<String>());
    }
    insta::assert_snapshot!(table, @r"
    Query: State=has_conclusion Action=triggers Response=has_response Table=has_additional_table File=has_additional_file
    State: State=has_conclusion Action=triggers Response=has_response
    Action: State=has_conclusion Response=has_response Knowledge=produces Tool=produces Table=produces Column=produces File=produces Script=produces Skill=produces
    Response: Response=has_response
    Knowledge: Response=has_response
    Tool: Response=has_response
    Table: Response=has_response
    Column: Response=has_response
    File: Response=has_response
    Script: Response=has_response
    Skill: Response=has_response
    State+Query: Response=has_response
    Query+Query: State=has_conclusion Action=triggers Response=has_response Table=has_additional_table File=has_additional_file
    nothing:
    ");
}

#[test]
fn what_cannot_be_inferred_must_be_named() {
    let mut round = round_with_query(0);
    let script = NodeBody::script("probe", "true");
    let unnamed = NewNode::new(script, [id(0)]);
    refused(&mut round, "edge_type_required", |round| try_add(round, unnamed));
    let act = add(&mut round, action(), &[0]);
    let unnamed = NewNode::new(action(), [act]);
    refused(&mut round, "edge_type_required", |round| try_add(round, unnamed));
    let both = NewNode::new(file(), [id(0), act]);
    refused(&mut round, "edge_type_required", |round| try_add(round, both));
}

#[test]
fn data_is_produced_by_actions_and_attached_to_queries() {
    let mut round = round_with_query(0);
    let (attached, _) = try_add(&mut round, NewNode::new(file(), [id(0)])).unwrap();
    let table = NewNode::new(NodeBody::table("sales.csv"), [id(0)]);
    let (table, _) = try_add(&mut round, table).unwrap();
    let act = add(&mut round, action(), &[0]);
    let (made, _) = try_add(&mut round, NewNode::new(file(), [act])).unwrap();
    let other = NewNode::new(NodeBody::knowledge("domain", "k"), [act]).edge("generates");
    let (other, _) = try_add(&mut round, other).unwrap();
    let names = [attached, table, made, other].map(|node| {
        round.predecessors(node).map(|edge| edge.name.to_string()).collect::<Vec<_>>().join(" ")
    });
    assert_eq!(
        names,
        [edge::HAS_ADDITIONAL_FILE, edge::HAS_ADDITIONAL_TABLE, edge::PRODUCES, "generates"],
    );
    let act_again = round.add(NewNode::new(action(), [id(0)]).append(), NOW).unwrap().0;
    round.connect(act_again, made, None, NOW).unwrap();
    let names: Vec<_> = round.predecessors(made).map(|edge| &*edge.name).collect();
    assert_eq!(names, [edge::PRODUCES; 2]);
}

#[test]
fn names_are_known_unless_any_is_allowed() {
    let named = |name: &str| NewNode::new(file(), [id(0)]).edge(name);
    let mut round = round_with_query(0);
    for name in ["", "e", "continues_to"] {
        refused(&mut round, "edge_type_refused", |round| try_add(round, named(name)));
    }
    let mut round = round_with_query(0).edge_names(EdgeNames::known(["e"]));
    try_add(&mut round, named("e")).unwrap();
    let mut round = round_with_query(0).edge_names(EdgeNames::Any);
    for name in ["", "any thing"] {
        let (added, _) = try_add(&mut round, named(name)).unwrap();
        assert_eq!(&*round.predecessors(added).next().unwrap().name, name, "kept as it is");
    }
    refused(&mut round, "edge_type_refused", |round| try_add(round, named("continues_to")));
}

#[test]
fn every_predecessor_gets_an_edge() {
    let mut round = round_with_query(0);
    let first = add(&mut round, action(), &[0]);
    for _ in 0..2 {
        try_add(&mut round, NewNode::new(action(), [id(0)]).append()).unwrap();
    }
    let all = [first, id(2), id(3)];
    let (last, changes) = try_add(&mut round, NewNode::new(state(), all)).unwrap();
    let edges: Vec<_> = round.predecessors(last).map(|edge| (edge.from, &*edge.name)).collect();
    assert_eq!(edges, all.map(|from| (from, "has_conclusion")));
    assert_eq!(changes.len(), 4);
}

#[test]
fn predecessors_are_there_once_and_of_this_round() {
    let mut round = round_with_query(0);
    for (after, code) in [
        (vec![], "pred_empty"),
        (vec![id(7)], "pred_not_found"),
        (vec![id(0), id(0)], "pred_repeated"),
        (vec![context_core::trajectory::NodeId::new(3, 0)], "pred_is_historical"),
    ] {
        refused(&mut round, code, |round| try_add(round, NewNode::new(state(), after)));
    }
}

#[test]
fn cycles_and_lost_ends_are_refused() {
    let mut round = round_with_query(0).edge_names(EdgeNames::Any);
    let act = add(&mut round, action(), &[0]);
    let data_node = add(&mut round, file(), &[1]);
    let after = round.add(NewNode::new(state(), [act]), NOW).unwrap().0;
    for (from, to) in [(act, id(0)), (after, id(0)), (after, act), (act, act)] {
        refused(&mut round, "cycle", |round| round.connect(from, to, Some("loop"), NOW));
    }
    refused(&mut round, "node_not_found", |round| round.connect(id(9), act, Some("x"), NOW));
    refused(&mut round, "duplicate_edge", |round| round.connect(id(0), act, Some("triggers"), NOW));
    round.connect(data_node, after, Some("shows"), NOW).unwrap();
    refused(&mut round, "cycle", |round| round.connect(after, data_node, Some("refers_to"), NOW));
    assert_eq!(round.order().len(), 4);
}

#[test]
fn references_stand_beside_the_flow() {
    let mut round = round_with_query(0);
    let act = add(&mut round, action(), &[0]);
    let data_node = add(&mut round, file(), &[1]);
    let next = round.add(NewNode::new(action(), [id(0)]).append(), NOW).unwrap().0;
    round.connect(next, data_node, Some(edge::REFERS_TO), NOW).unwrap();
    assert_eq!(round.successors(next).count(), 0, "no part of the flow");
    assert_eq!(round.edges_from(next).next().unwrap().relation(), Relation::Reference);
    refused(&mut round, "bad_reference", |round| round.connect(next, act, Some("refers_to"), NOW));
    let named = NewNode::new(file(), [act]).edge(edge::REFERS_TO);
    refused(&mut round, "edge_type_refused", |round| try_add(round, named));

    let old: TrajectoryNode = (**round.node(data_node).unwrap()).clone();
    let mut later = round_with_query(1);
    let reading = add(&mut later, action(), &[0]);
    later.refer(reading, &old, NOW).unwrap();
    refused(&mut round, "bad_reference", |round| {
        let newer = later.node(reading).unwrap().clone();
        round.refer(next, &newer, NOW)
    });
}
