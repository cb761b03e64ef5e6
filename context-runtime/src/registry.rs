//! Opening stores by URL.
//!
//! A [`StoreRegistry`] is a value, not a global. It starts with the stores whose features are on
//! and accepts others. [`open`] is a shortcut for the built-in stores.

mod blobs;
mod builtin;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use context_core::{CancelSignal, Error, ErrorKind, Result, Store};
use context_store_kit::salvage::SalvageSink;

/// Opens stores of one URL scheme.
#[async_trait]
pub trait StoreFactory: Send + Sync + 'static {
    /// Opens the store at `url`, which includes the scheme. Errors never repeat a password of the
    /// URL.
    ///
    /// With [`OpenMode::Read`] nothing is created, upgraded or written, neither now nor through the
    /// store. A factory that cannot guarantee that returns [`ErrorKind::Unsupported`].
    async fn open(&self, url: &str, mode: OpenMode) -> Result<Arc<dyn Store>>;

    /// Hands everything that is sound in the damaged store at `url` to the sink, and every loss,
    /// and returns `true`. Nothing is written to that store. Returns `false` without a call of the
    /// sink if there is no better way than [to open it](Self::open) and to read it through its
    /// traits.
    async fn salvage(
        &self,
        url: &str,
        sink: &mut dyn SalvageSink,
        cancel: &CancelSignal,
    ) -> Result<bool> {
        let _ = (url, sink, cancel);
        Ok(false)
    }
}

/// The purpose of opening a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OpenMode {
    /// Reads an existing store. Nothing is created, upgraded or written. Writing through the store
    /// returns [`ErrorKind::Unsupported`], and so does opening a store of an older version.
    Read,
    /// Changes an existing store, whose schema is upgraded. A store that does not exist is
    /// [`ErrorKind::NotFound`], as far as the backend can tell.
    Write,
    /// Changes a store, which is created if it does not exist and its URL allows that.
    Create,
}

/// Opens the store at a URL, if its feature is on: `mem:`, `sqlite:PATH`, `postgres://…`,
/// `redis://…` or `redis+cluster://…`. [`StoreRegistry`] lists the URL options.
///
/// ```
/// # tokio_test(async {
/// let store = context_runtime::open("mem:").await?;
/// assert_eq!(store.info().name, "inmem");
/// # Ok(()) });
/// # fn tokio_test(f: impl Future<Output = context_runtime::Result<()>>) {
/// #     tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(f).unwrap();
/// # }
/// ```
pub async fn open(url: &str) -> Result<Arc<dyn Store>> {
    StoreRegistry::default().open(url).await
}

/// Opens the store at a URL read-only: see [`OpenMode::Read`].
///
/// ```
/// use context_runtime::ErrorKind;
///
/// # tokio_test(async {
/// let folder = tempfile::tempdir().unwrap();
/// let url = format!("sqlite:{}", folder.path().join("chats.db").display());
/// let error = context_runtime::open_read_only(&url).await.unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::NotFound);
/// context_runtime::open(&url).await?.close().await?;
/// let store = context_runtime::open_read_only(&url).await?;
/// assert_eq!(store.info().name, "sqlite");
/// # Ok(()) });
/// # fn tokio_test(f: impl Future<Output = context_runtime::Result<()>>) {
/// #     tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(f).unwrap();
/// # }
/// ```
pub async fn open_read_only(url: &str) -> Result<Arc<dyn Store>> {
    StoreRegistry::default().open_read_only(url).await
}

/// Store factories by URL scheme. The built-in ones:
///
/// | URL | store | feature | options after `?` |
/// |---|---|---|---|
/// | `mem:` | the process's memory | `inmem` | |
/// | `sqlite:PATH` | a file | `sqlite` | those of `SqliteConfig::from_url` |
/// | `postgres://`, `postgresql://` `ROLE@HOST/DATABASE` | a PostgreSQL database | `postgres`; `tls` for `?sslmode=` | `schema=NAME`, `connections=N`, and more: `PostgresConfig::from_url` |
/// | `redis://HOST/NUMBER`, with TLS `rediss://` | a Redis server | `redis`; `tls` for `rediss` | `prefix=TEXT`, `chat_ttl_s=SECONDS`, and more: `RedisConfig::from_url` |
/// | `redis+cluster://HOST,HOST`, with TLS `rediss+cluster://` | a Redis cluster | `redis-cluster` | the same |
///
/// With the feature `object`, each takes the option `blobs=URL` as well: blobs are kept in a folder
/// (`file:PATH`), or with the features `s3`, `gcs` and `azure` in a bucket (`s3://BUCKET/PREFIX`,
/// `gs://…`, `az://…`). An `&` in that URL is written as `%26`.
///
/// Errors never repeat a URL, because it may contain a password.
///
/// ```
/// use std::sync::Arc;
///
/// use async_trait::async_trait;
/// use context_runtime::store::{OpenMode, StoreFactory, StoreRegistry};
/// use context_runtime::{Result, Store};
///
/// /// `test:` is a store in memory.
/// struct Test;
///
/// #[async_trait]
/// impl StoreFactory for Test {
///     async fn open(&self, _url: &str, _mode: OpenMode) -> Result<Arc<dyn Store>> {
///         context_runtime::open("mem:").await
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<()> {
/// let mut stores = StoreRegistry::default(); // with those whose features are on
/// stores.register("test", Test);
/// assert_eq!(stores.open("test:").await?.info().name, "inmem");
/// assert!(stores.open("unknown:").await.is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct StoreRegistry(BTreeMap<String, Arc<dyn StoreFactory>>);

/// The schemes of this library, and the feature that each needs.
const SCHEMES: [(&str, &str); 8] = [
    ("mem", "inmem"),
    ("sqlite", "sqlite"),
    ("postgres", "postgres"),
    ("postgresql", "postgres"),
    ("redis", "redis"),
    ("rediss", "redis, tls"),
    ("redis+cluster", "redis-cluster"),
    ("rediss+cluster", "redis-cluster, tls"),
];

impl Default for StoreRegistry {
    /// Returns a registry of the stores whose features are on.
    fn default() -> Self {
        let mut registry = Self(BTreeMap::new());
        builtin::register(&mut registry);
        registry
    }
}

impl StoreRegistry {
    /// Adds a store factory, or replaces the one of this scheme.
    pub fn register(&mut self, scheme: impl Into<String>, factory: impl StoreFactory) {
        self.0.insert(scheme.into(), Arc::new(factory));
    }

    /// The schemes that can be opened.
    pub fn schemes(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Opens the store at `url`, and creates it if it does not exist.
    pub async fn open(&self, url: &str) -> Result<Arc<dyn Store>> {
        self.open_with(url, OpenMode::Create).await
    }

    /// Opens the store at `url` read-only: see [`OpenMode::Read`].
    pub async fn open_read_only(&self, url: &str) -> Result<Arc<dyn Store>> {
        self.open_with(url, OpenMode::Read).await
    }

    /// Hands what is sound of the damaged store at `url` to a sink: see [`StoreFactory::salvage`].
    /// Blobs that are kept elsewhere (`blobs=URL`) are not read.
    pub async fn salvage(
        &self,
        url: &str,
        sink: &mut dyn SalvageSink,
        cancel: &CancelSignal,
    ) -> Result<bool> {
        let (url, _) = blobs::split(url)?;
        match url.split_once(':').and_then(|(scheme, _)| self.0.get(scheme)) {
            Some(factory) => factory.salvage(&url, sink, cancel).await,
            None => Ok(false),
        }
    }

    /// Opens the store at `url` for a purpose.
    pub async fn open_with(&self, url: &str, mode: OpenMode) -> Result<Arc<dyn Store>> {
        const OPERATION: &str = "open";
        let (url, blobs) = blobs::split(url)?;
        let known = || self.schemes().collect::<Vec<_>>().join(", ");
        let Some((scheme, _)) = url.split_once(':') else {
            return Err(Error::invalid(
                OPERATION,
                "a store is named by a URL, such as sqlite:chats.db",
            )
            .with("known", known()));
        };
        if let Some(factory) = self.0.get(scheme) {
            let store = factory.open(&url, mode).await?;
            return match blobs {
                Some(blobs) => blobs::join(store, &blobs, mode).await,
                None => Ok(store),
            };
        }
        let error = match SCHEMES.iter().find(|(name, _)| *name == scheme) {
            Some((_, feature)) => Error::new(
                ErrorKind::Unsupported,
                OPERATION,
                "this program was built without this store",
            )
            .with("feature", feature),
            None => Error::new(
                ErrorKind::Unsupported,
                OPERATION,
                "no store of this scheme is registered",
            ),
        };
        Err(error.with("scheme", scheme).with("known", known()))
    }
}

impl fmt::Debug for StoreRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.schemes()).finish()
    }
}
