//! Opening: servers that do not exist, and what a store reports about its server.

use std::time::Duration;

use context_core::store::Durability;
use context_core::{ErrorKind, Retry, Store};
use context_store_redis::{RedisConfig, RedisStore};

use crate::fixture::RedisFixture;

/// Returns a port on which nothing listens.
fn closed_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

pub(crate) async fn a_server_that_is_not_there_is_unavailable_and_no_password_is_shown() {
    let url = format!("redis://ada:secret@127.0.0.1:{}/", closed_port());
    let config = RedisConfig::new(url).connection_timeout(Duration::from_secs(2));
    let error = RedisStore::open(config).await.unwrap_err();
    assert_eq!((error.kind(), error.retry()), (ErrorKind::Unavailable, Retry::Safe), "{error:?}");
    assert!(!format!("{error:?}").contains("secret"), "{error:?}");
}

#[cfg(feature = "tls")]
pub(crate) async fn an_encrypted_connection_to_nobody_fails_without_a_panic() {
    let config = RedisConfig::new(format!("rediss://127.0.0.1:{}/", closed_port()));
    let error =
        RedisStore::open(config.connection_timeout(Duration::from_secs(2))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error:?}");
}

pub(crate) async fn an_address_that_is_none_is_refused() {
    let error =
        RedisStore::open(RedisConfig::new("redis://ada:secret@[nowhere")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error:?}");
    assert!(!format!("{error:?}").contains("secret"), "{error:?}");
}

pub(crate) async fn a_store_says_what_its_server_keeps() {
    let fixture = RedisFixture::new().await;
    let read = |name: &str| {
        let pair: Vec<String> =
            redis::cmd("CONFIG").arg("GET").arg(name).query(&mut fixture.server()).unwrap();
        pair[1].clone()
    };
    let info = fixture.store.info();
    let expected = match (read("appendonly").as_str(), read("appendfsync").as_str()) {
        ("yes", "always") => Durability::PowerLoss,
        ("yes", _) => Durability::ProcessCrash,
        _ => Durability::Server,
    };
    assert_eq!((info.name, info.durability, info.shared), ("redis", expected, true));
    assert_eq!(info.warning.is_none(), expected == Durability::PowerLoss, "{info:?}");
    assert!(fixture.store.search().is_none());
}

/// Permanent failures are reported at once: a wrong password is not retried.
pub(crate) async fn a_login_or_a_database_that_is_refused_is_not_tried_again() {
    let (server, fixture) = RedisFixture::alone().await;
    let address = server.url();
    let host = address.trim_start_matches("redis://").trim_end_matches('/');
    let open = async |url: String| {
        let error = RedisStore::open(RedisConfig::new(url)).await.unwrap_err();
        assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
        (error.kind(), error.retry())
    };
    assert_eq!(open(format!("redis://{host}/99")).await, (ErrorKind::Invalid, Retry::Never));
    let mut connection = fixture.server();
    let mut config = redis::cmd("CONFIG");
    let () = config.arg("SET").arg("requirepass").arg("right").query(&mut connection).unwrap();
    assert_eq!(open(format!("redis://{host}/")).await, (ErrorKind::Unavailable, Retry::Never));
    assert_eq!(
        open(format!("redis://:hunter2@{host}/")).await,
        (ErrorKind::Unavailable, Retry::Never)
    );
    let mut config = redis::cmd("CONFIG");
    let () = config.arg("SET").arg("requirepass").arg("").query(&mut connection).unwrap();
}
