//! The layer that implements the store traits for [`EncryptedStore`](super::EncryptedStore).

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::Arc;

use context_core::store::{BlobStore, Maintenance, StreamStore, TrajectoryStore};
use context_core::{ChatRef, Error, ErrorKind, Result, Store};
use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::blob_names::BlobNames;
use super::record::Sealer;

/// The number of locks that chats share.
const GATES: usize = 64;

pub(super) struct Layer {
    pub(super) inner: Arc<dyn Store>,
    pub(super) sealer: Sealer,
    pub(super) names: BlobNames,
    /// Locks of chats. A call that replaces stored data holds one shared. A rotation holds it
    /// exclusively, because it reads, encrypts and writes, and would overwrite a concurrent
    /// amendment.
    gates: [RwLock<()>; GATES],
}

impl Layer {
    pub(super) fn new(inner: Arc<dyn Store>, sealer: Sealer) -> Self {
        let gates = std::array::from_fn(|_| RwLock::default());
        Self { inner, sealer, names: BlobNames::default(), gates }
    }

    fn gate(&self, chat: &ChatRef) -> &RwLock<()> {
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(chat);
        let at = usize::try_from(hash % GATES as u64).unwrap_or_default();
        &self.gates[at]
    }

    pub(super) async fn writing(&self, chat: &ChatRef) -> RwLockReadGuard<'_, ()> {
        self.gate(chat).read().await
    }

    pub(super) async fn rotating(&self, chat: &ChatRef) -> RwLockWriteGuard<'_, ()> {
        self.gate(chat).write().await
    }

    pub(super) fn blobs(&self) -> Result<&dyn BlobStore> {
        self.inner.blobs().ok_or_else(|| missing("blobs"))
    }

    pub(super) fn streams(&self) -> Result<&dyn StreamStore> {
        self.inner.streams().ok_or_else(|| missing("streams"))
    }

    pub(super) fn trajectories(&self) -> Result<&dyn TrajectoryStore> {
        self.inner.trajectories().ok_or_else(|| missing("trajectories"))
    }

    pub(super) fn maintenance(&self) -> Result<&dyn Maintenance> {
        self.inner.maintenance().ok_or_else(|| missing("maintenance"))
    }
}

/// The error for a missing ability. The layer offers an ability only if the inner store has it.
fn missing(ability: &'static str) -> Error {
    Error::new(ErrorKind::Unsupported, ability, "the store beneath has no such ability")
}
