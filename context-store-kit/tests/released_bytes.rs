//! A chain releases the stored bytes of its messages once all of them are read, and still returns
//! the same bodies.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use bytes::Bytes;
use context_core::message::{NodeKind, Origin};
use context_core::{Chain, Encoded, Message, Node, Part, Role, Timestamp};
use context_store_kit::pack::{self, PackedRun};
use proptest::prelude::*;
use proptest::sample::select;

/// Bytes that report when nobody holds them any more.
struct Watched {
    bytes: Vec<u8>,
    released: Arc<AtomicBool>,
}

impl AsRef<[u8]> for Watched {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.released.store(true, Ordering::SeqCst);
    }
}

/// Packs nodes and returns a chain of the first `take`, and whether its bytes were released.
fn stored(nodes: &[Arc<Node>], take: usize) -> (Chain, Arc<AtomicBool>) {
    let released = Arc::new(AtomicBool::new(false));
    let watched = Watched { bytes: pack::pack_all(nodes), released: Arc::clone(&released) };
    let run = PackedRun { bytes: Bytes::from_owner(watched), take, is_whole: false };
    (pack::chain(0, [run]).unwrap(), released)
}

fn message(text: &str) -> Encoded {
    Message::from(text).encode()
}

fn node(i: usize, body: Encoded) -> Arc<Node> {
    let kind = NodeKind::Message(Role::User);
    Arc::new(Node::from_encoded(format!("m{i}").into(), kind, Timestamp::from_micros(1), body))
}

/// A body, and whether it can be released.
fn bodies() -> impl Strategy<Value = (Encoded, bool)> {
    let metadata = Origin::Synthetic.to_metadata();
    let parts = [Part::text("a\n\"b\""), Part::tool_call("c1", "look", "x"), Part::text("é")];
    let of = |kind: &str, version, bytes: &str| Encoded::new(kind, version, bytes.to_owned());
    let forms = vec![
        (message("plain"), true),
        (message("two\nlines"), true),
        (message(&"long ".repeat(200)), true),
        (Message::new(Role::User, []).encode(), true),
        (Message::new(Role::User, parts).with_metadata(metadata.clone()).encode(), true),
        (Message::from("Go on.").with_metadata(metadata).encode(), true),
        // Messages in other forms than this crate writes.
        (of("message", 1, r#"{ "parts": [], "role": "user" }"#), false),
        (of("message", 1, r#"{"role":"user","parts":[{"type":"text","text":"\u00e9"}]}"#), false),
        (of("message", 1, r#"{"role":"user","parts":[],"more":1}"#), false),
        // Nodes without a readable message.
        (of("message", 1, "{"), false),
        (of("message", 2, "{}"), false),
        (of("message", 0, r#"{"role":"user","parts":[]}"#), false),
        (of("other", 1, "bytes"), false),
    ];
    prop_oneof![3 => select(forms[..6].to_vec()), 1 => select(forms)]
}

/// Returns all properties of a node but its message.
fn facts(node: &Node) -> (bool, bool, Origin, bool, bool, u64) {
    let (placeholder, readable) = (node.is_placeholder(), node.is_readable());
    (placeholder, readable, node.origin(), node.is_encoded(), node.is_turn(), node.weight())
}

proptest! {
    #[test]
    fn a_read_chain_has_the_stored_bodies(
        bodies in proptest::collection::vec(bodies(), 1..70), cut in 0usize..70,
        copied in 0usize..70,
    ) {
        let are_released = bodies.iter().take(cut.max(1)).all(|(_, is_released)| *is_released);
        let nodes: Vec<_> =
            bodies.into_iter().enumerate().map(|(i, (body, _))| node(i, body)).collect();
        let (chain, released) = stored(&nodes, cut.max(1));
        let nodes = &nodes[..chain.len()];
        prop_assert!(chain.iter().zip(nodes).all(|(node, stored)| facts(node) == facts(stored)));
        let copy = chain.get(copied % chain.len()).unwrap().as_ref().clone();
        for (node, stored) in chain.iter().zip(nodes) {
            let (read, stored) = (node.message().ok(), stored.message().ok());
            prop_assert_eq!(read, stored);
        }
        prop_assert_eq!(released.load(Ordering::SeqCst), are_released);
        prop_assert!(chain.iter().zip(nodes).all(|(node, stored)| facts(node) == facts(stored)));
        prop_assert!(chain.iter().eq(nodes));
        prop_assert_eq!(&copy, nodes[copied % nodes.len()].as_ref());
        prop_assert_eq!(pack::pack_all(chain.iter()), pack::pack_all(nodes));
    }
}

#[test]
fn a_body_that_was_asked_for_before_keeps_its_bytes_and_a_copy_of_a_node_its_message() {
    let nodes: Vec<_> = (0..3).map(|i| node(i, message(&format!("text {i}")))).collect();
    let (chain, released) = stored(&nodes, 3);
    let body = chain[1].body().clone();
    let copy = chain[2].clone().with_id("copy").with_tokens(7);
    assert_eq!(chain.messages().len(), 3);
    assert!(!released.load(Ordering::SeqCst));
    assert_eq!(&body, nodes[1].body());
    assert!(Arc::ptr_eq(copy.message().unwrap(), chain[2].message().unwrap()));
    assert_eq!(copy.body(), nodes[2].body());
    drop((chain, body));
    assert!(released.load(Ordering::SeqCst));
    assert_eq!(copy.message().unwrap().plain_text(), "text 2");
}

#[test]
fn threads_that_read_one_chain_see_one_message_for_each_node() {
    for round in 0..200 {
        let nodes: Vec<_> = (0..64).map(|i| node(i, message(&format!("{round} {i}")))).collect();
        let (chain, released) = stored(&nodes, 64);
        let read = |reverse: bool| {
            let mut order: Vec<_> = (0..64).collect();
            if reverse {
                order.reverse();
            }
            let read = |i: usize| (i, Arc::clone(chain[i].message().unwrap()), chain[i].weight());
            let mut all: Vec<_> = order.into_iter().map(read).collect();
            all.sort_by_key(|(i, ..)| *i);
            all
        };
        let (one, other) = thread::scope(|scope| {
            let other = scope.spawn(|| read(true));
            (read(false), other.join().unwrap())
        });
        assert!(one.iter().zip(&other).all(|(a, b)| Arc::ptr_eq(&a.1, &b.1)));
        assert!(released.load(Ordering::SeqCst));
        assert!(chain.iter().eq(&nodes));
    }
}
