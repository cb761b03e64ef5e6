//! Stores by URL: what can be opened, the errors otherwise, and what errors never contain.

use context_runtime::{
    ChatRef, ErrorKind, Timestamp, open, open_read_only,
    store::{NewChat, OpenMode, StoreRegistry},
};

#[tokio::test]
async fn a_url_that_cannot_be_opened_says_why() {
    for (url, kind) in [
        ("context.db", ErrorKind::Invalid),
        ("mysql://host", ErrorKind::Unsupported),
        ("", ErrorKind::Invalid),
    ] {
        let error = open(url).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{url}");
        assert!(error.get("known").unwrap().contains("mem"));
    }
    let known: Vec<_> = StoreRegistry::default().schemes().map(str::to_owned).collect();
    for (scheme, feature, is_on) in [
        ("sqlite", "sqlite", cfg!(feature = "sqlite")),
        ("postgres", "postgres", cfg!(feature = "postgres")),
        ("postgresql", "postgres", cfg!(feature = "postgres")),
        ("redis", "redis", cfg!(feature = "redis")),
        ("rediss", "redis, tls", cfg!(all(feature = "redis", feature = "tls"))),
        ("redis+cluster", "redis-cluster", cfg!(feature = "redis-cluster")),
        (
            "rediss+cluster",
            "redis-cluster, tls",
            cfg!(all(feature = "redis-cluster", feature = "tls")),
        ),
    ] {
        assert_eq!(known.iter().any(|known| known == scheme), is_on, "{scheme}");
        if !is_on {
            let error = open(&format!("{scheme}://host/x")).await.unwrap_err();
            assert_eq!(
                (error.kind(), error.get("feature")),
                (ErrorKind::Unsupported, Some(feature))
            );
        }
    }
}

/// No server listens there, or the URL is invalid. In either case the error does not contain the
/// password.
#[tokio::test]
async fn an_error_never_repeats_a_password() {
    let urls = [
        "postgres://ada:hunter2@127.0.0.1:1/db?connect_timeout_ms=500",
        "postgres://ada:hunter2@127.0.0.1:1/db?sslmode=maybe",
        "postgresql://ada:hunter2@127.0.0.1:port/db",
        "redis://ada:hunter2@127.0.0.1:1/0?connection_timeout_ms=500",
        "redis://ada:hunter2@127.0.0.1:port",
        "rediss://ada:hunter2@127.0.0.1:1/x",
        "redis+cluster://ada:hunter2@127.0.0.1:1,127.0.0.1:2?connection_timeout_ms=500",
        "nothing://ada:hunter2@127.0.0.1",
        "ada hunter2",
        "mem:hunter2",
        "mem:?key=hunter2",
        "sqlite:ada:hunter2@host/x.db",
        "sqlite://ada:hunter2@host/x.db",
        "sqlite:x.db?key=hunter2",
        "sqlite:x.db?hunter2",
    ];
    for url in urls {
        let error = open(url).await.unwrap_err();
        let mut said = format!("{error} {error:?} {:?}", error.context().collect::<Vec<_>>());
        let mut cause = std::error::Error::source(&error);
        while let Some(error) = cause {
            said = format!("{said} {error} {error:?}");
            cause = error.source();
        }
        assert!(!said.contains("hunter2"), "{said}");
    }
}

#[cfg(feature = "sqlite")]
#[tokio::test]
async fn what_is_opened_to_look_at_is_neither_made_nor_written() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("x.db").display());
    let registry = StoreRegistry::default();
    for mode in [OpenMode::Read, OpenMode::Write] {
        let error = registry.open_with(&url, mode).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{mode:?}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    open(&url).await.unwrap().close().await.unwrap();
    let chat = || NewChat::new(ChatRef::new("ada", "trip"), Timestamp::from_micros(1));
    let looking = open_read_only(&url).await.unwrap();
    let error = looking.history().create_chat(chat()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    looking.close().await.unwrap();
    let writing = registry.open_with(&url, OpenMode::Write).await.unwrap();
    assert!(writing.history().create_chat(chat()).await.is_ok());
    writing.close().await.unwrap();
    let names: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["x.db"]);
}

/// Any store takes `blobs=URL`: the blobs are in a folder, and everything else in the store.
#[cfg(all(feature = "object", feature = "sqlite"))]
#[tokio::test]
async fn blobs_may_be_beside_any_store() {
    use context_runtime::store::NewBlob;

    let folder = tempfile::tempdir().unwrap();
    let (file, blobs) = (folder.path().join("chats.db"), folder.path().join("blobs"));
    let url = format!("sqlite:{}?readers=2&blobs=file:{}", file.display(), blobs.display());
    let missing = open_read_only(&url).await.unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
    assert!(!blobs.exists());
    let store = open(&url).await.unwrap();
    let (chat, at) = (ChatRef::new("ada", "trip"), Timestamp::from_micros(1));
    let _ = store.history().create_chat(NewChat::new(chat.clone(), at)).await.unwrap();
    let new = NewBlob::new("a long report", at);
    let put = store.blobs().unwrap().put_blob(&chat, new).await.unwrap();
    store.close().await.unwrap();

    let read = open_read_only(&url).await.unwrap();
    let seen = read.blobs().unwrap().read_blob(&chat, &put.id, 2..6, Some(at)).await.unwrap();
    assert_eq!(seen.as_deref(), Some(&b"long"[..]));
    let refused = read.blobs().unwrap().remove_blob(&chat, &put.id).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unsupported);
    // The store of the chats alone has none.
    let alone = open(&format!("sqlite:{}", file.display())).await.unwrap();
    assert!(alone.blobs().unwrap().blob(&chat, &put.id).await.unwrap().is_none());
}

#[tokio::test]
async fn a_bad_place_for_blobs_is_named_and_refused() {
    let error = open("mem:?blobs=ftp://host").await.unwrap_err();
    let expected = match cfg!(feature = "object") {
        true => ErrorKind::Invalid,
        false => ErrorKind::Unsupported,
    };
    assert_eq!((error.kind(), error.get("option")), (expected, Some("blobs")), "{error}");
    let twice = open("mem:?blobs=file:a&blobs=file:b").await.unwrap_err();
    assert_eq!(twice.kind(), ErrorKind::Invalid);
}
