//! New keys: repeated commits are still recognized, stored data is encrypted again, and nothing is
//! lost.

use std::time::Duration;

use context_core::base::{BlobId, CancelSource};
use context_core::store::{Commit, CommitOutcome, LeaseClaim, LeaseOutcome, NewBlob};
use context_core::{CancelSignal, ErrorKind, Role, Store};
use context_store_layers::{EncryptedStore, KeyUsage, RotateOptions};

use crate::fixture::{
    applied, at, chat, create, extend, fragment, live, memory, over, ring, says, stay, text,
};

async fn usage(store: &EncryptedStore) -> (Vec<(String, u64)>, u64) {
    let KeyUsage { records, plain, broken, .. } =
        store.key_usage(&"ada".into(), &CancelSignal::never()).await.unwrap();
    assert_eq!(broken, 0);
    (records.into_iter().map(|(key, count)| (key.to_string(), count)).collect(), plain)
}

async fn rotate(store: &EncryptedStore, options: &RotateOptions) -> context_store_layers::Rotated {
    store.rotate_user(&"ada".into(), options, &CancelSignal::never(), |_, _| {}).await.unwrap()
}

/// A reply is lost, the keys are changed, and the caller tries again.
#[tokio::test]
async fn a_commit_repeated_behind_a_change_of_keys_is_known() {
    let inner = memory();
    let before = over(&inner, &["k1"]);
    create(&before, &chat("c")).await;
    let turn = extend(
        &chat("c"),
        None,
        vec![says("a", Role::User, "one"), says("b", Role::Assistant, "two")],
    );
    let keyed = Commit {
        amendments: vec![says("a", Role::User, "other")],
        fragments: vec![fragment(None, "x")],
        key: Some("turn".into()),
        ..stay(&chat("c"))
    };
    applied(&before, turn.clone()).await;
    applied(&before, keyed.clone()).await;
    for after in [over(&inner, &["k2", "k1"]), over(&inner, &["k3", "k2", "k1"])] {
        let history = after.history();
        let again = history.commit(keyed.clone()).await.unwrap();
        assert!(matches!(again, CommitOutcome::Replayed(_)), "{again:?}");
        let other = Commit { amendments: vec![says("a", Role::User, "third")], ..keyed.clone() };
        assert_eq!(history.commit(other).await.unwrap_err().kind(), ErrorKind::Invalid);
        // One message was amended since, so the commit is no longer the same, as without the layer.
        let edited = history.commit(turn.clone()).await.unwrap();
        assert_eq!(edited, CommitOutcome::Exists { ids: vec!["a".into(), "b".into()] });
        let tail = extend(&chat("c"), Some("a"), vec![says("b", Role::Assistant, "two")]);
        assert!(matches!(history.commit(tail).await.unwrap(), CommitOutcome::Replayed(_)));
        assert_eq!(after.fragments().fragments(&chat("c")).await.unwrap(), [fragment(None, "x")]);
        after.fragments().put_fragments(&chat("c"), &[fragment(None, "x")], at(9)).await.unwrap();
        assert_eq!(after.fragments().fragments(&chat("c")).await.unwrap().len(), 1);
    }
}

#[tokio::test]
async fn what_is_sealed_anew_opens_without_the_older_key() {
    let inner = memory();
    live(&over(&inner, &["k1"]), &chat("c"), "a secret").await;
    let store = over(&inner, &["k2", "k1"]);
    let (before, chat_before) =
        (usage(&store).await, store.history().chat(&chat("c")).await.unwrap());
    assert_eq!(before.0.len(), 1);
    let left = rotate(&store, &RotateOptions::default()).await;
    // The amended message has an earlier revision, and a stream cannot be changed.
    let streams = u64::from(inner.streams().is_some());
    assert_eq!(
        (left.messages, left.fragments, left.titles, left.blobs, left.left),
        (1, 2, 1, 2, 1 + streams)
    );
    let again = rotate(&store, &RotateOptions::default()).await;
    assert_eq!((again.messages, again.fragments, again.titles, again.blobs), (0, 0, 0, 0));
    assert_eq!(store.history().revisions(&chat("c"), &"m2".into()).await.unwrap().len(), 1);
    if let Some(streams) = store.streams() {
        assert!(streams.remove_stream(&chat("c"), &"s".into()).await.unwrap());
    }
    let done = rotate(&store, &RotateOptions::default().drop_revisions(true)).await;
    assert_eq!((done.messages, done.left), (1, 0));
    let after = usage(&store).await;
    assert_eq!(after.0.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), ["k2"]);
    let alone = over(&inner, &["k2"]);
    assert_eq!(
        alone.history().chat(&chat("c")).await.unwrap(),
        chat_before,
        "no activity, no change"
    );
    assert_eq!(text(&alone, &chat("c"), "m2").await.unwrap(), "a secret amended");
    assert_eq!(
        alone.fragments().fragments(&chat("c")).await.unwrap()[1],
        fragment(None, "a secret")
    );
    let blobs = alone.blobs().unwrap().blobs(&chat("c"), 10, None).await.unwrap().items;
    assert!(
        blobs
            .iter()
            .all(|blob| (blob.created_at, blob.used_at, blob.references) == (at(5), at(5), 1))
    );
    let large = BlobId::of("a secret".repeat(9000).as_bytes());
    let read =
        alone.blobs().unwrap().read_blob(&chat("c"), &large, 71_992..80_000, None).await.unwrap();
    assert_eq!(read.unwrap(), "a secret");
    let report = alone.maintenance().unwrap().check(&CancelSignal::never()).await.unwrap();
    assert_eq!(report.findings, []);
}

/// Regression: a chat that had been under a lease kept its old key, and so did all chats after it.
#[tokio::test]
async fn a_lease_does_not_stop_a_rotation() {
    let inner = memory();
    let first = over(&inner, &["k1"]);
    live(&first, &chat("c"), "a secret").await;
    let claim = LeaseClaim::new("worker", at(10), Duration::from_secs(1_000));
    let taken = first.leases().unwrap().take_lease(&chat("c"), &claim).await.unwrap();
    let LeaseOutcome::Taken(lease) = taken else { panic!("{taken:?}") };
    let second = over(&inner, &["k2", "k1"]);
    let options = RotateOptions::default().drop_revisions(true);
    assert_eq!(rotate(&second, &options).await.messages, 2, "beside its owner");
    assert!(
        second.leases().unwrap().release_lease(&chat("c"), lease.number, at(20)).await.unwrap()
    );
    let third = over(&inner, &["k3", "k2"]);
    assert_eq!(rotate(&third, &options).await.messages, 2, "after its end");
}

#[tokio::test]
async fn a_store_without_encryption_is_moved_by_rotation() {
    let inner = memory();
    live(&*inner, &chat("c"), "a secret").await;
    let store = EncryptedStore::new(inner.clone(), ring(&["k1"])).allow_plain(true);
    let moved = rotate(&store, &RotateOptions::default().drop_revisions(true)).await;
    assert_eq!((moved.messages, moved.blobs), (2, 2));
    let strict = over(&inner, &["k1"]);
    assert_eq!(text(&strict, &chat("c"), "m1").await.unwrap(), "a secret");
    assert_eq!(strict.blobs().unwrap().blobs(&chat("c"), 10, None).await.unwrap().items.len(), 2);
    assert_eq!(
        strict.history().chat(&chat("c")).await.unwrap(),
        store.history().chat(&chat("c")).await.unwrap()
    );
    // A fragment without an id has no name by which it could be removed. The two chunks of a stream
    // are left with it.
    let streams = u64::from(inner.streams().is_some());
    assert_eq!((moved.left, usage(&store).await.1), (1 + streams, 1 + 2 * streams));
}

#[tokio::test]
async fn a_rotation_that_is_ended_goes_on() {
    let inner = memory();
    let before = over(&inner, &["k1"]);
    for name in ["a", "b", "c"] {
        live(&before, &chat(name), name).await;
    }
    let store = over(&inner, &["k2", "k1"]);
    let (cancel, options) = (CancelSource::new(), RotateOptions::default());
    let ended = store
        .rotate_user(&"ada".into(), &options, &cancel.signal(), |_, so_far| {
            assert_eq!(so_far.chats, 1);
            cancel.cancel();
        })
        .await;
    assert_eq!(ended.unwrap_err().kind(), ErrorKind::Cancelled);
    let rest = rotate(&store, &options).await;
    assert_eq!((rest.chats, rest.messages, rest.blobs), (3, 2, 4));
}

#[tokio::test]
async fn blobs_are_one_whatever_the_key() {
    let inner = memory();
    let put = async |store: &EncryptedStore, media_type: Option<&str>| {
        let mut new = NewBlob::new("the same bytes", at(1));
        new.media_type = media_type.map(ToOwned::to_owned);
        store.blobs().unwrap().put_blob(&chat("c"), new).await.unwrap()
    };
    let before = over(&inner, &["k1"]);
    create(&before, &chat("c")).await;
    put(&before, None).await;
    let store = over(&inner, &["k2", "k1"]);
    assert_eq!(put(&store, None).await.media_type, None);
    assert_eq!(put(&store, Some("text/plain")).await.media_type.as_deref(), Some("text/plain"));
    assert_eq!(put(&store, Some("text/html")).await.media_type.as_deref(), Some("text/plain"));
    let listed = store.blobs().unwrap().blobs(&chat("c"), 10, None).await.unwrap().items;
    assert_eq!(listed.len(), 1);
    rotate(&store, &RotateOptions::default()).await;
    let removed = store.blobs().unwrap().remove_blob(&chat("c"), &listed[0].id).await.unwrap();
    assert_eq!((removed.references, removed.blobs, removed.bytes), (1, 1, 14));
    assert_eq!(inner.blobs().unwrap().blobs(&chat("c"), 10, None).await.unwrap().items.len(), 0);
}
