//! Property tests for arbitrary changes of a round: its record stays equal, its graph stays
//! acyclic, and a refusal changes nothing.

use context_core::Timestamp;
use context_core::trajectory::{
    Changes, EdgeNames, NewNode, NodeBody, NodeId, NodeRemoval, QueueItem, Round, RoundRecord,
    RoundState, TrajectoryNodeKind, edge,
};
use proptest::prelude::*;

use super::{action, file, round_with_query, state};

#[derive(Clone, Debug)]
enum Step {
    Add { kind: u8, after: Vec<u8>, placing: u8, label: Option<String>, named: bool },
    Change { node: u8, output: String, success: bool },
    Describe { node: u8, text: String },
    Remove { node: u8, how: u8 },
    Connect { from: u8, to: u8, reference: bool },
    Queue { name: String },
    Close,
}

fn step() -> impl Strategy<Value = Step> {
    let label = proptest::option::weighted(0.2, "[a-z(){}\u{0}é\"\n]{1,8}");
    prop_oneof![
        6 => (any::<u8>(), proptest::collection::vec(any::<u8>(), 1..3), any::<u8>(), label,
            any::<bool>())
            .prop_map(|(kind, after, placing, label, named)| Step::Add { kind, after, placing,
                label, named }),
        2 => (any::<u8>(), ".{0,8}", any::<bool>())
            .prop_map(|(node, output, success)| Step::Change { node, output, success }),
        1 => (any::<u8>(), ".{0,8}").prop_map(|(node, text)| Step::Describe { node, text }),
        1 => (any::<u8>(), any::<u8>()).prop_map(|(node, how)| Step::Remove { node, how }),
        2 => (any::<u8>(), any::<u8>(), any::<bool>())
            .prop_map(|(from, to, reference)| Step::Connect { from, to, reference }),
        1 => ".{1,8}".prop_map(|name| Step::Queue { name }),
        1 => Just(Step::Close),
    ]
}

fn body(kind: u8) -> NodeBody {
    match kind % 6 {
        0 => state(),
        1 => action(),
        2 => file(),
        3 => NodeBody::response("r"),
        4 => NodeBody::table("/t.csv"),
        _ => NodeBody::knowledge("domain", "k"),
    }
}

/// Applies a step and returns the changes. Empty if the step was refused.
fn take(
    round: &mut Round,
    step: &Step,
    at: Timestamp,
) -> Option<Vec<context_core::trajectory::Change>> {
    let known = round.head().next.max(1);
    let node = |number: u8| NodeId::new(0, u32::from(number) % known);
    match step {
        Step::Add { kind, after, placing, label, named } => {
            let mut new = NewNode::new(body(*kind), after.iter().map(|number| node(*number)));
            if *named {
                new = new.edge("named");
            }
            new = match placing % 3 {
                0 => new,
                1 => new.append(),
                _ => new.close(),
            };
            if let Some(label) = label {
                new = new.label(label.as_str());
            }
            round.add(new, at).ok().map(|(_, changes)| changes)
        }
        Step::Change { node: number, output, success } => {
            let changes = Changes::new().set("output", output.as_str()).set("success", *success);
            round.change(node(*number), &changes, Some("p".into()), at).ok()
        }
        Step::Describe { node: number, text } => {
            round.change(node(*number), &Changes::new().describe(text.as_str()), None, at).ok()
        }
        Step::Remove { node: number, how } => {
            let how = [NodeRemoval::Leaf, NodeRemoval::Cascade, NodeRemoval::Splice]
                [usize::from(how % 3)];
            round.remove(node(*number), how, at).ok()
        }
        Step::Connect { from, to, reference } => {
            let name = if *reference { edge::REFERS_TO } else { "named" };
            round.connect(node(*from), node(*to), Some(name), at).ok()
        }
        Step::Queue { name } => {
            round.queues_mut(at).todo.push(QueueItem::new(name.as_str())).then(Vec::new)
        }
        Step::Close => {
            round.set_state(RoundState::Closed, at);
            Some(Vec::new())
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_record_follows_its_round(steps in proptest::collection::vec(step(), 1..60)) {
        let mut round = round_with_query(0).edge_names(EdgeNames::Any);
        let mut record = round.to_record();
        for (index, step) in steps.iter().enumerate() {
            let before = round.to_record();
            let at = Timestamp::from_micros(1_000_000 + index as i64);
            match take(&mut round, step, at) {
                Some(changes) => {
                    let changes: Vec<_> =
                        serde_json::from_str(&serde_json::to_string(&changes).unwrap()).unwrap();
                    record.apply(&changes, &round.head()).unwrap();
                }
                None => prop_assert_eq!(&round.to_record(), &before, "a refusal changed the round"),
            }
            prop_assert_eq!(&record, &round.to_record());
            prop_assert_eq!(round.order().len(), round.len(), "a cycle");
            prop_assert!(round.endpoints().all(|id| round.node(id).is_some()));
            prop_assert_eq!(round.nodes().count(), round.len());
        }
        let decoded: RoundRecord =
            serde_json::from_str(&serde_json::to_string(&record).unwrap()).unwrap();
        prop_assert_eq!(&decoded, &record);
        let restored = Round::from_record(decoded).unwrap();
        prop_assert_eq!(restored.to_record(), record);
        for kind in TrajectoryNodeKind::ALL {
            let here = |round: &Round| round.nodes().filter(|node| node.kind() == kind).count();
            prop_assert_eq!(here(&restored), here(&round));
        }
    }
}
