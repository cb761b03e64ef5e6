//! Active endpoints of branches, and how they move.

use context_core::trajectory::{NewNode, NodeBody};

use super::{action, add, endpoints, file, id, refused, round_with_query, state, try_add};

#[test]
fn conclusions_and_actions_advance() {
    let mut round = round_with_query(0);
    add(&mut round, action(), &[0]);
    assert_eq!(endpoints(&round), [1]);
    add(&mut round, state(), &[1]);
    assert_eq!(endpoints(&round), [2]);
}

#[test]
fn appended_nodes_are_endpoints_more() {
    let mut round = round_with_query(0);
    add(&mut round, action(), &[0]);
    try_add(&mut round, NewNode::new(action(), [id(0)]).append()).unwrap();
    assert_eq!(endpoints(&round), [1, 2]);
    try_add(&mut round, NewNode::new(file(), [id(1)]).edge("produces").append()).unwrap();
    assert_eq!(endpoints(&round), [1, 2, 3], "data too, if asked for");
}

#[test]
fn one_conclusion_gathers_branches() {
    let mut round = round_with_query(0);
    add(&mut round, state(), &[0]);
    add(&mut round, action(), &[1]);
    for _ in 0..2 {
        try_add(&mut round, NewNode::new(action(), [id(1)]).append()).unwrap();
    }
    assert_eq!(round.common_predecessor(round.endpoints()), Some(id(1)));
    add(&mut round, state(), &[2, 3, 4]);
    assert_eq!(endpoints(&round), [5]);
}

#[test]
fn closing_leaves_the_others() {
    let mut round = round_with_query(0);
    add(&mut round, action(), &[0]);
    try_add(&mut round, NewNode::new(action(), [id(0)]).append()).unwrap();
    try_add(&mut round, NewNode::new(state(), [id(2)]).close()).unwrap();
    assert_eq!(endpoints(&round), [1]);
}

#[test]
fn appending_wins_over_closing() {
    for both in [
        NewNode::new(state(), [id(1)]).append().close(),
        NewNode::new(state(), [id(1)]).close().append(),
    ] {
        let mut round = round_with_query(0);
        add(&mut round, action(), &[0]);
        try_add(&mut round, both).unwrap();
        assert_eq!(endpoints(&round), [1, 2]);
    }
}

#[test]
fn data_and_answers_move_nothing() {
    let mut round = round_with_query(0);
    add(&mut round, action(), &[0]);
    add(&mut round, file(), &[1]);
    add(&mut round, NodeBody::response("done"), &[1]);
    assert_eq!(endpoints(&round), [1]);
}

#[test]
fn branches_move_only_where_they_end() {
    let mut round = round_with_query(0);
    add(&mut round, action(), &[0]);
    add(&mut round, state(), &[1]);
    refused(&mut round, "not_an_endpoint", |round| try_add(round, NewNode::new(state(), [id(1)])));
    refused(&mut round, "not_an_endpoint", |round| {
        try_add(round, NewNode::new(state(), [id(1)]).close())
    });
    try_add(&mut round, NewNode::new(state(), [id(1)]).append()).unwrap();
}
