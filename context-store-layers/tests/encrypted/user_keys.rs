//! A key for each user: erasing a user makes earlier copies of the rows unreadable.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use context_core::store::Maintenance;
use context_core::trajectory::AgentRef;
use context_core::{CancelSignal, ChatRef, ErrorKind, Store, UserId};
use context_store_layers::{EncryptedStore, KeyError, UserKeyFile, UserKeys};
use context_store_sqlite::{SqliteConfig, SqliteStore};

use crate::fixture::{live, memory, ring, text};

fn maintenance(store: &EncryptedStore) -> &dyn Maintenance {
    store.maintenance().unwrap()
}

async fn open(file: &Path, keys: &Arc<UserKeyFile>) -> EncryptedStore {
    let inner = SqliteStore::open(SqliteConfig::new(file)).await.unwrap();
    EncryptedStore::per_user(Arc::new(inner), Arc::clone(keys) as Arc<dyn UserKeys>)
}

fn keys(folder: &Path, master: &[&str]) -> Arc<UserKeyFile> {
    Arc::new(UserKeyFile::open(folder.join("users.keys"), ring(master)).unwrap())
}

/// The story of a backup: it was made before the user asked to be erased, and nobody can change it.
#[tokio::test]
async fn a_copy_of_the_rows_from_before_an_erasure_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let (file, copy) = (folder.path().join("a.db"), folder.path().join("backup.db"));
    let (ada, bob) = (ChatRef::new("ada", "trip"), ChatRef::new("bob", "trip"));
    let shared = keys(folder.path(), &["master"]);
    let store = open(&file, &shared).await;
    live(&store, &ada, "quetzalcoatlus").await;
    live(&store, &bob, "pterodactylus").await;
    maintenance(&store).backup(&copy).await.unwrap();
    let (user, never) = (UserId::from("ada"), CancelSignal::never());
    let erasure = maintenance(&store).erase_user(&user, &never).await.unwrap();
    assert_eq!(erasure.remaining, 0);
    store.close().await.unwrap();

    // Another process, which has the master key and the file of keys as it is after the erasure.
    let store = open(&copy, &keys(folder.path(), &["master"])).await;
    let error = text(&store, &ada, "m1").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    for (call, error) in [
        ("chat", store.history().chat(&ada).await.err()),
        ("fragments", store.fragments().fragments(&ada).await.err()),
        ("blobs", store.blobs().unwrap().blobs(&ada, 10, None).await.err()),
        ("stream", store.streams().unwrap().read_stream(&ada, &"s".into(), 0, 9).await.err()),
        ("revisions", store.history().revisions(&ada, &"m2".into()).await.err()),
    ] {
        assert_eq!(error.map(|error| error.kind()), Some(ErrorKind::Unsupported), "{call}");
    }
    assert_eq!(text(&store, &bob, "m1").await.unwrap(), "pterodactylus");
    let found = store.check_user(&"bob".into(), &CancelSignal::never()).await.unwrap();
    assert_eq!(found, []);
    let found = store.check_user(&"ada".into(), &CancelSignal::never()).await.unwrap();
    assert!(!found.is_empty());
    store.close().await.unwrap();
    // The rows are there: what is missing is the key.
    let inner = SqliteStore::open(SqliteConfig::new(&copy)).await.unwrap();
    assert!(inner.history().chat(&ada).await.unwrap().is_some());
}

#[tokio::test]
async fn a_user_who_comes_back_has_another_key_and_reads_nothing_old() {
    let folder = tempfile::tempdir().unwrap();
    let keys = keys(folder.path(), &["master"]);
    let ada = UserId::from("ada");
    let first = *keys.make_keys(&ada).unwrap().current().id();
    assert!(keys.drop_keys(&ada).unwrap() && !keys.drop_keys(&ada).unwrap());
    assert!(keys.keys_of(&ada).unwrap().is_none());
    assert_ne!(*keys.make_keys(&ada).unwrap().current().id(), first);
}

#[tokio::test]
async fn no_key_stands_in_the_file_and_only_its_owner_reads_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("users.keys");
    let shared = keys(folder.path(), &["master"]);
    let inner = memory();
    let store =
        EncryptedStore::per_user(Arc::clone(&inner), Arc::clone(&shared) as Arc<dyn UserKeys>);
    live(&store, &ChatRef::new("ada", "c"), "quetzalcoatlus").await;
    let before = fs::read_to_string(&path).unwrap();
    assert!(before.contains("\"ada\""), "{before}");
    // Without the master key the file is of no use.
    let other = keys(folder.path(), &["other"]);
    let error = other.keys_of(&"ada".into()).unwrap_err();
    assert!(matches!(error, KeyError::Master(_)), "{error}");
    let error = EncryptedStore::per_user(inner, other as Arc<dyn UserKeys>);
    let error = text(&error, &ChatRef::new("ada", "c"), "m1").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    // The older master key is discarded after all keys were encrypted with the new one.
    let ada = UserId::from("ada");
    let made = shared.keys_of(&ada).unwrap().unwrap();
    assert_eq!(keys(folder.path(), &["next", "master"]).rewrap().unwrap(), 1);
    let next = keys(folder.path(), &["next"]);
    assert_eq!(next.keys_of(&ada).unwrap().unwrap().current().id(), made.current().id());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
        let opened = UserKeyFile::open(&path, ring(&["next"]));
        assert!(matches!(opened, Err(KeyError::Permissions(0o644))), "{opened:?}");
    }
}

#[tokio::test]
async fn a_damaged_file_of_keys_is_refused_and_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("users.keys");
    let shared = keys(folder.path(), &["master"]);
    let _ring = shared.make_keys(&"ada".into()).unwrap();
    let sound = fs::read_to_string(&path).unwrap();
    for (damaged, what) in [
        (sound.replace("context user", "something"), "the first line"),
        (sound.replacen("ada", "bob", 1), "the key of another user"),
        (sound.replace('"', ""), "a name"),
    ] {
        fs::write(&path, &damaged).unwrap();
        let opened = UserKeyFile::open(&path, ring(&["master"]));
        let made = opened.and_then(|keys| {
            let users = ["ada", "bob"].map(UserId::from);
            users.iter().try_for_each(|user| keys.keys_of(user).map(drop))
        });
        assert!(made.is_err(), "{what}");
        assert_eq!(fs::read_to_string(&path).unwrap(), damaged, "{what}");
    }
}

#[tokio::test]
async fn reading_makes_no_key_and_two_processes_agree_on_one() {
    let folder = tempfile::tempdir().unwrap();
    let (one, other) = (keys(folder.path(), &["master"]), keys(folder.path(), &["master"]));
    let store = EncryptedStore::per_user(memory(), Arc::clone(&one) as Arc<dyn UserKeys>);
    let agent = AgentRef::main("ada", "monday");
    assert!(store.history().chat(&ChatRef::new("ada", "c")).await.unwrap().is_none());
    assert_eq!(store.trajectories().unwrap().load_rounds(&agent, 0..=3).await.unwrap(), []);
    assert!(!folder.path().join("users.keys").exists());
    let made = one.make_keys(&"ada".into()).unwrap();
    assert_eq!(other.make_keys(&"ada".into()).unwrap().current().id(), made.current().id());
}

/// The story of a worker that runs on while an operator erases a user elsewhere: with the key in
/// its memory it wrote records that no later process could read.
#[tokio::test]
async fn no_process_goes_on_with_a_key_that_was_dropped_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let (worker, operator) = (keys(folder.path(), &["master"]), keys(folder.path(), &["master"]));
    let (ada, chat) = (UserId::from("ada"), ChatRef::new("ada", "trip"));
    let inner = memory();
    let store =
        EncryptedStore::per_user(Arc::clone(&inner), Arc::clone(&worker) as Arc<dyn UserKeys>);
    let first = *worker.make_keys(&ada).unwrap().current().id();
    assert_eq!(*worker.keys_of(&ada).unwrap().unwrap().current().id(), first);
    assert!(operator.drop_keys(&ada).unwrap());
    assert!(worker.keys_of(&ada).unwrap().is_none());
    live(&store, &chat, "quetzalcoatlus").await;
    let later = keys(folder.path(), &["master"]);
    let later = EncryptedStore::per_user(inner, later as Arc<dyn UserKeys>);
    assert_eq!(text(&later, &chat, "m1").await.unwrap(), "quetzalcoatlus");
}
