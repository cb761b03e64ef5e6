//! Backups: the result is a complete store or no file.

use context_core::store::{ChainEnd, Window};
use context_core::{CancelSignal, ErrorKind, Store};
use context_store_sqlite::{SqliteConfig, SqliteStore};

use crate::lab::{Lab, many, says};

fn files(lab: &Lab) -> Vec<String> {
    let entries = std::fs::read_dir(lab.folder.path()).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_backup_is_a_store_of_its_moment() {
    let lab = Lab::new().await;
    let chat = lab.create("ada", "chat").await;
    lab.extend(&chat, "main", "", many("m", 100)).await;
    let end = ChainEnd::Branch("main".into());
    let then = lab.history().chain(&chat, &end, &Window::Whole).await.unwrap();
    let to = lab.folder.path().join("it's a copy.db");
    lab.maintenance().backup(&to).await.unwrap();
    lab.extend(&chat, "main", "m99", many("n", 5)).await;

    let copy = SqliteStore::open(SqliteConfig::new(&to).create(false)).await.unwrap();
    assert_eq!(copy.history().chain(&chat, &end, &Window::Whole).await.unwrap(), then);
    let report = copy.maintenance().unwrap().check(&CancelSignal::never()).await.unwrap();
    assert_eq!((report.findings.len(), report.messages), (0, 100));
    copy.close().await.unwrap();
    assert_eq!(files(&lab), ["it's a copy.db", "s.db", "s.db-shm", "s.db-wal"]);
}

#[tokio::test]
async fn nothing_is_overwritten_and_nothing_half_is_left() {
    let lab = Lab::new().await;
    lab.create("ada", "chat").await;
    let to = lab.folder.path().join("notes.txt");
    std::fs::write(&to, "notes").unwrap();
    let error = lab.maintenance().backup(&to).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert_eq!(std::fs::read_to_string(&to).unwrap(), "notes");
    let error = lab.maintenance().backup(&lab.path()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let error =
        lab.maintenance().backup(&lab.folder.path().join("no/folder.db")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    let error = lab.maintenance().backup(std::path::Path::new("/")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    // A backup that is dropped while it runs. It may also have ended already.
    let to = lab.folder.path().join("dropped.db");
    let mut backup = lab.maintenance().backup(&to);
    let polled = std::future::poll_fn(|context| {
        std::task::Poll::Ready(backup.as_mut().poll(context).is_pending())
    });
    assert!(polled.await, "a backup does not end at once");
    assert!(files(&lab).contains(&".dropped.db.partial0".to_owned()));
    drop(backup);
    assert_eq!(files(&lab), ["notes.txt", "s.db", "s.db-shm", "s.db-wal"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writers_go_on_while_a_backup_is_made() {
    let lab = Lab::new().await;
    let chat = lab.create("ada", "chat").await;
    lab.extend(&chat, "main", "", many("m", 5_000)).await;
    let to = lab.folder.path().join("copy.db");
    let write = async {
        let mut expected = "m4999".to_owned();
        for i in 0..200 {
            let id = format!("n{i}");
            lab.extend(&chat, "main", &expected, vec![says(id.as_str(), "x")]).await;
            expected = id;
        }
    };
    let (copied, ()) = tokio::join!(lab.maintenance().backup(&to), write);
    copied.unwrap();
    let copy = SqliteStore::open(SqliteConfig::new(&to).create(false)).await.unwrap();
    let report = copy.maintenance().unwrap().check(&CancelSignal::never()).await.unwrap();
    assert_eq!(report.findings, []);
    assert!((5_000..=5_200).contains(&report.messages), "{}", report.messages);
}
