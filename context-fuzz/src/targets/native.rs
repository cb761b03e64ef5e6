//! The library's own formats: packed nodes, messages, fragments, chats as JSON Lines.

use std::io::Cursor;
use std::sync::Arc;

use bytes::Bytes;
use context_core::fragment::FragmentContent;
use context_core::message::ToolInput;
use context_core::{
    CancelSignal, ChatRef, Encoded, Fragment, FragmentData, Message, Metadata, Node, Part, Role,
    Timestamp, ToolCall, hint, role,
};
use context_render::{FORMATS, RenderOptions, by_name};
use context_runtime::transfer::{ImportJsonl, export_jsonl, import_jsonl};
use context_store_kit::pack;

use crate::scratch::wait;

/// Checks that nodes are the same when they are packed again, and that a run can be cut before each
/// of them. Runs without checksums are upgraded first, since a mutation hardly ever produces the
/// right checksums.
pub(crate) fn packed(bytes: &[u8]) -> bool {
    let run = pack::upgrade(bytes).map_or_else(|_| Bytes::copy_from_slice(bytes), Bytes::from);
    let Ok(nodes) = pack::unpack(&run) else {
        assert!(pack::count(&run).is_err(), "what is counted can be unpacked");
        return false;
    };
    assert_eq!(pack::count(&run), Ok(nodes.len()));
    let again = Bytes::from(pack::pack_all(&nodes));
    assert_eq!(
        described(&pack::unpack(&again).expect("what was packed is unpacked")),
        described(&nodes)
    );
    let (first, second) = pack::split_at(&run, nodes.len() / 2).expect("a whole run");
    let sum =
        pack::count(&first).expect("a whole run") + pack::count(&second).expect("a whole run");
    assert_eq!(sum, nodes.len());
    for node in &nodes {
        let _ = node.message();
    }
    true
}

fn described(nodes: &[Arc<Node>]) -> Vec<(String, String, Encoded)> {
    let facts = |node: &Node| {
        format!("{:?} {:?} {} {:?}", node.kind, node.created_at, node.revision, node.tokens)
    };
    nodes.iter().map(|node| (node.id.to_string(), facts(node), node.body().clone())).collect()
}

pub(crate) fn packed_seeds() -> Vec<Vec<u8>> {
    let nodes = [conversation(Role::User), conversation(Role::Assistant)];
    let nodes = nodes.into_iter().enumerate().map(|(n, message)| {
        Arc::new(
            Node::new(format!("m{n}"), message, Timestamp::from_micros(n as i64)).with_tokens(7),
        )
    });
    let nodes: Vec<_> = nodes.collect();
    let bare = nodes.iter().flat_map(|node| pack::pack_all([node]).split_off(4)).collect();
    vec![pack::pack_all(&nodes), bare]
}

/// Checks that a message and its hash are the same when it is written and read again.
pub(crate) fn message(bytes: &[u8]) -> bool {
    let Ok(message) = serde_json::from_slice::<Message>(bytes) else { return false };
    let text = serde_json::to_string(&message).expect("what was read can be written");
    let again: Message = serde_json::from_str(&text).expect("what was written can be read");
    assert_eq!(again, message);
    assert_eq!(again.hash(), message.hash());
    assert_eq!(Message::decode(&message.encode()).expect("what was encoded is decoded"), message);
    true
}

fn conversation(role: Role) -> Message {
    let call = ToolCall {
        id: "c1".into(),
        name: "look".into(),
        input: ToolInput::from_written(r#"{"b":1.50,"a":[1, 2]}"#),
        metadata: Metadata::default(),
    };
    let parts = [Part::text("hi \u{e9}"), Part::ToolCall(call)];
    Message::new(role, parts).with_metadata(Metadata::default().with("k", 1))
}

pub(crate) fn message_seeds() -> Vec<Vec<u8>> {
    let one = serde_json::to_vec(&conversation(Role::Assistant)).expect("a message");
    let other = br#"{"role":"user","parts":[{"type":"image","source":{"url":"https://example.com/a.png"}},{"type":"later","x":1}]}"#;
    vec![one, other.to_vec()]
}

/// Checks that a fragment is the same when it is written and read again, and renders in every
/// format.
pub(crate) fn fragment(bytes: &[u8]) -> bool {
    let Ok(fragment) = serde_json::from_slice::<Fragment>(bytes) else { return false };
    let text = serde_json::to_string(&fragment).expect("what was read can be written");
    let again: Fragment = serde_json::from_str(&text).expect("what was written can be read");
    assert_eq!(again, fragment);
    if matches!(fragment.content(), FragmentContent::Data(_)) {
        for name in FORMATS {
            let renderer = by_name(name, RenderOptions::default()).expect("a format that is there");
            let one = renderer.render(std::slice::from_ref(&fragment));
            assert_eq!(one, renderer.render(std::slice::from_ref(&again)));
        }
    }
    true
}

pub(crate) fn fragment_seeds() -> Vec<Vec<u8>> {
    let rules = FragmentData::list([hint("Ask before you pay."), role("You book < trips.")]);
    let cities = FragmentData::list(["Rome", "Oslo"]);
    let own = [Fragment::new("rules", rules), Fragment::new("cities", cities)];
    let raw = br#"{"name":"x","data":{"a":[1,2.50,null,true,"\u00e9"],"b":{"$fragment":{"name":"y","data":"z"}}},"metadata":{"k":1}}"#;
    let nested = br#"{"$fragment":{"name":"a","data":[{"$fragment":{"name":"b","data":{"$map":{"name":"n"}}}},{"$number":"NaN"}]}}"#;
    let own = own.map(|fragment| serde_json::to_vec(&fragment).expect("a fragment"));
    own.into_iter().chain([raw.to_vec(), nested.to_vec()]).collect()
}

/// Checks that imported chats are the same when they are exported and imported again.
pub(crate) fn chats(bytes: &[u8]) -> bool {
    let Some((chats, first)) = round_trip(bytes) else { return false };
    let (again, second) = round_trip(&first).expect("what was exported can be imported");
    assert_eq!((again, String::from_utf8_lossy(&second)), (chats, String::from_utf8_lossy(&first)));
    !first.is_empty()
}

/// Imports into an empty store and exports again. Returns the number of chats and the file.
fn round_trip(bytes: &[u8]) -> Option<(usize, Vec<u8>)> {
    let never = CancelSignal::never();
    wait(async {
        let store = context_runtime::open("mem:").await.expect("a store in memory");
        let options = ImportJsonl::new("ada");
        let mut file = Cursor::new(bytes);
        let imported =
            import_jsonl(&*store, &mut file, &options, &never, &mut |_| {}).await.ok()?;
        let mut chats: Vec<ChatRef> = imported
            .chats
            .iter()
            .filter(|chat| chat.written().is_some())
            .map(|chat| chat.chat.clone())
            .collect();
        chats.dedup();
        let mut out = Vec::new();
        let exported = export_jsonl(&*store, &chats, &mut out, &never, &mut |_| {}).await;
        exported.expect("what was imported can be exported");
        Some((chats.len(), out))
    })
}

pub(crate) fn chats_seeds() -> Vec<Vec<u8>> {
    super::texts([include_str!("../../seeds/chats.jsonl")])
}
