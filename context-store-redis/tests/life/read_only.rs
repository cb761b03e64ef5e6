//! Stores that are opened read-only: no key is created, changed or given another expiry. Keys of
//! other programs are never changed.

use std::collections::BTreeMap;
use std::time::Duration;

use context_core::base::BlobId;
use context_core::store::{ChatPatch, ChatQuery, LeaseClaim, LeaseOutcome, NewBlob, RoundQuery};
use context_core::{CancelSignal, ErrorKind, Retry, Store};
use context_store_redis::RedisStore;

use crate::fixture::{RedisFixture, T, extend, ids, many};

/// Returns every key with the prefix, its value, and its expiry.
fn everything(fixture: &RedisFixture) -> BTreeMap<String, (Vec<u8>, i64)> {
    let mut server = fixture.server();
    let mut all = BTreeMap::new();
    for key in fixture.keys("") {
        let holds: Vec<u8> = redis::cmd("DUMP").arg(&key).query(&mut server).unwrap();
        let goes: i64 = redis::cmd("PEXPIRETIME").arg(&key).query(&mut server).unwrap();
        all.insert(key, (holds, goes));
    }
    all
}

pub(crate) async fn reading_changes_no_key_and_writing_is_refused() {
    let fixture = RedisFixture::new().await;
    let chat = fixture.create("ada", "trip").await;
    fixture.extend(&chat, "main", "", many("m", 20)).await;
    fixture.store.blobs().unwrap().put_blob(&chat, NewBlob::new(&b"bytes"[..], T)).await.unwrap();
    // A deleted chat whose entry remains. A listing that may write would remove the entry.
    let gone = fixture.create("ada", "gone").await;
    let keys = fixture.keys(":chat2");
    let before: Vec<_> = everything(&fixture).into_keys().collect();
    assert_eq!(keys.len(), 2, "{before:?}");
    let _ = gone;
    let before = everything(&fixture);
    let store = RedisStore::open(fixture.config.clone().read_only(true)).await.unwrap();
    let history = store.history();
    let chain = history
        .chain(
            &chat,
            &context_core::store::ChainEnd::Branch("main".into()),
            &context_core::store::Window::Whole,
        )
        .await
        .unwrap();
    assert_eq!(ids(&chain).len(), 20);
    history.list_chats(&ChatQuery::new("ada")).await.unwrap();
    history.chat_size(&chat).await.unwrap();
    history.branches(&chat).await.unwrap();
    history.checkpoints(&chat).await.unwrap();
    history.messages(&chat, &["m1".into()]).await.unwrap();
    history.all_messages(&chat, 10, None).await.unwrap();
    history.revisions(&chat, &"m1".into()).await.unwrap();
    store.fragments().fragments(&chat).await.unwrap();
    let blobs = store.blobs().unwrap();
    // The time of use of a blob is not updated either.
    let read = blobs.read_blob(&chat, &BlobId::of(b"bytes"), 0..5, Some(T)).await.unwrap();
    assert_eq!(read.as_deref(), Some(&b"bytes"[..]));
    blobs.blobs(&chat, 5, None).await.unwrap();
    store.streams().unwrap().streams(&chat, 5, None).await.unwrap();
    store.trajectories().unwrap().rounds(&RoundQuery::of_user("ada")).await.unwrap();
    store.memories().unwrap().memory_stats(&"ada".into(), 5, None).await.unwrap();
    let maintenance = store.maintenance().unwrap();
    maintenance.users(5, None).await.unwrap();
    assert_eq!(maintenance.check(&CancelSignal::never()).await.unwrap().findings, []);
    let refused = |error: context_core::Error| {
        assert_eq!(
            (error.kind(), error.retry()),
            (ErrorKind::Unsupported, Retry::Never),
            "{error}"
        );
        assert_eq!(error.message(), "the store was opened read-only");
    };
    refused(history.commit(extend(&chat, "main", "m19", many("n", 1))).await.unwrap_err());
    refused(history.update_chat(&chat, &ChatPatch::default(), T).await.unwrap_err());
    refused(history.delete_chat(&chat, None).await.unwrap_err());
    refused(blobs.put_blob(&chat, NewBlob::new(&b"more"[..], T)).await.unwrap_err());
    refused(maintenance.erase_user(&"ada".into(), &CancelSignal::never()).await.unwrap_err());
    assert_eq!(everything(&fixture), before);
}

pub(crate) async fn a_listing_that_reads_sweeps_nothing() {
    let fixture = RedisFixture::new().await;
    fixture.create("ada", "trip").await;
    let _gone: u8 = redis::cmd("DEL").arg(fixture.chat_key()).query(&mut fixture.server()).unwrap();
    let before = everything(&fixture);
    let store = RedisStore::open(fixture.config.clone().read_only(true)).await.unwrap();
    assert_eq!(store.history().list_chats(&ChatQuery::new("ada")).await.unwrap().items, []);
    assert_eq!(everything(&fixture), before);
}

pub(crate) async fn a_prefix_without_a_store_is_made_one_only_by_who_may() {
    let fixture = RedisFixture::new().await;
    let other = format!("{}none:", fixture.config.prefix);
    let config = fixture.config.clone().prefix(other.as_str());
    for config in [config.clone().read_only(true), config.create(false)] {
        let error = RedisStore::open(config).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.message()),
            (ErrorKind::NotFound, "there is no context store under the prefix")
        );
        assert_eq!(error.get("prefix"), Some(&*other));
    }
    assert!(fixture.keys("").iter().all(|key| !key.starts_with(&other)));
}

pub(crate) async fn keys_of_another_program_are_left_alone_however_they_are_opened() {
    let fixture = RedisFixture::new().await;
    let prefix = |n: usize| format!("{}other{n}:", fixture.config.prefix);
    let mut server = fixture.server();
    let others: [&[&str]; 5] = [
        &["SET", "{user}:chats", "7"],
        &["SET", "{store}:layout", "blue"],
        &["RPUSH", "{store}:layout", "2"],
        &["SET", "{store}:handles", "ours"],
        &["HSET", "{store}:handles", "a", "b"],
    ];
    for (n, other) in others.iter().enumerate() {
        let mut command = redis::cmd(other[0]);
        command.arg(format!("{}{}", prefix(n), other[1])).arg(&other[2..]);
        let _done: redis::Value = command.query(&mut server).unwrap();
    }
    let before = everything(&fixture);
    for (n, other) in others.iter().enumerate() {
        let config = fixture.config.clone().prefix(prefix(n));
        for config in [config.clone(), config.clone().read_only(true), config.create(false)] {
            let error = RedisStore::open(config).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{other:?}: {error}");
            assert!(error.message().contains("another program"), "{error}");
        }
    }
    assert_eq!(everything(&fixture), before);
}

pub(crate) async fn a_store_whose_number_was_thrown_away_is_known_by_its_keys() {
    let fixture = RedisFixture::new().await;
    fixture.create("ada", "trip").await;
    for key in fixture.keys("{store}:*") {
        let _gone: u8 = redis::cmd("DEL").arg(key).query(&mut fixture.server()).unwrap();
    }
    let store = fixture.again().await;
    assert_eq!(store.history().list_chats(&ChatQuery::new("ada")).await.unwrap().items.len(), 1);
}

pub(crate) async fn a_newer_layout_is_refused_and_not_touched() {
    let fixture = RedisFixture::new().await;
    let layout = fixture.keys("{store}:layout").pop().unwrap();
    let () = redis::cmd("SET").arg(layout).arg(99).query(&mut fixture.server()).unwrap();
    let before = everything(&fixture);
    for read_only in [true, false] {
        let error =
            RedisStore::open(fixture.config.clone().read_only(read_only)).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.get("newer_schema")),
            (ErrorKind::Unsupported, Some("99")),
            "{error}"
        );
    }
    assert_eq!(everything(&fixture), before);
}

pub(crate) async fn a_store_of_the_layout_before_leases_is_upgraded_when_it_is_opened_to_write() {
    let fixture = RedisFixture::new().await;
    let chat = fixture.create("ada", "trip").await;
    let layout = fixture.keys("{store}:layout").pop().unwrap();
    let () = redis::cmd("SET").arg(layout).arg(2).query(&mut fixture.server()).unwrap();
    let error = RedisStore::open(fixture.config.clone().read_only(true)).await.unwrap_err();
    let versions = (error.get("older_schema"), error.get("newest_schema"));
    assert_eq!((error.kind(), versions), (ErrorKind::Unsupported, (Some("2"), Some("3"))));
    let store = fixture.again().await;
    let leases = store.leases().unwrap();
    assert_eq!(leases.lease(&chat).await.unwrap(), None);
    let claim = LeaseClaim::new("worker", T, Duration::from_secs(1));
    let taken = leases.take_lease(&chat, &claim).await.unwrap();
    assert!(matches!(taken, LeaseOutcome::Taken(_)), "{taken:?}");
    let reader = RedisStore::open(fixture.config.clone().read_only(true)).await.unwrap();
    assert_eq!(reader.leases().unwrap().lease(&chat).await.unwrap().unwrap().number, 1);
}
