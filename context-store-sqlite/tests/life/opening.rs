//! Recognizing files, opening read-only, and closing: what remains on the disk.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use context_core::store::{ChatQuery, NewChat};
use context_core::{CancelSignal, ChatRef, ErrorKind, Result, Retry, Store, Timestamp};
use context_store_sqlite::{SqliteConfig, SqliteStore};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode};
use sqlx::{ConnectOptions, Connection, Row};

use crate::store_fixture::{apply, extend, many};

/// Returns every file of a folder with its bytes.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files
        .filter(|path| path.is_file())
        .map(|path| (path.clone(), std::fs::read(path).unwrap()))
        .collect()
}

fn names(folder: &Path) -> Vec<String> {
    let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    contents(folder).keys().map(name).collect()
}

async fn to_write(path: &Path) -> Result<SqliteStore> {
    SqliteStore::open(SqliteConfig::new(path)).await
}

async fn to_read(path: &Path) -> Result<SqliteStore> {
    SqliteStore::open(SqliteConfig::new(path).read_only(true)).await
}

fn trip() -> ChatRef {
    ChatRef::new("ada", "trip")
}

async fn begin(store: &SqliteStore) {
    let new = NewChat::new(trip(), Timestamp::from_micros(1));
    let _ = store.history().create_chat(new).await.unwrap();
    apply(store.history(), extend(&trip(), "main", "", many("m", 5))).await;
}

async fn messages(store: &SqliteStore) -> usize {
    store.history().all_messages(&trip(), 100, None).await.unwrap().items.len()
}

async fn foreign(
    path: &Path,
    mode: SqliteJournalMode,
    statements: &[&'static str],
) -> SqliteConnection {
    let options =
        SqliteConnectOptions::new().filename(path).create_if_missing(true).journal_mode(mode);
    let mut connection = options.connect().await.unwrap();
    for statement in statements {
        sqlx::query(*statement).execute(&mut connection).await.unwrap();
    }
    connection
}

/// Opens a file in both modes and returns the error, which must be the same. Nothing in its folder
/// may change.
async fn refused(path: &Path, in_use: bool) -> String {
    let folder = path.parent().unwrap();
    // Two connections of one process share one mapping of the index, in which readers record their
    // positions.
    let contents = |folder: &Path| {
        let mut all = contents(folder);
        if in_use {
            all.retain(|path, _| path.extension().is_none_or(|ending| ending != "db-shm"));
        }
        all
    };
    let before = contents(folder);
    let mut said = Vec::new();
    for error in [to_write(path).await.unwrap_err(), to_read(path).await.unwrap_err()] {
        assert_eq!(
            (error.kind(), error.retry()),
            (ErrorKind::Unsupported, Retry::Never),
            "{error}"
        );
        assert_eq!(error.get("path"), path.to_str(), "{error}");
        said.push(error.message().to_owned());
    }
    assert!(contents(folder) == before, "{} was changed: {:?}", path.display(), names(folder));
    assert_eq!(said[0], said[1]);
    said.remove(0)
}

const NOTES: [&str; 2] = ["CREATE TABLE chat (id TEXT)", "INSERT INTO chat VALUES ('mine')"];
const APPLICATION: &str = "this is a SQLite database of another application: it is left as it is";

#[tokio::test]
async fn files_of_others_are_refused_and_left_byte_for_byte() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    for (bytes, expected) in [
        (&b""[..], "this is an empty file, not a store: remove it, or name another file"),
        (b"{\"role\": \"user\"}\n", "this is a text file, not a store: it is left as it is"),
        (
            &[7; 5000],
            "this is not a SQLite database: encrypted, damaged, or of another program; it is left as it is",
        ),
    ] {
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(refused(&path, false).await, expected);
    }
    for (name, mode, extra) in [
        ("rollback.db", SqliteJournalMode::Delete, "SELECT 1"),
        ("wal.db", SqliteJournalMode::Wal, "SELECT 1"),
        ("labelled.db", SqliteJournalMode::Delete, "PRAGMA application_id = 77"),
        (
            "other_sqlx.db",
            SqliteJournalMode::Delete,
            "CREATE TABLE context_migrations (version INTEGER)",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        let connection = foreign(&path, mode, &[NOTES[0], NOTES[1], extra]).await;
        // First while the file is open and has a log, then after it was closed.
        assert_eq!(refused(&path, true).await, APPLICATION, "{name}");
        connection.close().await.unwrap();
        assert_eq!(refused(&path, false).await, APPLICATION, "{name}");
    }
}

/// The log of a killed process.
#[tokio::test]
async fn the_log_of_somebody_elses_database_is_left_too() {
    let (folder, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = folder.path().join("x.db");
    let connection = foreign(&path, SqliteJournalMode::Wal, &NOTES).await;
    for (name, endings) in [("a.db", &["", "-wal"][..]), ("b.db", &["", "-wal", "-shm"])] {
        for ending in endings {
            let from = folder.path().join(format!("x.db{ending}"));
            std::fs::copy(from, copy.path().join(format!("{name}{ending}"))).unwrap();
        }
        assert_eq!(refused(&copy.path().join(name), false).await, APPLICATION, "{name}");
    }
    connection.close().await.unwrap();
}

#[tokio::test]
async fn what_is_not_there_is_not_made_to_be_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "text").unwrap();
    let missing = "there is no file of this name";
    for (name, read, written) in [
        ("x.db", (ErrorKind::NotFound, missing), None),
        (
            "sub/x.db",
            (ErrorKind::NotFound, "the folder of the file does not exist: create it first"),
            Some((ErrorKind::NotFound, "the folder of the file does not exist: create it first")),
        ),
        (
            "file/x.db",
            (ErrorKind::Invalid, "a part of the path is a file, not a folder"),
            Some((ErrorKind::Invalid, "a part of the path is a file, not a folder")),
        ),
        (
            ".",
            (ErrorKind::Invalid, "this is a folder: name a file in it"),
            Some((ErrorKind::Invalid, "this is a folder: name a file in it")),
        ),
    ] {
        let path = folder.path().join(name);
        let before = contents(folder.path());
        let error = to_read(&path).await.unwrap_err();
        assert_eq!((error.kind(), error.message(), error.retry()), (read.0, read.1, Retry::Never));
        if let Some(written) = written {
            let error = to_write(&path).await.unwrap_err();
            assert_eq!(
                (error.kind(), error.message(), error.retry()),
                (written.0, written.1, Retry::Never)
            );
        }
        assert_eq!(contents(folder.path()), before);
    }
    let config = SqliteConfig::new(folder.path().join("x.db")).create(false);
    let error = SqliteStore::open(config).await.unwrap_err();
    assert_eq!((error.kind(), error.message()), (ErrorKind::NotFound, missing));
    assert_eq!(names(folder.path()), ["file"]);
}

#[tokio::test]
async fn a_closed_store_is_one_file_and_says_that_it_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    let store = to_write(&path).await.unwrap();
    begin(&store).await;
    assert_eq!(messages(&store).await, 5);
    store.close().await.unwrap();
    assert_eq!(names(folder.path()), ["x.db"]);
    store.close().await.unwrap();
    let new = NewChat::new(ChatRef::new("ada", "late"), Timestamp::from_micros(1));
    let listed = store.history().list_chats(&ChatQuery::new("ada")).await.unwrap_err();
    let written = store.history().create_chat(new).await.unwrap_err();
    let commit =
        store.history().commit(extend(&trip(), "main", "m4", many("n", 1))).await.unwrap_err();
    let vacuumed = store.maintenance().unwrap().vacuum().await.unwrap_err();
    let copied =
        store.maintenance().unwrap().backup(&folder.path().join("copy")).await.unwrap_err();
    for error in [listed, written, commit, vacuumed, copied] {
        assert_eq!(
            (error.kind(), error.retry()),
            (ErrorKind::Unavailable, Retry::Never),
            "{error}"
        );
        assert_eq!(error.message(), "the store was closed");
    }
    assert_eq!(names(folder.path()), ["x.db"]);
}

#[tokio::test]
async fn looking_leaves_a_store_as_it_is_and_writes_nothing() {
    let (folder, copies) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = folder.path().join("x.db");
    let store = to_write(&path).await.unwrap();
    begin(&store).await;
    store.close().await.unwrap();
    let before = contents(folder.path());
    let looking = to_read(&path).await.unwrap();
    assert_eq!(messages(&looking).await, 5);
    let report = looking.maintenance().unwrap().check(&CancelSignal::never()).await.unwrap();
    assert_eq!(report.findings, []);
    let copy = copies.path().join("copy.db");
    looking.maintenance().unwrap().backup(&copy).await.unwrap();
    let error =
        looking.history().commit(extend(&trip(), "main", "m4", many("n", 1))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let vacuumed = looking.maintenance().unwrap().vacuum().await.unwrap_err();
    let erased =
        looking.maintenance().unwrap().erase_user(&"ada".into(), &CancelSignal::never()).await;
    for error in [error, vacuumed, erased.unwrap_err()] {
        assert_eq!(error.message(), "the store was opened only to read", "{error}");
    }
    assert!(contents(folder.path()) == before, "{:?}", names(folder.path()));
    looking.close().await.unwrap();
    assert!(contents(folder.path()) == before);
    assert_eq!(messages(&to_read(&copy).await.unwrap()).await, 5);
}

#[tokio::test]
async fn one_who_looks_sees_what_others_write_and_does_not_stand_in_their_way() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    let store = to_write(&path).await.unwrap();
    begin(&store).await;
    store.close().await.unwrap();
    // Opened while nobody writes, then beside a writer, then alone again.
    let looking = to_read(&path).await.unwrap();
    assert_eq!(messages(&looking).await, 5);
    let store = to_write(&path).await.unwrap();
    apply(store.history(), extend(&trip(), "main", "m4", many("n", 20))).await;
    assert_eq!(messages(&looking).await, 25);
    apply(store.history(), extend(&trip(), "main", "n19", many("o", 20))).await;
    assert_eq!(messages(&looking).await, 45);
    let another = to_read(&path).await.unwrap();
    assert_eq!(messages(&another).await, 45);
    another.close().await.unwrap();
    looking.close().await.unwrap();
    store.close().await.unwrap();
    let looking = to_read(&path).await.unwrap();
    assert_eq!(messages(&looking).await, 45);
    let store = to_write(&path).await.unwrap();
    apply(store.history(), extend(&trip(), "main", "o19", many("p", 20))).await;
    store.close().await.unwrap();
    assert_eq!(messages(&looking).await, 65);
    looking.close().await.unwrap();
    assert_eq!(names(folder.path()), ["x.db"]);
}

/// A log that a killed process left, with its index and without.
#[tokio::test]
async fn a_log_that_was_left_is_read_and_left() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    let store = to_write(&path).await.unwrap();
    store.close().await.unwrap();
    let store = to_write(&path).await.unwrap();
    begin(&store).await;
    for endings in [&["", "-wal"][..], &["", "-wal", "-shm"]] {
        let copies = tempfile::tempdir().unwrap();
        for ending in endings {
            let name = format!("x.db{ending}");
            std::fs::copy(folder.path().join(&name), copies.path().join(&name)).unwrap();
        }
        let before = contents(copies.path());
        let copy = copies.path().join("x.db");
        let looking = to_read(&copy).await.unwrap();
        assert_eq!(messages(&looking).await, 5, "{endings:?}");
        looking.maintenance().unwrap().backup(&folder.path().join("copy.db")).await.unwrap();
        std::fs::remove_file(folder.path().join("copy.db")).unwrap();
        looking.close().await.unwrap();
        assert!(contents(copies.path()) == before, "{endings:?}: {:?}", names(copies.path()));
        // The next writer moves the log into the file.
        let writing = to_write(&copy).await.unwrap();
        assert_eq!(messages(&writing).await, 5);
        writing.close().await.unwrap();
        assert_eq!(names(copies.path()), ["x.db"]);
    }
    store.close().await.unwrap();
}

/// A process has one index per log, and a handle that opens it for reading prevents writing.
/// Regression: the writer was opened but could not commit.
#[tokio::test]
async fn a_writer_beside_one_who_reads_a_log_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    let store = to_write(&path).await.unwrap();
    begin(&store).await;
    let copies = tempfile::tempdir().unwrap();
    for name in names(folder.path()) {
        std::fs::copy(folder.path().join(&name), copies.path().join(&name)).unwrap();
    }
    store.close().await.unwrap();
    let copy = copies.path().join("x.db");
    let looking = to_read(&copy).await.unwrap();
    assert_eq!(messages(&looking).await, 5);
    let error = to_write(&copy).await.unwrap_err();
    assert_eq!((error.kind(), error.retry()), (ErrorKind::Unavailable, Retry::Never));
    assert!(
        error.message().contains("close the handles of this process that are open to read"),
        "{error}"
    );
    assert_eq!(messages(&looking).await, 5);
    looking.close().await.unwrap();
    let writing = to_write(&copy).await.unwrap();
    apply(writing.history(), extend(&trip(), "main", "m4", many("n", 20))).await;
    let looking = to_read(&copy).await.unwrap();
    assert_eq!(messages(&looking).await, 25);
    looking.close().await.unwrap();
    writing.close().await.unwrap();
    assert_eq!(names(copies.path()), ["x.db"]);
}

/// A writer that is killed between the header of the log and its first frame leaves a log of 32
/// bytes, and a power loss leaves a header of zeros. If no process is running, SQLite reads
/// neither: it looks for ten seconds for a writer that could have changed the log, and then reports
/// a locking protocol error.
#[tokio::test]
async fn a_log_without_frames_is_read_as_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    let store = to_write(&path).await.unwrap();
    begin(&store).await;
    store.close().await.unwrap();
    let store = to_write(&path).await.unwrap();
    apply(store.history(), extend(&trip(), "main", "m4", many("n", 20))).await;
    let [file, log, index] = ["x.db", "x.db-wal", "x.db-shm"]
        .map(|name| std::fs::read(folder.path().join(name)).unwrap());
    let zeros = [&[0; 32], &log[32..]].concat();
    for (log, said) in
        [(&log[..32], "header"), (&zeros, "zeros"), (&log[..31], "torn"), (&log[..0], "empty")]
    {
        for index in [Some(&index), None] {
            let copies = tempfile::tempdir().unwrap();
            let copy = copies.path().join("x.db");
            std::fs::write(&copy, &file).unwrap();
            std::fs::write(copies.path().join("x.db-wal"), log).unwrap();
            if let Some(index) = index {
                std::fs::write(copies.path().join("x.db-shm"), index).unwrap();
            }
            let before = contents(copies.path());
            let looking = to_read(&copy).await.unwrap();
            assert_eq!(messages(&looking).await, 5, "{said}");
            let report =
                looking.maintenance().unwrap().check(&CancelSignal::never()).await.unwrap();
            assert_eq!(report.findings, [], "{said}");
            assert!(contents(copies.path()) == before, "{said}: {:?}", names(copies.path()));
            // A concurrent writer's messages are seen.
            let writing = to_write(&copy).await.unwrap();
            apply(writing.history(), extend(&trip(), "main", "m4", many("n", 20))).await;
            assert_eq!(messages(&looking).await, 25, "{said}");
            looking.close().await.unwrap();
            writing.close().await.unwrap();
            assert_eq!(names(copies.path()), ["x.db"]);
        }
    }
    store.close().await.unwrap();
}

#[tokio::test]
async fn an_older_file_is_ours_and_gets_the_id_when_it_is_opened_to_write() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    std::fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/old/v6.db"), &path).unwrap();
    let before = contents(folder.path());
    let error = to_read(&path).await.unwrap_err();
    assert_eq!((error.kind(), error.get("older_schema")), (ErrorKind::Unsupported, Some("6")));
    assert!(error.message().contains("context upgrade"), "{error}");
    assert!(contents(folder.path()) == before);
    to_write(&path).await.unwrap().close().await.unwrap();
    let id = application_id(&path).await;
    assert_eq!(id, i64::from(u32::from_be_bytes(*b"ctxl")));
    let looking = to_read(&path).await.unwrap();
    assert_eq!(looking.history().list_chats(&ChatQuery::new("ada")).await.unwrap().items.len(), 2);
}

/// A file of the newest version before the id was introduced.
#[tokio::test]
async fn a_file_without_the_id_is_read_as_it_is_and_gets_it_when_it_is_opened_to_write() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    let store = to_write(&path).await.unwrap();
    begin(&store).await;
    store.close().await.unwrap();
    assert_eq!(application_id(&path).await, 0x6374_786c);
    foreign(&path, SqliteJournalMode::Wal, &["PRAGMA application_id = 0"])
        .await
        .close()
        .await
        .unwrap();
    let looking = to_read(&path).await.unwrap();
    assert_eq!(messages(&looking).await, 5);
    looking.close().await.unwrap();
    assert_eq!(application_id(&path).await, 0);
    to_write(&path).await.unwrap().close().await.unwrap();
    assert_eq!(application_id(&path).await, 0x6374_786c);
}

/// Regression: such a file was opened through the log and its index, and the reading connection
/// could still be open when the writer came. A process has one index per log, and an index that was
/// opened for reading is not written.
#[tokio::test]
async fn a_file_without_the_id_is_written_beside_a_log_that_was_left() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    let store = to_write(&path).await.unwrap();
    begin(&store).await;
    store.close().await.unwrap();
    foreign(&path, SqliteJournalMode::Wal, &["PRAGMA application_id = 0"])
        .await
        .close()
        .await
        .unwrap();
    let store = to_write(&path).await.unwrap();
    apply(store.history(), extend(&trip(), "main", "m4", many("n", 20))).await;
    for _ in 0..20 {
        let copies = tempfile::tempdir().unwrap();
        for name in names(folder.path()) {
            std::fs::copy(folder.path().join(&name), copies.path().join(&name)).unwrap();
        }
        let copy = to_write(&copies.path().join("x.db")).await.unwrap();
        assert_eq!(messages(&copy).await, 25);
        apply(copy.history(), extend(&trip(), "main", "n19", many("o", 5))).await;
        copy.close().await.unwrap();
    }
    store.close().await.unwrap();
}

async fn application_id(path: &Path) -> i64 {
    let options = SqliteConnectOptions::new().filename(path).read_only(true).immutable(true);
    let mut connection = options.connect().await.unwrap();
    let id = sqlx::query("PRAGMA application_id").fetch_one(&mut connection).await.unwrap().get(0);
    connection.close().await.unwrap();
    id
}

/// An incomplete file is never seen, and nothing of it remains.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_new_file_may_be_made_by_many_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    let opened: Vec<_> = (0..8)
        .map(|_| {
            let path = path.clone();
            tokio::spawn(async move { to_write(&path).await })
        })
        .collect();
    for store in opened {
        let store = store.await.unwrap().unwrap();
        assert!(store.history().list_chats(&ChatQuery::new("ada")).await.unwrap().items.is_empty());
        store.close().await.unwrap();
    }
    assert_eq!(names(folder.path()), ["x.db"]);
}
