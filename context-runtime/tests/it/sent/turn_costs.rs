//! The tokens and the cost of each turn, recorded or estimated.

use std::sync::Arc;

use context_runtime::{
    Timestamp,
    model::Usage,
    sent::RequestReplay,
    tokens::ModelTable,
    trajectory::{
        AgentRef, Measures, MessageLink, NodeBody, NodeId, RoundHead, RoundRecord, TrajectoryNode,
    },
};

use super::live::MODEL;
use super::pieces::{imported, options};

#[test]
fn turns_are_estimated_without_recorded_usage() {
    let mut replay = RequestReplay::new(&imported(3, 100), "", options()).unwrap();
    let turns = replay.turn_costs(&[]).unwrap();
    assert_eq!(turns.iter().map(|turn| turn.requests).collect::<Vec<_>>(), [2, 2, 2]);
    assert!(turns.iter().all(|turn| turn.estimated == 2 && turn.usd.unwrap() > 0.0));
    assert!(turns[0].input < turns[2].input);
}

#[test]
fn recorded_usage_takes_the_place_of_the_estimate() {
    let chain = imported(3, 100);
    let mut replay = RequestReplay::new(&chain, "", options().chat(("ada", "c"))).unwrap();
    let estimated = replay.turn_costs(&[]).unwrap();
    let mut usage = Usage::new(100, 20);
    usage.cache_read = 900;
    let node = |request: usize, chat: &str, model: &str, usd: Option<f64>| {
        let mut measures = Measures::of_usage(&usage);
        (measures.cost_usd, measures.model) = (usd, Some(model.into()));
        let (id, label) = (NodeId::new(0, request as u32), format!("r{request}"));
        let body = NodeBody::response("said");
        let mut node = TrajectoryNode::new(id, label, body, Timestamp::default());
        node.measures = Some(measures.into());
        let answer = replay.requests()[request - 1].answer.clone().unwrap();
        node.messages = vec![MessageLink::new(chat, answer)];
        Arc::new(node)
    };
    let nodes = vec![
        node(1, "another", "my-own", Some(9.0)),
        node(3, "c", "my-own", Some(0.25)),
        node(4, "c", MODEL, None),
        node(5, "c", "my-own", None),
    ];
    let head = RoundHead::new(AgentRef::main("ada", "c").round(0), Timestamp::default());
    let rounds = [RoundRecord::new(head, nodes, Vec::new())];
    let turns = replay.turn_costs(&rounds).unwrap();
    assert_eq!(turns[0], estimated[0], "a node of another chat does not count");
    let second = &turns[1];
    assert_eq!((second.input, second.output, second.cached), (2_000, 40, 1_800));
    let priced = ModelTable::builtin().model(MODEL).cost(&usage).unwrap().amount;
    assert_eq!((second.usd, second.estimated), (Some(0.25 + priced), 0));
    assert_eq!((turns[2].usd, turns[2].estimated), (None, 1), "an unknown price is not zero");
    assert!(turns[2].input > 1_000, "the recorded request and the estimated one");
}
