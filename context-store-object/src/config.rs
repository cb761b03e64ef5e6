//! The configuration of the store: which service, where in it, and how patiently.

mod service;
mod url;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use context_core::store::Durability;
use context_core::{Error, Result};
use object_store::ObjectStore;
use object_store::path::Path;

pub(crate) use service::{Opened, Service};

const OPERATION: &str = "open";
/// The maximum length of the prefix in bytes. With the longest key behind it, a name stays below
/// the 1,024 bytes that the services accept.
const MAX_PREFIX_BYTES: usize = 512;

/// A service, a place in it, and the settings of a store.
///
/// Credentials come from the environment, as the usual clients of each service read them; a URL
/// has none.
#[derive(Clone)]
#[non_exhaustive]
pub struct ObjectConfig {
    service: Service,
    /// The beginning of every key, without a slash at its ends. Each prefix is a store of its own.
    pub prefix: String,
    /// Whether to open the store without writing. The time of use of a blob is not recorded then,
    /// and each call that would write returns
    /// [`Unsupported`](context_core::ErrorKind::Unsupported).
    pub read_only: bool,
    /// Whether to create the store if it does not exist. If this is false, opening a missing store
    /// returns [`NotFound`](context_core::ErrorKind::NotFound).
    pub create: bool,
    /// Whether a write to a folder is flushed to the disk before it is acknowledged. Services do so
    /// anyway.
    pub flush: bool,
    /// The longest time during which a request that failed is repeated.
    pub retry_timeout: Duration,
    /// The longest wait for one answer of a service, and for all of its bytes.
    pub request_timeout: Duration,
}

impl ObjectConfig {
    fn of(service: Service) -> Self {
        Self {
            service,
            prefix: String::new(),
            read_only: false,
            create: true,
            flush: false,
            retry_timeout: Duration::from_secs(30),
            request_timeout: Duration::from_secs(30),
        }
    }

    /// Returns the configuration of a store in a folder, which is created if it does not exist.
    pub fn folder(path: impl Into<PathBuf>) -> Self {
        Self::of(Service::Folder(path.into()))
    }

    /// Returns the configuration of a store in memory, for tests.
    pub fn memory() -> Self {
        Self::of(Service::Given(
            Arc::new(object_store::memory::InMemory::new()),
            Durability::Process,
        ))
    }

    /// Returns the configuration of a store in a service that the program brings, with the failures
    /// that an acknowledged write to it survives. The service must list an object as soon as it is
    /// written, and support [`PutMode::Create`](object_store::PutMode::Create).
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use context_core::store::Durability;
    /// use context_store_object::{ObjectBlobs, ObjectConfig, object_store};
    ///
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let bucket = Arc::new(object_store::memory::InMemory::new());
    /// let config = ObjectConfig::over(bucket, Durability::Process).prefix("agents/blobs");
    /// let files = ObjectBlobs::open(config).await?;
    /// # drop(files);
    /// # Ok::<_, context_core::Error>(())
    /// # })?;
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub fn over(service: Arc<dyn ObjectStore>, durability: Durability) -> Self {
        Self::of(Service::Given(service, durability))
    }

    /// Parses a URL: `file:PATH`, or with the features `s3`, `gcs` and `azure`
    /// `s3://BUCKET/PREFIX`, `gs://BUCKET/PREFIX` and `az://CONTAINER/PREFIX`.
    ///
    /// Options behind a `?`, separated by `&`: `read_only=true|false`, `create=true|false`,
    /// `durability=normal|full` of a folder, `retry_timeout_ms=N`, `request_timeout_ms=N`,
    /// `anonymous=true|false` of a service; of S3 also `region=NAME`, `endpoint=URL`,
    /// `allow_http=true|false` and `virtual_hosted=true|false`, of Azure `account=NAME`,
    /// `endpoint=URL` and `allow_http=true|false`. What the URL leaves out comes from the
    /// environment, as do credentials. Any other option is rejected.
    ///
    /// ```
    /// use context_store_object::ObjectConfig;
    ///
    /// let config = ObjectConfig::from_url("file:/var/lib/agents/blobs?durability=full")?;
    /// assert!(config.flush);
    /// assert!(ObjectConfig::from_url("file:blobs?speed=high").is_err());
    /// # Ok::<_, context_core::Error>(())
    /// ```
    pub fn from_url(url: &str) -> Result<Self> {
        url::parse(url)
    }

    /// Sets the beginning of every key.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Sets whether to open the store without writing.
    #[must_use]
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.read_only = read_only;
        self
    }

    /// Sets whether to create the store if it does not exist.
    #[must_use]
    pub fn create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// Sets whether a write to a folder is flushed to the disk before it is acknowledged.
    #[must_use]
    pub fn flush(mut self, flush: bool) -> Self {
        self.flush = flush;
        self
    }

    /// Sets for how long a request that failed is repeated.
    #[must_use]
    pub fn retry_timeout(mut self, timeout: Duration) -> Self {
        self.retry_timeout = timeout;
        self
    }

    /// Sets how long to wait for an answer.
    #[must_use]
    pub fn request_timeout(mut self, timeout: Duration) -> Self {
        self.request_timeout = timeout;
        self
    }

    /// Opens the service, after refusing settings that no store can be opened with. Returns the
    /// service, the path of the prefix in it, and its durability.
    pub(crate) fn connect(&self) -> Result<Opened> {
        let prefix = self.prefix.trim_matches('/');
        if prefix.len() > MAX_PREFIX_BYTES {
            return Err(Error::invalid(OPERATION, "the prefix has more bytes than the limit")
                .with("limit", MAX_PREFIX_BYTES));
        }
        let prefix = Path::parse(prefix).map_err(|_| {
            Error::invalid(
                OPERATION,
                "the prefix has an empty part, a dot as a part, or a sign that no key has",
            )
        })?;
        if self.request_timeout.is_zero() {
            return Err(Error::invalid(OPERATION, "a timeout must not be zero"));
        }
        self.service.open(self, prefix)
    }
}

impl fmt::Debug for ObjectConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { service, prefix, read_only, create, flush, retry_timeout, request_timeout } =
            self;
        f.debug_struct("ObjectConfig")
            .field("service", service)
            .field("prefix", prefix)
            .field("read_only", read_only)
            .field("create", create)
            .field("flush", flush)
            .field("retry_timeout", retry_timeout)
            .field("request_timeout", request_timeout)
            .finish()
    }
}
