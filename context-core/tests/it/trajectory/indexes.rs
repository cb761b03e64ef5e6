//! The nodes that a round finds by label and by the ends of edges, compared with a search through
//! everything.

use context_core::Json;
use context_core::trajectory::{
    Changes, Edge, EdgeNames, NewNode, NodeBody, NodeId, NodeRemoval, NodeTitle, Relation, Round,
    TrajectoryError, TrajectoryNode, TrajectoryNodeKind,
};
use proptest::prelude::*;

use super::{NOW, action, id, round_with_query, state};

/// Labels that look generated, in and out of order, padded and not, and other ones.
fn label() -> impl Strategy<Value = Option<String>> {
    proptest::option::of(prop_oneof![
        2 => (prop_oneof![Just("state"), Just("action")], 0..12_u32, 4..7_usize)
            .prop_map(|(kind, number, digits)| format!("{kind}{number:0digits$}")),
        1 => Just("state4294967296".to_owned()),
        1 => "[ab]{1,2}",
    ])
}

#[derive(Clone, Debug)]
enum Step {
    Add { is_action: bool, after: u32, label: Option<String> },
    Connect { from: u32, to: u32 },
    Remove { node: u32 },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (any::<bool>(), 0..24_u32, label())
            .prop_map(|(is_action, after, label)| Step::Add { is_action, after, label }),
        3 => (0..24_u32, 0..24_u32).prop_map(|(from, to)| Step::Connect { from, to }),
        2 => (1..24_u32).prop_map(|node| Step::Remove { node }),
    ]
}

fn take(round: &mut Round, step: Step) {
    match step {
        Step::Add { is_action, after, label } => {
            let body = if is_action { action() } else { state() };
            let new = NewNode::new(body, [id(after)]).edge("leads_to").append();
            let new = match &label {
                Some(label) => new.label(&**label),
                None => new,
            };
            let title = label.map(|label| {
                let kind =
                    if is_action { TrajectoryNodeKind::Action } else { TrajectoryNodeKind::State };
                NodeTitle { kind, label: label.into() }
            });
            let is_taken = title.is_some_and(|title| search(round, &title).is_some());
            let added = round.add(new, NOW);
            let refused = matches!(added, Err(TrajectoryError::DuplicateLabel { .. }));
            assert!(added.is_err() || !is_taken, "a label was given twice");
            assert!(!refused || is_taken, "a free label was refused");
        }
        Step::Connect { from, to } => {
            let _ = round.connect(id(from), id(to), Some("leads_to"), NOW);
        }
        Step::Remove { node } => {
            let _ = round.remove(id(node), NodeRemoval::Cascade, NOW);
        }
    }
}

fn search(round: &Round, title: &NodeTitle) -> Option<NodeId> {
    round.nodes().find(|node| node.title() == *title).map(|node| node.id)
}

fn assert_is_indexed(round: &Round, gone: &[TrajectoryNode]) {
    for node in round.nodes().map(|node| &**node).chain(gone) {
        let found = round.find(&node.title()).map(|node| node.id);
        assert_eq!(found, search(round, &node.title()), "{}", node.title());
    }
    let edges: Vec<&Edge> = round.edges().collect();
    for node in round.nodes() {
        let of = |is_end: &dyn Fn(&Edge) -> bool| {
            edges.iter().copied().filter(|edge| is_end(edge)).collect::<Vec<_>>()
        };
        assert_eq!(round.edges_from(node.id).collect::<Vec<_>>(), of(&|edge| edge.from == node.id));
        let before = of(&|edge| edge.to == node.id && edge.relation() == Relation::Flow);
        assert_eq!(round.predecessors(node.id).collect::<Vec<_>>(), before);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn labels_and_edges_are_found_as_by_a_search(
        steps in proptest::collection::vec(step(), 1..40),
    ) {
        let mut round = round_with_query(0).edge_names(EdgeNames::Any);
        let mut seen: Vec<TrajectoryNode> = Vec::new();
        for step in steps {
            seen.extend(round.nodes().map(|node| (**node).clone()));
            take(&mut round, step);
            assert_is_indexed(&round, &seen);
        }
        let restored = Round::from_record(round.to_record()).unwrap();
        assert_is_indexed(&restored, &seen);
        prop_assert_eq!(restored.to_record(), round.to_record());
    }

    #[test]
    fn changes_that_are_parsed_by_kind_are_those_that_are_settled(
        entries in proptest::collection::vec(
            (
                prop_oneof![
                    Just("params"), Just("output"), Just("success"), Just("action"), Just("state"),
                    Just("content"), Just("description"), Just("measures"), Just("nope"),
                ],
                prop_oneof![
                    Just("\"Pending\""), Just("true"), Just("null"), Just("[1, 2.50]"),
                    Just("\"a\\\"b\""), Just("7"), Just("{}"),
                ],
            ),
            0..5,
        ),
        is_action: bool,
    ) {
        let entries: Vec<String> =
            entries.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
        let json = format!("{{{}}}", entries.join(","));
        let body: NodeBody = if is_action { action() } else { state() };
        let node = TrajectoryNode::new(id(1), "n", body, NOW);
        let parsed = Changes::from_json(node.kind(), &json).ok();
        let read: Changes = Json::from_text(&*json).unwrap().parse().unwrap();
        // A value that a later one of its name replaces is not looked at when it is settled.
        if let Some(parsed) = parsed {
            prop_assert_eq!(Some(parsed), node.settle(&read).ok());
        } else if read.iter().count() == entries.len() {
            prop_assert!(node.settle(&read).is_err());
        }
        let cut = &json[..json.len() - 1];
        prop_assert!(Changes::from_json(node.kind(), cut).is_err());
    }
}
