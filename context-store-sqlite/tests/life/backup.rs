//! Backups: the result is a complete store or no file.

use context_core::store::{ChainEnd, Window};
use context_core::{CancelSignal, ErrorKind, Store};
use context_store_sqlite::{SqliteConfig, SqliteStore};

use crate::store_fixture::{StoreFixture, many, says};

fn files(fixture: &StoreFixture) -> Vec<String> {
    let entries = std::fs::read_dir(fixture.folder.path()).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_backup_is_a_store_of_its_moment() {
    let fixture = StoreFixture::new().await;
    let chat = fixture.create("ada", "chat").await;
    fixture.extend(&chat, "main", "", many("m", 100)).await;
    let end = ChainEnd::Branch("main".into());
    let then = fixture.history().chain(&chat, &end, &Window::Whole).await.unwrap();
    let to = fixture.folder.path().join("it's a copy.db");
    fixture.maintenance().backup(&to).await.unwrap();
    fixture.extend(&chat, "main", "m99", many("n", 5)).await;

    let copy = SqliteStore::open(SqliteConfig::new(&to).create(false)).await.unwrap();
    assert_eq!(copy.history().chain(&chat, &end, &Window::Whole).await.unwrap(), then);
    let report = copy.maintenance().unwrap().check(&CancelSignal::never()).await.unwrap();
    assert_eq!((report.findings.len(), report.messages), (0, 100));
    copy.close().await.unwrap();
    assert_eq!(files(&fixture), ["it's a copy.db", "s.db", "s.db-shm", "s.db-wal"]);
}

#[tokio::test]
async fn nothing_is_overwritten_and_nothing_half_is_left() {
    let fixture = StoreFixture::new().await;
    fixture.create("ada", "chat").await;
    let to = fixture.folder.path().join("notes.txt");
    std::fs::write(&to, "notes").unwrap();
    let error = fixture.maintenance().backup(&to).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert_eq!(std::fs::read_to_string(&to).unwrap(), "notes");
    let error = fixture.maintenance().backup(&fixture.path()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let error = fixture
        .maintenance()
        .backup(&fixture.folder.path().join("no/folder.db"))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    let error = fixture.maintenance().backup(std::path::Path::new("/")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    // A backup that is dropped while it runs. It may also have ended already.
    let to = fixture.folder.path().join("dropped.db");
    let mut backup = fixture.maintenance().backup(&to);
    let polled = std::future::poll_fn(|context| {
        std::task::Poll::Ready(backup.as_mut().poll(context).is_pending())
    });
    assert!(polled.await, "a backup does not end at once");
    assert!(files(&fixture).contains(&".dropped.db.partial0".to_owned()));
    drop(backup);
    assert_eq!(files(&fixture), ["notes.txt", "s.db", "s.db-shm", "s.db-wal"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writers_go_on_while_a_backup_is_made() {
    let fixture = StoreFixture::new().await;
    let chat = fixture.create("ada", "chat").await;
    fixture.extend(&chat, "main", "", many("m", 5_000)).await;
    let to = fixture.folder.path().join("copy.db");
    let write = async {
        let mut expected = "m4999".to_owned();
        for i in 0..200 {
            let id = format!("n{i}");
            fixture.extend(&chat, "main", &expected, vec![says(id.as_str(), "x")]).await;
            expected = id;
        }
    };
    let (copied, ()) = tokio::join!(fixture.maintenance().backup(&to), write);
    copied.unwrap();
    let copy = SqliteStore::open(SqliteConfig::new(&to).create(false)).await.unwrap();
    let report = copy.maintenance().unwrap().check(&CancelSignal::never()).await.unwrap();
    assert_eq!(report.findings, []);
    assert!((5_000..=5_200).contains(&report.messages), "{}", report.messages);
}
