//! The documented JSON form of boundaries, and how it is read.

use context_core::message::Origin;
use std::sync::Arc;

use context_core::history::{BoundaryDraft, DraftError, HistoryRewrite, StoredBoundary, shown};
use context_core::message::NodeKind;
use context_core::{Chain, Encoded, Message, MessageId, Node, Timestamp};

fn node(id: &str) -> Arc<Node> {
    Arc::new(Node::new(id, Message::from(format!("text {id}")), Timestamp::default()))
}

fn chain(ids: &[&str]) -> Chain {
    Chain::from_nodes(0, ids.iter().map(|id| node(id)))
}

fn lines(chain: &Chain) -> Vec<String> {
    let line = |node: &Node| format!("{}: {}", node.id, node.message().unwrap().plain_text());
    shown(chain).iter().map(|shown| line(&shown.node)).collect()
}

fn push(chain: &mut Chain, id: &str, body: &str) {
    let body = Encoded::new(StoredBoundary::KIND, 1, body.to_owned());
    chain.push(Arc::new(Node::from_encoded(
        id.into(),
        NodeKind::Boundary,
        Timestamp::default(),
        body,
    )));
}

#[test]
fn a_boundary_shows_its_front_then_what_comes_right_before_it_then_what_follows() {
    let mut chain = chain(&["a", "b", "c", "d", "e"]);
    let hash = Message::from("text d").hash();
    let body = format!(
        r#"{{"kind": "compact", "front": [{{"id": "a"}}, {{"id": "x/1", "message": {{"role": "user", "parts":
        [{{"type": "text", "text": "so far"}}]}}}}, {{"id": "gone"}}], "since": 2, "replaced": [
        {{"id": "d", "of": "{hash}", "message": {{"role": "user", "parts": [{{"type": "text", "text": "short"}}]}}}},
        {{"id": "e", "of": "{hash}", "message": {{"role": "user", "parts": []}}}}]}}"#
    );
    push(&mut chain, "x", &body);
    chain.push(node("f"));
    assert_eq!(lines(&chain), ["a: text a", "x/1: so far", "d: short", "e: text e", "f: text f"]);
    let (position, boundary) = StoredBoundary::in_force(&chain).unwrap();
    assert_eq!(position, 5);
    let decoded = StoredBoundary::decode(&boundary.encode()).unwrap();
    assert_eq!(decoded, boundary);
    assert_eq!(decoded.encode(), boundary.encode());
    // An older boundary is in force if the newest cannot be read.
    push(&mut chain, "y", r#"{"kind": "of tomorrow"}"#);
    assert_eq!(lines(&chain).len(), 5);
    push(&mut chain, "z", r#"{"kind": "undo", "since": 99}"#);
    assert_eq!(lines(&chain).len(), 6, "as many as there are");
}

#[test]
fn what_stays_is_named_and_only_what_is_made_is_copied() {
    let chain = chain(&["a", "b", "c", "d"]);
    let entries = shown(&chain);
    let messages: Vec<_> =
        entries.iter().map(|shown| Arc::clone(shown.node.message().unwrap())).collect();
    let mut compacted = HistoryRewrite::identity(&messages);
    compacted.messages.replace(1, Arc::new(Message::from("gap")));
    compacted.origins[1] = None;
    compacted.messages.replace(3, Arc::new(Message::from("short")));
    let draft =
        BoundaryDraft::compact(&chain, &entries, chain.iter(), &compacted, &[]).unwrap().unwrap();
    let boundary = draft.boundary(&chain, &"x".into()).unwrap();
    let hash = messages[3].hash();
    insta::assert_snapshot!(
        String::from_utf8_lossy(boundary.encode().bytes()).replace(&hash.to_string(), "HASH"),
        @r#"{"kind":"compact","before":0,"after":0,"retained":4,"front":[{"id":"a"},{"id":"x/1","message":{"role":"user","parts":[{"type":"text","text":"gap"}]}}],"since":2,"replaced":[{"id":"d","of":"HASH","message":{"role":"user","parts":[{"type":"text","text":"short"}]}}]}"#
    );
    // A branch without the messages that the gap replaces cannot have the boundary.
    assert_eq!(draft.boundary(&chain.prefix(1), &"x".into()), None);
}

#[test]
fn what_a_boundary_holds_of_a_message_can_be_taken_out() {
    let mut chain = chain(&["a", "b"]);
    let entries = shown(&chain);
    let mut compacted = HistoryRewrite::identity(&[]);
    let checkpoint = Message::from("secret").with_origin(Origin::Checkpoint);
    compacted.messages = [checkpoint, Message::from("brief")].into();
    compacted.origins = vec![None, Some(1)];
    let draft =
        BoundaryDraft::compact(&chain, &entries, chain.iter(), &compacted, &[]).unwrap().unwrap();
    let boundary = draft.boundary(&chain, &"x".into()).unwrap();
    let a = MessageId::from("a");
    assert_eq!(boundary.without(&a, false), None, "it was not there any more when this was made");
    let without = boundary.without(&a, true).unwrap();
    assert!(!format!("{without:?}").contains("secret"));
    assert_eq!(without.without(&a, true), None, "once is enough");
    let without = boundary.without(&"b".into(), false).unwrap();
    assert_eq!((without.replaced.len(), without.front.len(), without.since), (0, 1, 1));
    chain.push(Arc::new(draft.node(&chain, "x".into(), Timestamp::default()).unwrap()));
    let error = BoundaryDraft::undo(&chain, &a).unwrap_err();
    assert_eq!(error, DraftError::NoBoundary { boundary: a });
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None,
        ..Default::default() })]

    #[test]
    fn whatever_a_boundary_says_a_chain_can_be_read(since in 0u64..,
        ids in proptest::collection::vec("[a-h]", 0..8)) {
        let mut chain = chain(&["a", "b", "c", "d"]);
        let front: Vec<_> = ids.iter().map(|id| format!(r#"{{"id": "{id}"}}"#)).collect();
        let body = format!(r#"{{"kind": "snip", "since": {since}, "front": [{}]}}"#, front.join(","));
        push(&mut chain, "x", &body);
        chain.push(node("e"));
        let lines = lines(&chain);
        proptest::prop_assert_eq!(lines.last().map(String::as_str), Some("e: text e"));
        proptest::prop_assert!(lines.len() <= 5 + ids.len());
    }
}
