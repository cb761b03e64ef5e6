//! The measured backends and their addresses.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::bare_servers;
use crate::floor::{Floor, postgres, redis, sqlite};
use crate::library_store::LibraryStore;

pub(crate) const NAMES: [&str; 3] = ["sqlite", "postgres", "redis"];

/// A backend with a namespace of its own.
pub(crate) struct Backend {
    pub(crate) name: &'static str,
    url: String,
    folder: tempfile::TempDir,
    opened: AtomicUsize,
}

impl Backend {
    /// Returns the backend of this name, or the environment variable that must hold its address.
    pub(crate) fn new(name: &'static str) -> Result<Self, &'static str> {
        let variable = match name {
            "postgres" => "CONTEXT_TEST_POSTGRES_URL",
            "redis" => "CONTEXT_TEST_REDIS_URL",
            _ => "",
        };
        let url = if variable.is_empty() {
            String::new()
        } else {
            std::env::var(variable).map_err(|_| variable)?
        };
        Ok(Self { name, url, folder: tempfile::tempdir().unwrap(), opened: AtomicUsize::new(0) })
    }

    /// Returns a namespace for this process and call.
    fn place(&self) -> String {
        format!("bench_{}_{}", std::process::id(), self.opened.fetch_add(1, Ordering::Relaxed))
    }

    /// Creates an empty store.
    pub(crate) async fn ours(&self) -> LibraryStore {
        let place = self.place();
        let sign = if self.url.contains('?') { '&' } else { '?' };
        let url = match self.name {
            "sqlite" => format!("sqlite:{}", self.folder.path().join(place).display()),
            "postgres" => format!("{}{sign}schema={place}", self.url),
            _ => format!("{}{sign}prefix={place}:", self.url),
        };
        LibraryStore::open(&url).await
    }

    /// Creates an empty namespace for the bare library.
    pub(crate) async fn floor(&self) -> Box<dyn Floor> {
        let place = self.place();
        match self.name {
            "sqlite" => Box::new(sqlite::BareConnection::create(&self.folder.path().join(place))),
            "postgres" => Box::new(postgres::BareConnection::create(&self.url, &place).await),
            _ => Box::new(redis::BareConnection::create(&self.url, &place).await),
        }
    }

    /// Removes what was written to a server.
    pub(crate) async fn clear(&self) {
        let prefix = format!("bench_{}_", std::process::id());
        match self.name {
            "postgres" => bare_servers::clear_postgres(&self.url, &prefix).await,
            "redis" => bare_servers::clear_redis(&self.url, &prefix).await,
            _ => {}
        }
    }
}
