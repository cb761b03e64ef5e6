//! The services, and how each is opened.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use context_core::store::Durability;
use context_core::{Error, ErrorKind, Result};
use object_store::ObjectStore;
use object_store::local::LocalFileSystem;
use object_store::path::Path;

use super::{OPERATION, ObjectConfig};
use crate::error::failed;
#[cfg(feature = "http")]
use crate::error::misconfigured;

/// A service and what names the bucket in it.
#[derive(Clone)]
pub(crate) enum Service {
    /// A folder of this machine.
    Folder(PathBuf),
    /// A bucket, with the options of its URL.
    Bucket(Bucket),
    /// A service that the program brings, and what its writes survive.
    Given(Arc<dyn ObjectStore>, Durability),
}

/// A bucket of a cloud service.
#[derive(Clone, Debug)]
#[cfg_attr(not(feature = "http"), allow(dead_code, reason = "no service is on"))]
pub(crate) struct Bucket {
    pub(crate) vendor: Vendor,
    pub(crate) name: String,
    /// Options in the words of the client, none of them secret.
    pub(crate) options: Vec<(&'static str, String)>,
}

/// The makers of the services.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vendor {
    S3,
    Gcs,
    Azure,
}

impl Vendor {
    fn feature(self) -> &'static str {
        match self {
            Self::S3 => "s3",
            Self::Gcs => "gcs",
            Self::Azure => "azure",
        }
    }
}

/// An opened service.
pub(crate) struct Opened {
    pub(crate) service: Arc<dyn ObjectStore>,
    pub(crate) prefix: Path,
    pub(crate) durability: Durability,
    /// Whether other processes reach the same objects.
    pub(crate) shared: bool,
    /// The folder, if it is one.
    pub(crate) folder: Option<PathBuf>,
}

impl Service {
    pub(super) fn open(&self, config: &ObjectConfig, prefix: Path) -> Result<Opened> {
        match self {
            Self::Folder(path) => folder(path, config, prefix),
            Self::Given(service, durability) => Ok(Opened {
                service: Arc::clone(service),
                prefix,
                durability: *durability,
                shared: *durability > Durability::Process,
                folder: None,
            }),
            Self::Bucket(bucket) => Ok(Opened {
                service: bucket.open(config)?,
                prefix,
                durability: Durability::PowerLoss,
                shared: true,
                folder: None,
            }),
        }
    }
}

fn folder(path: &std::path::Path, config: &ObjectConfig, prefix: Path) -> Result<Opened> {
    let system = |error: std::io::Error| {
        let retry = context_core::Retry::of_io(&error);
        Error::new(ErrorKind::Unavailable, OPERATION, "the folder cannot be used")
            .with("folder", path.display())
            .with_retry(retry)
            .with_source(error)
    };
    if !path.exists() {
        if config.read_only || !config.create {
            return Err(Error::not_found(OPERATION, "folder", path.display()));
        }
        std::fs::create_dir_all(path).map_err(system)?;
    }
    let native = LocalFileSystem::new_with_prefix(path).map_err(failed(OPERATION))?;
    // Else each chat and blob that ever was would leave an empty folder.
    let native = native.with_automatic_cleanup(true).with_fsync(config.flush);
    Ok(Opened {
        service: Arc::new(native),
        prefix,
        durability: match config.flush {
            true => Durability::PowerLoss,
            false => Durability::ProcessCrash,
        },
        shared: true,
        folder: Some(path.to_owned()),
    })
}

#[cfg_attr(not(feature = "http"), allow(unused_variables, reason = "no service is on"))]
impl Bucket {
    fn open(&self, config: &ObjectConfig) -> Result<Arc<dyn ObjectStore>> {
        match self.vendor {
            #[cfg(feature = "s3")]
            Vendor::S3 => self.s3(config),
            #[cfg(feature = "gcs")]
            Vendor::Gcs => self.gcs(config),
            #[cfg(feature = "azure")]
            Vendor::Azure => self.azure(config),
            #[allow(unreachable_patterns, reason = "all may be on")]
            vendor => Err(Error::new(
                ErrorKind::Unsupported,
                OPERATION,
                "this program was built without this service",
            )
            .with("feature", vendor.feature())),
        }
    }
}

/// Implements a call that opens a bucket of a vendor. The builders of the services have the same
/// methods and no trait in common.
#[cfg(feature = "http")]
macro_rules! open_bucket {
    ($name:ident, $builder:ty, $key:ty) => {
        fn $name(&self, config: &ObjectConfig) -> Result<Arc<dyn ObjectStore>> {
            use object_store::ClientConfigKey::{ConnectTimeout, Timeout};

            // Has no effect if the application has chosen a provider already.
            rustls::crypto::ring::default_provider().install_default().ok();
            let millis = format!("{}ms", config.request_timeout.as_millis());
            let mut builder = <$builder>::from_env()
                .with_retry(object_store::RetryConfig {
                    retry_timeout: config.retry_timeout,
                    ..object_store::RetryConfig::default()
                })
                .with_config(<$key>::Client(Timeout), &millis)
                .with_config(<$key>::Client(ConnectTimeout), &millis);
            for (key, value) in &self.options {
                let key = key.parse::<$key>().map_err(misconfigured(OPERATION))?;
                builder = builder.with_config(key, value);
            }
            let native = self.named(builder).build().map_err(misconfigured(OPERATION))?;
            Ok(Arc::new(native))
        }
    };
}

#[cfg(feature = "s3")]
impl Bucket {
    open_bucket!(s3, object_store::aws::AmazonS3Builder, object_store::aws::AmazonS3ConfigKey);
}

#[cfg(feature = "gcs")]
impl Bucket {
    open_bucket!(
        gcs,
        object_store::gcp::GoogleCloudStorageBuilder,
        object_store::gcp::GoogleConfigKey
    );
}

#[cfg(feature = "azure")]
impl Bucket {
    open_bucket!(
        azure,
        object_store::azure::MicrosoftAzureBuilder,
        object_store::azure::AzureConfigKey
    );
}

/// A builder that takes the name of a bucket.
#[cfg(feature = "http")]
trait NamedBucket {
    fn bucket(self, name: &str) -> Self;
}

#[cfg(feature = "s3")]
impl NamedBucket for object_store::aws::AmazonS3Builder {
    fn bucket(self, name: &str) -> Self {
        self.with_bucket_name(name)
    }
}

#[cfg(feature = "gcs")]
impl NamedBucket for object_store::gcp::GoogleCloudStorageBuilder {
    fn bucket(self, name: &str) -> Self {
        self.with_bucket_name(name)
    }
}

#[cfg(feature = "azure")]
impl NamedBucket for object_store::azure::MicrosoftAzureBuilder {
    fn bucket(self, name: &str) -> Self {
        self.with_container_name(name)
    }
}

#[cfg(feature = "http")]
impl Bucket {
    fn named<B: NamedBucket>(&self, builder: B) -> B {
        builder.bucket(&self.name)
    }
}

/// Shows where the objects are. Names of buckets are no secrets, and a URL has no credentials.
impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(path) => f.debug_tuple("Folder").field(path).finish(),
            Self::Bucket(bucket) => bucket.fmt(f),
            Self::Given(service, _) => write!(f, "{service}"),
        }
    }
}
