//! Tests of selections.

use context_core::trajectory::{NodeId, TrajectoryError};
use context_trajectory::{AgentNode, LinkKind, Selection, SessionGraph};
use proptest::prelude::*;

use super::scene::{session, sessions};

fn titles(graph: &SessionGraph) -> Vec<String> {
    let agents = graph.agents();
    let nodes = agents
        .flat_map(|agent| agent.nodes().map(move |node| format!("{}/{}", agent.number(), node.id)));
    nodes.collect()
}

#[test]
fn all_of_it_has_the_gap_and_the_call() {
    let graph = session();
    let gaps: Vec<(u32, u32)> = graph
        .agents()
        .flat_map(|agent| {
            agent.rounds().map(|round| (round.number(), round.missing_before())).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(gaps, [(0, 0), (2, 1), (0, 0)]);
    let calls: Vec<_> = graph.links().filter(|link| link.kind == LinkKind::Call).collect();
    assert_eq!(calls.len(), 1);
    assert_eq!(
        (calls[0].to, &*calls[0].name),
        (AgentNode::new(1, NodeId::new(0, 0)), SessionGraph::CALLS)
    );
    assert!(graph.links().any(|link| link.kind == LinkKind::Bridge { missing: 1 }));
}

#[test]
fn active_branches_are_without_the_dead_one() {
    let graph = session();
    let dead: Vec<String> = titles(&graph)
        .into_iter()
        .zip(graph.agents().flat_map(|agent| {
            let active: Vec<bool> = agent
                .nodes()
                .map(|node| graph.is_active(AgentNode::new(agent.number(), node.id)))
                .collect();
            active
        }))
        .filter(|(_, active)| !active)
        .map(|(id, _)| id)
        .collect();
    assert_eq!(dead, ["0/0.6", "0/0.7"]);
    let active = titles(&graph.select(Selection::ActiveBranches).unwrap());
    assert!(dead.iter().all(|id| !active.contains(id)));
    assert_eq!(active.len() + dead.len(), titles(&session()).len());
}

#[test]
fn a_round_brings_the_sub_agents_that_it_called() {
    let first = session().select(Selection::Round(0)).unwrap();
    assert_eq!(first.agents().map(|agent| agent.number()).collect::<Vec<_>>(), [0, 1]);
    let second = session().select(Selection::Round(2)).unwrap();
    assert_eq!(titles(&second), ["0/2.0", "0/2.1", "0/2.2"]);
    assert!(second.links().all(|link| link.from.node.round == 2 && link.to.node.round == 2));
    assert_eq!(titles(&session().select(Selection::Round(9)).unwrap()), Vec::<String>::new());
}

#[test]
fn around_a_node_goes_both_ways_and_over_agents() {
    let called = AgentNode::new(1, NodeId::new(0, 0));
    let near =
        |depth| titles(&session().select(Selection::Around { node: called, depth }).unwrap());
    assert_eq!(near(0), ["1/0.0"]);
    assert_eq!(near(1), ["0/0.5", "1/0.0", "1/0.1"]);
    let nobody = Selection::Around { node: AgentNode::new(7, NodeId::new(0, 0)), depth: 1 };
    assert_eq!(
        session().select(nobody).unwrap_err(),
        TrajectoryError::UnknownNode { node: "7/0.0".into() }
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None,
        ..ProptestConfig::with_cases(64) })]

    #[test]
    fn every_link_has_both_ends(graph in sessions(), round in 0..4_u32, depth in 0..4_u32) {
        let mut selections = vec![Selection::Whole, Selection::ActiveBranches,
            Selection::Round(round)];
        if graph.node(AgentNode::new(0, NodeId::new(0, 0))).is_some() {
            selections.push(Selection::Around { node: AgentNode::new(0, NodeId::new(0, 0)),
                depth });
        }
        for selection in selections {
            let part = graph.clone().select(selection).unwrap();
            let shown = titles(&part);
            for link in part.links() {
                prop_assert!(shown.contains(&link.from.to_string())
                    && shown.contains(&link.to.to_string()));
            }
        }
    }
}
