//! The options of the masking layer, its counters and its observer.

use std::sync::{Arc, Mutex};

use context_core::history::StoredBoundary;
use context_core::message::NodeKind;
use context_core::message::{MessageHash, OpaqueBlock, Reasoning};
use context_core::store::{ChatQuery, NewBlob, NewChat};
use context_core::{ErrorKind, Message, Metadata, Node, Part, Role, Store};
use context_secrets::{SecretFinder, UnmaskablePlace};
use context_store_inmem::InMemoryStore;
use context_store_layers::{MaskError, MaskEvent, MaskingStore};
use serde_json::json;

use crate::corpus::corpus;
use crate::fixture::{applied, at, chat, extend};

fn memory() -> Arc<dyn Store> {
    Arc::new(InMemoryStore::default())
}

async fn create(store: &dyn Store) {
    let _new = store.history().create_chat(NewChat::new(chat("c"), at(1))).await.unwrap();
}

/// Returns a message with a secret in an opaque block and in signed reasoning.
fn signed(text: &str) -> Message {
    let reasoning =
        Reasoning { text: text.into(), signature: Some("signed".into()), ..Reasoning::default() };
    let block = OpaqueBlock { provider: "p".to_owned(), value: json!({ "a": text }).into() };
    Message::new(Role::Assistant, [Part::Reasoning(reasoning), Part::Opaque(block)])
}

#[tokio::test]
async fn provider_blocks_are_left_and_counted_or_refused() {
    let text = &corpus()[3].text;
    let events: Arc<Mutex<Vec<MaskEvent>>> = Arc::default();
    let seen = Arc::clone(&events);
    let observer = move |event: &MaskEvent| seen.lock().unwrap().push(event.clone());
    let store = MaskingStore::new(memory()).observer(Arc::new(observer));
    create(&store).await;
    let message = signed(text);
    applied(&store, extend(&chat("c"), None, vec![Node::new("m1", message.clone(), at(1))])).await;
    let read = store.history().messages(&chat("c"), &["m1".into()]).await.unwrap();
    assert_eq!(**read[0].as_ref().unwrap().node.message().unwrap(), message);
    let report = store.report();
    assert!(report.masked.is_empty());
    for place in [UnmaskablePlace::OpaqueBlock, UnmaskablePlace::SignedReasoning] {
        assert_eq!(report.left[&place].of("github-token"), 1);
    }
    let events = events.lock().unwrap().clone();
    assert_eq!((events.len(), events[0].operation), (1, "commit"));
    let told: Vec<_> = events[0].diagnostics().iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "secrets_left at c: secrets were left in opaque_block: 1 github-token",
            "secrets_left at c: secrets were left in signed_reasoning: 1 github-token",
        ]
    );

    let store = MaskingStore::new(memory()).refuse_left(true);
    create(&store).await;
    let commit = extend(&chat("c"), None, vec![Node::new("m1", message, at(1))]);
    let refused = store.history().commit(commit).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Invalid);
    let source = std::error::Error::source(&refused).unwrap();
    let why = source.downcast_ref::<MaskError>().unwrap();
    assert_eq!((why.kind.as_str(), why.place), ("github-token", UnmaskablePlace::OpaqueBlock));
    assert!(store.history().messages(&chat("c"), &["m1".into()]).await.unwrap()[0].is_none());
    assert!(store.report().is_empty());
}

#[tokio::test]
async fn a_blob_of_text_has_the_id_of_its_masked_bytes_and_other_bytes_stay() {
    let sample = &corpus()[3];
    let store = MaskingStore::new(memory());
    create(&store).await;
    let blobs = store.blobs().unwrap();
    let put = blobs.put_blob(&chat("c"), NewBlob::new(sample.text.clone(), at(2))).await.unwrap();
    let read = blobs.read_blob(&chat("c"), &put.id, 0..u64::MAX, None).await.unwrap().unwrap();
    let masked = sample.text.replace(&sample.secret, "[secret:github-token]");
    assert_eq!(read, masked.as_bytes());
    let mut bytes = vec![0xff, 0xfe, 0];
    bytes.extend_from_slice(sample.text.as_bytes());
    let put = blobs.put_blob(&chat("c"), NewBlob::new(bytes.clone(), at(2))).await.unwrap();
    let read = blobs.read_blob(&chat("c"), &put.id, 0..u64::MAX, None).await.unwrap().unwrap();
    assert_eq!(read, bytes);
    assert_eq!(store.report().left[&UnmaskablePlace::Binary].of("github-token"), 1);
}

#[tokio::test]
async fn own_rules_apply_and_filters_of_listings_compare_masked_values() {
    let finder = SecretFinder::builder().literal("house", "Alcázar 12").build().unwrap();
    let store = MaskingStore::with_finder(memory(), finder);
    let metadata = Metadata::default().with("place", "Alcázar 12");
    let new = NewChat { metadata: metadata.clone(), ..NewChat::new(chat("c"), at(1)) };
    let _new = store.history().create_chat(new).await.unwrap();
    let mut query = ChatQuery::new("ada");
    query.metadata = metadata.iter().map(|(key, value)| (key.to_owned(), value.clone())).collect();
    let listed = store.history().list_chats(&query).await.unwrap().items;
    let place = listed[0].chat.metadata.get("place").unwrap();
    assert_eq!(place.as_str(), "\"[secret:house]\"");
}

/// A compaction refers to a message by the hash of what the program set. The stored message has
/// another, and must still be shown in its shorter form.
#[tokio::test]
async fn a_boundary_refers_to_the_masked_message() {
    let sample = &corpus()[3];
    let store = MaskingStore::new(memory());
    create(&store).await;
    let message = Message::tool(vec![]).with_role(Role::Tool);
    let message = Message { parts: vec![Part::tool_result("c1", &*sample.text)], ..message };
    applied(&store, extend(&chat("c"), None, vec![Node::new("m1", message.clone(), at(1))])).await;
    let short = Message::tool(message.tool_results().map(|result| {
        let mut result = result.clone();
        result.output = vec![Part::text(format!("short: {}", sample.text))];
        result
    }));
    let boundary: StoredBoundary = serde_json::from_value(json!({
        "kind": "microcompact",
        "replaced": [{ "id": "m1", "of": message.hash(), "message": short }],
    }))
    .unwrap();
    let node = Node::from_encoded("b1".into(), NodeKind::Boundary, at(2), boundary.encode());
    applied(&store, extend(&chat("c"), Some("m1"), vec![node])).await;
    let ids = ["m1".into(), "b1".into()];
    let read = store.history().messages(&chat("c"), &ids).await.unwrap();
    let stored: MessageHash = read[0].as_ref().unwrap().node.message().unwrap().hash();
    let body = read[1].as_ref().unwrap().node.body().clone();
    let boundary = StoredBoundary::decode(&body).unwrap();
    assert_eq!(boundary.replaced[0].of, stored);
    assert!(!String::from_utf8_lossy(body.bytes()).contains(&sample.secret));
}
