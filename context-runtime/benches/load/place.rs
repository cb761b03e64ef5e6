//! Namespaces on the measured stores.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::bare_servers;
use crate::options::{Options, Store};

/// The variables with the addresses of servers.
const POSTGRES: &str = "CONTEXT_TEST_POSTGRES_URL";
const REDIS: &str = "CONTEXT_TEST_REDIS_URL";

/// A store's address, with namespaces for each case.
pub(crate) struct Place {
    pub(crate) store: Store,
    pub(crate) url: String,
    /// The connections of either side.
    pub(crate) connections: usize,
    folder: tempfile::TempDir,
    opened: AtomicUsize,
}

impl Place {
    /// Returns the place, or the environment variable that must hold its address.
    pub(crate) fn new(store: Store, options: &Options) -> Result<Self, &'static str> {
        let url = |variable| std::env::var(variable).map_err(|_| variable);
        Ok(Self {
            store,
            url: match store {
                Store::Sqlite => String::new(),
                Store::Postgres => url(POSTGRES)?,
                Store::Redis => url(REDIS)?,
            },
            connections: options.connections.unwrap_or(DEFAULT_CONNECTIONS),
            folder: tempfile::tempdir().unwrap(),
            opened: AtomicUsize::new(0),
        })
    }

    /// Returns an unused name.
    pub(crate) fn name(&self) -> String {
        let number = self.opened.fetch_add(1, Ordering::Relaxed);
        format!("load_{}_{number}", std::process::id())
    }

    /// Returns the path of a file.
    pub(crate) fn file(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    /// Returns the URL of an empty store of the library.
    pub(crate) fn library_url(&self, full_text: bool) -> String {
        let name = self.name();
        let sign = if self.url.contains('?') { '&' } else { '?' };
        let text = if full_text { "on" } else { "off" };
        let n = self.connections;
        match self.store {
            Store::Sqlite => {
                format!("sqlite:{}?full_text={text}&readers={n}", self.file(&name).display())
            }
            Store::Postgres => {
                format!("{}{sign}schema={name}&full_text={text}&connections={n}", self.url)
            }
            Store::Redis => format!("{}{sign}prefix={name}:", self.url),
        }
    }

    /// Removes what was written to a server.
    pub(crate) async fn clear(&self) {
        let prefix = format!("load_{}_", std::process::id());
        match self.store {
            Store::Sqlite => {}
            Store::Postgres => bare_servers::clear_postgres(&self.url, &prefix).await,
            Store::Redis => bare_servers::clear_redis(&self.url, &prefix).await,
        }
    }
}

/// The default of the stores.
const DEFAULT_CONNECTIONS: usize = 4;
