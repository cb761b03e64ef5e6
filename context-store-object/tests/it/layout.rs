//! What is in the objects, and what is made of objects that are not as they were written.

use std::sync::Arc;

use bytes::Bytes;
use context_core::store::{BlobPrune, ChatQuery, Durability};
use context_core::{CancelSignal, ErrorKind, Store};
use context_store_object::object_store::ObjectStoreExt as _;
use context_store_object::object_store::memory::InMemory;
use context_store_object::object_store::path::Path;
use context_store_object::{ObjectBlobs, ObjectConfig};

use crate::fixture::{BlobFixture, at, chat, keys};

const REPORT: Bytes = Bytes::from_static(b"a long report");

async fn with_report() -> (Arc<InMemory>, BlobFixture) {
    let objects = Arc::new(InMemory::new());
    let store = BlobFixture::over(Arc::clone(&objects) as _).await;
    store.create("trip").await.unwrap();
    store.put("trip", &REPORT, 10).await.unwrap();
    (objects, store)
}

#[tokio::test(flavor = "current_thread")]
async fn keys_name_nobody_and_bytes_are_as_they_were_put() {
    let (objects, _store) = with_report().await;
    let keys = keys(&objects).await;
    assert!(keys.iter().all(|key| !key.contains("ada") && !key.contains("trip")), "{keys:?}");
    let data = keys.iter().find(|key| key.ends_with("/data")).unwrap();
    let bytes = objects.get(&Path::from(data.as_str())).await.unwrap().bytes().await.unwrap();
    assert_eq!(bytes, REPORT);
}

/// Changes each object in turn. No call may answer with something else, and the check says where.
#[tokio::test(flavor = "current_thread")]
async fn a_damaged_object_is_an_error_and_a_finding() {
    let (objects, _) = with_report().await;
    for key in keys(&objects).await {
        let key = Path::from(key);
        let before = objects.get(&key).await.unwrap().bytes().await.unwrap();
        if before.is_empty() {
            continue;
        }
        for at in [0, before.len() / 2, before.len() - 1] {
            let mut damaged = before.to_vec();
            damaged[at] ^= 0x20;
            objects.put(&key, damaged.into()).await.unwrap();
            let config = ObjectConfig::over(Arc::clone(&objects) as _, Durability::PowerLoss);
            let store = match ObjectBlobs::open(config.prefix("test/blobs")).await {
                Err(_) => continue,
                Ok(store) => BlobFixture(store),
            };
            for range in [0..u64::MAX, 2..6] {
                let expected = REPORT.slice(2..6);
                match store.read_range("trip", &REPORT, range.clone(), None).await {
                    Ok(read) => assert!(
                        read == Some(REPORT) || read == Some(expected),
                        "{key} {range:?}: {read:?}"
                    ),
                    Err(error) => assert_eq!(error.kind(), ErrorKind::Corrupt, "{key}"),
                }
            }
            if !key.to_string().ends_with("context-blobs") {
                assert_ne!(store.findings().await, Vec::<String>::new(), "{key} at {at}");
            }
        }
        objects.put(&key, before.into()).await.unwrap();
    }
}

#[tokio::test(flavor = "current_thread")]
async fn bytes_that_are_gone_are_an_error_and_a_finding() {
    let (objects, store) = with_report().await;
    let keys = keys(&objects).await;
    let data = keys.iter().find(|key| key.ends_with("/data")).unwrap();
    objects.delete(&Path::from(data.as_str())).await.unwrap();
    for range in [0..u64::MAX, 2..6, 3..3] {
        let error = store.read_range("trip", &REPORT, range, None).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
    }
    let findings = store.findings().await;
    assert!(findings.len() == 1 && findings[0].contains("gone"), "{findings:?}");
}

#[tokio::test(flavor = "current_thread")]
async fn a_store_of_another_program_or_a_newer_version_is_not_opened() {
    let objects = Arc::new(InMemory::new());
    let config =
        || ObjectConfig::over(Arc::clone(&objects) as _, Durability::PowerLoss).prefix("p");
    let missing = ObjectBlobs::open(config().create(false)).await.unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
    let missing = ObjectBlobs::open(config().read_only(true)).await.unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
    assert!(keys(&objects).await.is_empty());
    objects.put(&Path::from("p/photo.jpg"), "x".into()).await.unwrap();
    let foreign = ObjectBlobs::open(config()).await.unwrap_err();
    assert_eq!(foreign.kind(), ErrorKind::Invalid);
    objects.put(&Path::from("p/context-blobs"), r#"{"version":2}"#.into()).await.unwrap();
    let newer = ObjectBlobs::open(config()).await.unwrap_err();
    assert_eq!((newer.kind(), newer.get("version")), (ErrorKind::Unsupported, Some("2")));
}

#[tokio::test(flavor = "current_thread")]
async fn reading_changes_no_object_and_writing_is_refused() {
    let (objects, _) = with_report().await;
    let before = keys(&objects).await;
    let config = ObjectConfig::over(Arc::clone(&objects) as _, Durability::PowerLoss);
    let config = config.prefix("test/blobs").read_only(true);
    let store = BlobFixture(ObjectBlobs::open(config).await.unwrap());
    let read = store.read_range("trip", &REPORT, 2..6, Some(99)).await.unwrap();
    assert_eq!(read, Some(REPORT.slice(2..6)));
    assert_eq!(store.blob("trip", &REPORT).await.unwrap().unwrap().used_at, at(10));
    let prune = BlobPrune::new("ada", at(99));
    let refused = [
        store.create("other").await.map(drop),
        store.put("trip", &REPORT, 20).await.map(drop),
        store.remove("trip", &REPORT).await.map(drop),
        store.delete("trip").await.map(drop),
        store.vacuum().await,
        store.0.blobs().unwrap().prune_blobs(&prune).await.map(drop),
        store
            .0
            .maintenance()
            .unwrap()
            .erase_user(&"ada".into(), &CancelSignal::never())
            .await
            .map(drop),
    ];
    for refused in refused {
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Unsupported);
    }
    assert_eq!(keys(&objects).await, before);
}

/// A split store finds what a deletion that was cut short left by the metadata of a chat.
#[tokio::test(flavor = "current_thread")]
async fn chats_are_found_by_metadata_without_reading_all() {
    let objects = Arc::new(InMemory::new());
    let service = crate::fixture::FaultyService::over(&objects);
    let store = BlobFixture::over(Arc::clone(&service) as _).await;
    for i in 0..40 {
        store.create(&format!("chat-{i}")).await.unwrap();
    }
    let mut query = ChatQuery::new("ada");
    query.metadata = vec![("chat".to_owned(), "chat-7".into())];
    service.plan(crate::fixture::Fault::None);
    let page = store.0.history().list_chats(&query).await.unwrap();
    assert_eq!(page.items.len(), 1);
    assert_eq!(page.items[0].chat.chat, chat("chat-7"));
    assert_eq!(service.requests(), 2);
    query.metadata.clear();
    assert_eq!(store.0.history().list_chats(&query).await.unwrap().items.len(), 40);
}

#[tokio::test(flavor = "current_thread")]
async fn an_erased_user_leaves_no_object() {
    let (objects, store) = with_report().await;
    let maintenance = store.0.maintenance().unwrap();
    assert_eq!(maintenance.users(10, None).await.unwrap().items, ["ada"]);
    let erased = maintenance.erase_user(&"ada".into(), &CancelSignal::never()).await.unwrap();
    assert_eq!((erased.chats, erased.blobs, erased.remaining), (1, 1, 0));
    assert_eq!(keys(&objects).await, ["test/blobs/context-blobs"]);
}

/// A folder keeps no empty folders and no unfinished files.
#[tokio::test(flavor = "current_thread")]
async fn a_folder_is_left_as_it_was() {
    let place = tempfile::tempdir().unwrap();
    let store = BlobFixture(ObjectBlobs::open(ObjectConfig::folder(place.path())).await.unwrap());
    store.create("trip").await.unwrap();
    store.put("trip", &REPORT, 10).await.unwrap();
    // What a process leaves that dies while it writes a file, and while it creates a chat.
    let user = std::fs::read_dir(place.path().join("users")).unwrap().next().unwrap().unwrap();
    let tag = user.path().join("tags/0");
    std::fs::create_dir(&tag).unwrap();
    let unfinished = [user.path().join("data#1"), tag.join("0")];
    for path in &unfinished {
        std::fs::write(path, "half").unwrap();
    }
    store.vacuum().await.unwrap();
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(3 * 24 * 60 * 60);
    for path in &unfinished {
        // Somebody may still be at work with a new one.
        let file = std::fs::File::options().write(true).open(path).unwrap();
        file.set_modified(old).unwrap();
    }
    store.vacuum().await.unwrap();
    assert!(unfinished.iter().all(|path| !path.exists()));
    assert_eq!(store.read("trip", &REPORT).await.unwrap(), Some(REPORT));
    assert!(store.delete("trip").await.unwrap());
    let left: Vec<_> =
        std::fs::read_dir(place.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["context-blobs"]);
}
