//! Shared parts of the tests: keys, stores, a chat that uses everything.

use std::sync::Arc;

use context_core::store::{
    ChatPatch, Commit, CommitOutcome, NewBlob, NewChat, StoredFragment, StreamAppend, StreamClaim,
    StreamEnd, Target,
};
use context_core::{
    ChatRef, Encoded, Json, Message, MessageId, Metadata, Node, Role, Store, Timestamp,
};
use context_store_inmem::InMemoryStore;
use context_store_layers::{EncryptedStore, EncryptionKey, KeyRing};

pub(crate) fn at(n: i64) -> Timestamp {
    Timestamp::from_micros(n)
}

pub(crate) fn key(id: &str) -> EncryptionKey {
    let mut bytes = [7; 32];
    bytes[..id.len()].copy_from_slice(id.as_bytes());
    EncryptionKey::from_bytes(id, &bytes).unwrap()
}

/// Returns a ring whose current key is the first.
pub(crate) fn ring(ids: &[&str]) -> KeyRing {
    let (current, older) = ids.split_first().unwrap();
    older.iter().fold(KeyRing::new(key(current)), |ring, id| ring.with_older(key(id)).unwrap())
}

pub(crate) fn over(inner: &Arc<dyn Store>, ids: &[&str]) -> EncryptedStore {
    EncryptedStore::new(Arc::clone(inner), ring(ids))
}

pub(crate) fn memory() -> Arc<dyn Store> {
    Arc::new(InMemoryStore::default())
}

pub(crate) fn chat(name: &str) -> ChatRef {
    ChatRef::new("ada", name)
}

pub(crate) fn says(id: &str, role: Role, text: &str) -> Arc<Node> {
    Arc::new(Node::new(id, Message::text(role, text), at(1)))
}

pub(crate) fn extend(chat: &ChatRef, expected: Option<&str>, nodes: Vec<Arc<Node>>) -> Commit {
    let target = Target::Extend { branch: "main".into(), expected: expected.map(Into::into) };
    Commit { nodes, ..Commit::new(chat.clone(), target, at(2)) }
}

pub(crate) fn stay(chat: &ChatRef) -> Commit {
    Commit::new(chat.clone(), Target::Stay, at(3))
}

pub(crate) fn fragment(id: Option<&str>, text: &str) -> StoredFragment {
    StoredFragment {
        id: id.map(Into::into),
        metadata: Metadata::default().with("note", text),
        body: Encoded::new("x-note", 1, text.as_bytes().to_vec()),
    }
}

pub(crate) async fn create(store: &dyn Store, chat: &ChatRef) {
    let _new = store.history().create_chat(NewChat::new(chat.clone(), at(1))).await.unwrap();
}

pub(crate) async fn applied(store: &dyn Store, commit: Commit) {
    let outcome = store.history().commit(commit).await.unwrap();
    assert!(matches!(outcome, CommitOutcome::Applied(_)), "{outcome:?}");
}

/// Writes the text to a chat with every ability.
pub(crate) async fn live(store: &dyn Store, chat: &ChatRef, text: &str) {
    let new = NewChat {
        title: Some(text.to_owned()),
        metadata: Metadata::default().with("about", text),
        ..NewChat::new(chat.clone(), at(1))
    };
    let _new = store.history().create_chat(new).await.unwrap();
    let nodes = vec![says("m1", Role::User, text), says("m2", Role::Assistant, text)];
    applied(store, extend(chat, None, nodes)).await;
    let mut commit = stay(chat);
    commit.amendments = vec![says("m2", Role::Assistant, &format!("{text} amended"))];
    commit.fragments = vec![fragment(Some("f"), text), fragment(None, text)];
    commit.key = Some("turn".into());
    applied(store, commit).await;
    let amount: Json = serde_json::json!({"in": 3, "model": text}).into();
    let patch =
        ChatPatch { add: Metadata::default().with("usage", amount), ..ChatPatch::default() };
    store.history().update_chat(chat, &patch, at(4)).await.unwrap();
    if let Some(blobs) = store.blobs() {
        let blob = NewBlob::new(text.repeat(9000), at(5)).media_type(text);
        blobs.put_blob(chat, blob).await.unwrap();
        blobs.put_blob(chat, NewBlob::new(text.to_owned(), at(5))).await.unwrap();
    }
    if let Some(streams) = store.streams() {
        let _created = streams.create_stream(chat, &"s".into(), at(6)).await.unwrap();
        let _claimed =
            streams.claim_stream(chat, &"s".into(), &StreamClaim::new("w", at(6))).await.unwrap();
        let append = StreamAppend::new("w", 0, [text.to_owned(), text.to_owned()], at(6));
        let done = streams
            .append_stream(chat, &"s".into(), append.end(StreamEnd::Failed(text.into())))
            .await;
        assert!(done.unwrap().is_done());
    }
}

/// Returns the text of a message.
pub(crate) async fn text(
    store: &dyn Store,
    chat: &ChatRef,
    id: &str,
) -> context_core::Result<String> {
    let found = store.history().messages(chat, &[MessageId::from(id)]).await?;
    let node = found.into_iter().next().flatten().unwrap().node;
    Ok(node.message()?.readable_text().to_string())
}
