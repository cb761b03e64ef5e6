//! The data that is readable without a key, and with one.

use std::sync::Arc;

use context_core::base::BlobId;
use context_core::store::{ChainEnd, Maintenance, Window};
use context_core::{CancelSignal, ErrorKind, Role, Store};
use context_store_layers::EncryptedStore;
use context_store_sqlite::{SqliteConfig, SqliteStore};

use crate::fixture::{chat, create, fragment, live, memory, over, ring, says, stay, text};

const MARKER: &str = "quetzalcoatlus";

fn files(folder: &std::path::Path) -> Vec<u8> {
    let files =
        std::fs::read_dir(folder).unwrap().map(|file| std::fs::read(file.unwrap().path()).unwrap());
    files.flatten().collect()
}

fn holds(bytes: &[u8], word: &str) -> bool {
    bytes.windows(word.len()).any(|window| window.eq_ignore_ascii_case(word.as_bytes()))
}

#[tokio::test]
async fn no_word_reaches_the_files() {
    for encrypted in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let inner = SqliteStore::open(SqliteConfig::new(folder.path().join("a.db"))).await.unwrap();
        let inner: Arc<dyn Store> = Arc::new(inner);
        let layered: Arc<dyn Store> = Arc::new(over(&inner, &["k1"]));
        let store = if encrypted { &layered } else { &inner };
        live(&**store, &chat("c"), MARKER).await;
        let mut commit = stay(&chat("c"));
        commit.redactions = vec![says("m1", Role::User, &format!("{MARKER} again"))];
        let _done = store.history().commit(commit).await.unwrap();
        assert_eq!(text(&**store, &chat("c"), "m1").await.unwrap(), format!("{MARKER} again"));
        let bytes = files(folder.path());
        // Without the layer the marker is in the files, so the search is able to find it.
        assert_eq!(holds(&bytes, MARKER), !encrypted);
        // This data stays readable on purpose.
        assert!(holds(&bytes, "usage") && holds(&bytes, "main"));
    }
}

#[tokio::test]
async fn all_of_a_life_comes_back() {
    let (plain, inner) = (memory(), memory());
    let layered = over(&inner, &["k1"]);
    let layered: &dyn Store = &layered;
    for store in [&*plain, layered] {
        live(store, &chat("c"), MARKER).await;
    }
    let (a, b, chat) = (plain.history(), layered.history(), chat("c"));
    assert_eq!(a.chat(&chat).await.unwrap(), b.chat(&chat).await.unwrap());
    let branch = ChainEnd::Branch("main".into());
    for window in [Window::Whole, Window::Tokens(20), Window::Last(1)] {
        let (one, other) =
            (a.chain(&chat, &branch, &window).await, b.chain(&chat, &branch, &window).await);
        assert!(one.unwrap().iter().eq(other.unwrap().iter()), "{window:?}");
    }
    assert_eq!(
        a.revisions(&chat, &"m2".into()).await.unwrap(),
        b.revisions(&chat, &"m2".into()).await.unwrap()
    );
    assert_eq!(
        plain.fragments().fragments(&chat).await.unwrap(),
        layered.fragments().fragments(&chat).await.unwrap()
    );
    let (one, other) = (plain.blobs().unwrap(), layered.blobs().unwrap());
    assert_eq!(
        one.blobs(&chat, 10, None).await.unwrap(),
        other.blobs(&chat, 10, None).await.unwrap()
    );
    let id = BlobId::of(MARKER.repeat(9000).as_bytes());
    for range in [0..u64::MAX, 65_530..65_540, 100_000..100_000] {
        let read = async |blobs: &dyn context_core::store::BlobStore| {
            blobs.read_blob(&chat, &id, range.clone(), None).await.unwrap()
        };
        assert_eq!(read(one).await, read(other).await);
    }
    if let (Some(one), Some(other)) = (plain.streams(), layered.streams()) {
        let read = async |streams: &dyn context_core::store::StreamStore| {
            streams.read_stream(&chat, &"s".into(), 0, 10).await.unwrap()
        };
        assert_eq!(read(one).await, read(other).await);
    }
    let report = layered.maintenance().unwrap().check(&CancelSignal::never()).await.unwrap();
    assert_eq!(report.findings, []);
}

#[tokio::test]
async fn it_says_what_it_is() {
    let inner = memory();
    let store = over(&inner, &["k2", "k1"]);
    assert!(store.info().encrypted && !inner.info().encrypted);
    assert!(store.search().is_none() && inner.search().is_some());
    assert_eq!(store.streams().is_some(), inner.streams().is_some());
    let shown = format!("{store:?}");
    assert!(shown.contains(r#"current: "k2", older: ["k1"]"#), "{shown}");
}

#[tokio::test]
async fn text_without_encryption_is_refused_unless_allowed() {
    let inner = memory();
    live(&*inner, &chat("old"), MARKER).await;
    let store = over(&inner, &["k1"]);
    let refused = text(&store, &chat("old"), "m1").await.unwrap_err();
    assert_eq!((refused.kind(), refused.get("message")), (ErrorKind::Corrupt, Some("m1")));
    assert_eq!(store.history().chat(&chat("old")).await.unwrap_err().kind(), ErrorKind::Corrupt);
    assert_eq!(
        store.fragments().fragments(&chat("old")).await.unwrap_err().kind(),
        ErrorKind::Corrupt
    );
    let blobs = store.blobs().unwrap();
    assert_eq!(blobs.blobs(&chat("old"), 10, None).await.unwrap_err().kind(), ErrorKind::Corrupt);
    let store = EncryptedStore::new(inner.clone(), ring(&["k1"])).allow_plain(true);
    assert_eq!(text(&store, &chat("old"), "m1").await.unwrap(), MARKER);
    let seen = store.history().chat(&chat("old")).await.unwrap();
    assert_eq!(seen, inner.history().chat(&chat("old")).await.unwrap());
    assert_eq!(store.fragments().fragments(&chat("old")).await.unwrap()[1], fragment(None, MARKER));
    let id = BlobId::of(MARKER.as_bytes());
    let whole = store.blobs().unwrap().read_blob(&chat("old"), &id, 0..99, None).await.unwrap();
    assert_eq!(whole.unwrap(), MARKER);
}

#[tokio::test]
async fn the_store_beneath_says_nothing_of_bodies() {
    let inner = memory();
    let store = over(&inner, &["k1"]);
    create(&store, &chat("c")).await;
    live(&store, &chat("d"), MARKER).await;
    // A check of the inner store has no key, and reports no damage.
    let report = inner.maintenance().unwrap().check(&CancelSignal::never()).await.unwrap();
    assert_eq!(report.findings, []);
    let users = inner.maintenance().unwrap().users(10, None).await.unwrap();
    assert_eq!(users.items, ["ada"]);
    fn is_maintenance(_: &dyn Maintenance) {}
    is_maintenance(store.maintenance().unwrap());
}
