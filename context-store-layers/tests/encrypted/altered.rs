//! Altered and moved records, and records of another key, are errors and never yield text.

use std::sync::Arc;

use context_core::message::NodeKind;
use context_core::store::{ChatPatch, Commit, NewBlob};
use context_core::{CancelSignal, Encoded, ErrorKind, Metadata, Node, Role, Store};
use context_store_layers::SealError;
use proptest::prelude::*;

use crate::fixture::{applied, at, chat, create, extend, live, memory, over, says, stay, text};

/// Returns a message as the inner store has it.
async fn stored(inner: &Arc<dyn Store>, chat: &context_core::ChatRef, id: &str) -> Arc<Node> {
    let found = inner.history().messages(chat, &[id.into()]).await.unwrap();
    found.into_iter().next().flatten().unwrap().node
}

/// Replaces the body of a message in the inner store.
async fn replace(
    inner: &Arc<dyn Store>,
    chat: &context_core::ChatRef,
    id: &str,
    kind: NodeKind,
    body: Encoded,
) {
    let node = Node::from_encoded(id.into(), kind, at(1), body);
    let commit = Commit { redactions: vec![Arc::new(node)], ..stay(chat) };
    applied(&**inner, commit).await;
}

#[tokio::test]
async fn no_message_opens_in_another_place() {
    let inner = memory();
    let store = over(&inner, &["k1"]);
    let (one, other, bob) = (chat("one"), chat("other"), context_core::ChatRef::new("bob", "one"));
    for chat in [&one, &other, &bob] {
        create(&store, chat).await;
        let nodes = vec![says("a", Role::User, "first"), says("b", Role::User, "second")];
        applied(&store, extend(chat, None, nodes)).await;
    }
    let body = stored(&inner, &one, "a").await.body().clone();
    let user = NodeKind::Message(Role::User);
    for (chat, id, kind) in [
        (&one, "b", user),
        (&other, "a", user),
        (&bob, "a", user),
        (&one, "a", NodeKind::Message(Role::System)),
        (&one, "a", NodeKind::Boundary),
    ] {
        replace(&inner, chat, id, kind, body.clone()).await;
        let error = text(&store, chat, id).await.unwrap_err();
        assert_eq!((error.kind(), error.get("message")), (ErrorKind::Corrupt, Some(id)));
    }
    replace(&inner, &one, "a", user, body).await;
    assert_eq!(text(&store, &one, "a").await.unwrap(), "first");
}

#[tokio::test]
async fn no_other_record_opens_in_another_place() {
    let inner = memory();
    let store = over(&inner, &["k1"]);
    let (one, other) = (chat("one"), chat("other"));
    live(&store, &one, "a secret").await;
    live(&store, &other, "another").await;
    let beneath = inner.history().chat(&one).await.unwrap().unwrap();
    let about = beneath.metadata.get("about").unwrap().clone();
    let set = |name: &str| Metadata::default().with(name, about.clone());
    let patches = [
        (&other, ChatPatch { title: beneath.title.clone().into(), ..ChatPatch::default() }),
        (&other, ChatPatch { set: set("about"), ..ChatPatch::default() }),
        (&one, ChatPatch { set: set("elsewhere"), ..ChatPatch::default() }),
        (&one, ChatPatch { set: set("sealed+usage"), ..ChatPatch::default() }),
    ];
    for (chat, patch) in patches {
        let before = inner.history().chat(chat).await.unwrap().unwrap();
        inner.history().update_chat(chat, &patch, at(9)).await.unwrap();
        assert_eq!(store.history().chat(chat).await.unwrap_err().kind(), ErrorKind::Corrupt);
        let remove = vec!["elsewhere".to_owned()];
        let back = ChatPatch {
            title: before.title.into(),
            set: before.metadata,
            remove,
            ..ChatPatch::default()
        };
        inner.history().update_chat(chat, &back, at(9)).await.unwrap();
        assert!(store.history().chat(chat).await.is_ok());
    }
    let mut fragments = inner.fragments().fragments(&one).await.unwrap();
    fragments[0].id = Some("g".into());
    inner.fragments().put_fragments(&one, &fragments[..1], at(9)).await.unwrap();
    assert_eq!(store.fragments().fragments(&one).await.unwrap_err().kind(), ErrorKind::Corrupt);
    // The name of one blob with the bytes of another.
    let blobs = inner.blobs().unwrap();
    let page = blobs.blobs(&one, 10, None).await.unwrap().items;
    let name = page[0].media_type.clone().unwrap();
    let theirs = blobs.blobs(&other, 10, None).await.unwrap().items[0].id;
    let bytes = blobs.read_blob(&other, &theirs, 0..u64::MAX, None);
    let moved = NewBlob::new(bytes.await.unwrap().unwrap(), at(9)).media_type(name);
    blobs.put_blob(&one, moved).await.unwrap();
    let error = store.blobs().unwrap().blobs(&one, 10, None).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    let report = store.maintenance().unwrap().check(&CancelSignal::never()).await.unwrap();
    // The fragment is in the log of its versions, too.
    let about: Vec<_> = report.findings.iter().map(|finding| finding.about.as_str()).collect();
    let [fragment, version, _blob] = about[..] else { panic!("{:?}", report.findings) };
    assert_eq!((fragment, version), ("a fragment", "a version of a fragment"));
}

#[tokio::test]
async fn a_key_that_is_not_at_hand_is_named() {
    let inner = memory();
    live(&over(&inner, &["k1"]), &chat("c"), "a secret").await;
    let error = text(&over(&inner, &["k2"]), &chat("c"), "m1").await.unwrap_err();
    assert_eq!((error.kind(), error.get("key")), (ErrorKind::Unsupported, Some("k1")));
    let source = std::error::Error::source(&error).unwrap();
    assert!(
        matches!(source.downcast_ref(), Some(SealError::UnknownKey(id)) if id.as_str() == "k1")
    );
    assert!(!format!("{error:?}").contains("secret"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, failure_persistence: None,
        ..ProptestConfig::default() })]

    /// Every byte of a stored message is authenticated.
    #[test]
    fn no_altered_message_is_read(words in "[a-z ]{0,30}", flip in 1..=255u8) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let inner = memory();
            let store = over(&inner, &["k1"]);
            create(&store, &chat("c")).await;
            applied(&store, extend(&chat("c"), None, vec![says("a", Role::User, &words)])).await;
            let sealed = stored(&inner, &chat("c"), "a").await.body().clone();
            for place in 0..sealed.bytes().len() {
                let mut altered = sealed.bytes().to_vec();
                altered[place] ^= flip;
                let body = Encoded::new(sealed.kind(), sealed.version(), altered);
                replace(&inner, &chat("c"), "a", NodeKind::Message(Role::User), body).await;
                let error = text(&store, &chat("c"), "a").await.unwrap_err();
                // An altered key name is that of an unknown key.
                assert!(matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported),
                    "byte {place}: {error}");
            }
        });
    }
}
