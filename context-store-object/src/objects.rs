//! The opened store: its bucket and its settings. Other modules implement its calls.

use std::path::PathBuf;

use context_core::store::Durability;
use context_core::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};

use crate::bucket::{Bucket, corrupt};
use crate::config::{ObjectConfig, Opened};
use crate::keys::LAYOUT;

const OPERATION: &str = "open";
/// The version of the layout of objects.
const VERSION: u32 = 1;

/// The content of the object that makes a prefix a store.
#[derive(Serialize, Deserialize)]
struct Layout {
    version: u32,
}

/// An opened store.
#[derive(Debug)]
pub(crate) struct Objects {
    pub(crate) bucket: Bucket,
    pub(crate) durability: Durability,
    pub(crate) shared: bool,
    read_only: bool,
    /// The folder with all objects, if they are files.
    pub(crate) folder: Option<PathBuf>,
}

impl Objects {
    /// Opens the store of this configuration, or creates it.
    pub(crate) async fn open(config: &ObjectConfig) -> Result<Self> {
        let Opened { service, prefix, durability, shared, folder } = config.connect()?;
        let bucket = Bucket::new(service, prefix);
        let objects = Self { bucket, durability, shared, read_only: config.read_only, folder };
        if let Some(layout) = objects.bucket.get(OPERATION, LAYOUT).await? {
            let layout: Layout = serde_json::from_slice(&layout).map_err(|error| {
                corrupt(OPERATION, LAYOUT, "the version of the store cannot be read")
                    .with_source(error)
            })?;
            if layout.version > VERSION {
                return Err(Error::new(
                    ErrorKind::Unsupported,
                    OPERATION,
                    "the store was written by a newer version",
                )
                .with("version", layout.version)
                .with("known", VERSION));
            }
            return Ok(objects);
        }
        if !config.create || config.read_only {
            return Err(Error::not_found(OPERATION, "store of blobs", &config.prefix));
        }
        if objects.bucket.first(OPERATION, "").await?.is_some() {
            // Another process may create the same store just now, so this is looked at again.
            if objects.bucket.get(OPERATION, LAYOUT).await?.is_none() {
                return Err(Error::new(
                    ErrorKind::Invalid,
                    OPERATION,
                    "the prefix holds objects of another program",
                )
                .with("prefix", &config.prefix));
            }
            return Ok(objects);
        }
        let layout = serde_json::to_vec(&Layout { version: VERSION }).map_err(|error| {
            Error::new(ErrorKind::Bug, OPERATION, "a number is no JSON").with_source(error)
        })?;
        let _first = objects.bucket.create(OPERATION, LAYOUT, layout).await?;
        Ok(objects)
    }

    /// Whether calls may write.
    pub(crate) fn is_writable(&self) -> bool {
        !self.read_only
    }

    /// Refuses a call that writes to a store that was opened for reading.
    pub(crate) fn check_writable(&self, operation: &'static str) -> Result<()> {
        if self.is_writable() {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Unsupported, operation, "the store was opened read-only"))
    }
}
