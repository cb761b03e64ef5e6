//! The store.

use context_core::store::{BlobStore, FragmentStore, HistoryStore, Maintenance, StoreInfo};
use context_core::{Result, Store};

use crate::ObjectConfig;
use crate::objects::Objects;

/// A store of blobs in a service of objects or a folder, to be the store of the blobs of a
/// `SplitStore`.
///
/// It has chats, because blobs belong to chats, but no messages: each call about messages or
/// fragments returns [`Unsupported`](context_core::ErrorKind::Unsupported), and
/// [`list_chats`](HistoryStore::list_chats) also lists chats whose deletion was cut short, so that
/// it can be repeated.
///
/// A handle is cheap to use from any number of tasks, and any number of processes may have one.
#[derive(Debug)]
pub struct ObjectBlobs(Objects);

impl ObjectBlobs {
    /// Opens the store of this configuration, and creates it if the configuration allows that.
    ///
    /// # Errors
    ///
    /// [`Invalid`](context_core::ErrorKind::Invalid) for a bad configuration, and for a prefix that
    /// has objects of another program; [`NotFound`](context_core::ErrorKind::NotFound) for a store
    /// that does not exist and may not be created;
    /// [`Unsupported`](context_core::ErrorKind::Unsupported) for one of a newer version, and for a
    /// service whose feature is off.
    pub async fn open(config: ObjectConfig) -> Result<Self> {
        Ok(Self(Objects::open(&config).await?))
    }
}

impl Store for ObjectBlobs {
    fn info(&self) -> StoreInfo {
        StoreInfo::new("object", self.0.durability, self.0.shared)
    }

    fn history(&self) -> &dyn HistoryStore {
        &self.0
    }

    fn fragments(&self) -> &dyn FragmentStore {
        &self.0
    }

    fn blobs(&self) -> Option<&dyn BlobStore> {
        Some(&self.0)
    }

    fn maintenance(&self) -> Option<&dyn Maintenance> {
        Some(&self.0)
    }
}
