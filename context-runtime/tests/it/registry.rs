//! Stores by URL: what can be opened, what is said where it cannot, and what is never said.

use context_runtime::{ErrorKind, open, store::StoreRegistry};

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
        ("rediss+cluster", "redis-cluster, tls", cfg!(all(feature = "redis-cluster", feature = "tls"))),
    ] {
        assert_eq!(known.iter().any(|known| known == scheme), is_on, "{scheme}");
        if !is_on {
            let error = open(&format!("{scheme}://host/x")).await.unwrap_err();
            assert_eq!((error.kind(), error.get("feature")), (ErrorKind::Unsupported, Some(feature)));
        }
    }
}

/// Nobody listens there, or the URL is none: either way the password stays where it was.
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
