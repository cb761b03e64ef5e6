//! The layer that implements the store traits for [`EncryptedStore`](super::EncryptedStore).

use std::fmt;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::Arc;

use context_core::store::{BlobStore, Maintenance, StreamStore, TrajectoryStore};
use context_core::{ChatRef, Error, ErrorKind, Result, Store, UserId};
use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::blob_names::BlobNames;
use super::keys::{EncryptionKey, KeyError, KeyRing};
use super::record::Sealer;
use super::user_keys::{UserKeys, random_key};

/// The number of locks that chats share.
const GATES: usize = 64;

/// The keys of a store.
pub(super) enum StoreKeys {
    /// The same for all users.
    One(Arc<KeyRing>),
    PerUser(Arc<dyn UserKeys>),
}

pub(super) struct Layer {
    pub(super) inner: Arc<dyn Store>,
    keys: StoreKeys,
    pub(super) allow_plain: bool,
    pub(super) names: BlobNames,
    /// Locks of chats. A call that replaces stored data holds one shared. A rotation holds it
    /// exclusively, because it reads, encrypts and writes, and would overwrite a concurrent
    /// amendment.
    gates: [RwLock<()>; GATES],
}

impl Layer {
    pub(super) fn new(inner: Arc<dyn Store>, keys: StoreKeys) -> Self {
        let gates = std::array::from_fn(|_| RwLock::default());
        Self { inner, keys, allow_plain: false, names: BlobNames::default(), gates }
    }

    pub(super) fn keys(&self) -> &dyn fmt::Debug {
        match &self.keys {
            StoreKeys::One(ring) => ring,
            StoreKeys::PerUser(keys) => keys,
        }
    }

    /// Returns what decrypts the records of a user. The records of a user without keys are refused
    /// with the name of the key that they need.
    pub(super) fn sealer(&self, user: &UserId) -> Result<Sealer> {
        let ring = match &self.keys {
            StoreKeys::One(ring) => Arc::clone(ring),
            StoreKeys::PerUser(keys) => match keys.keys_of(user).map_err(unavailable)? {
                Some(ring) => ring,
                None => Arc::new(nobodys().map_err(unavailable)?),
            },
        };
        Ok(Sealer { ring, allow_plain: self.allow_plain })
    }

    /// Returns what encrypts records of a user, whose key is made if there is none.
    pub(super) fn sealer_to_write(&self, user: &UserId) -> Result<Sealer> {
        let ring = match &self.keys {
            StoreKeys::One(ring) => Arc::clone(ring),
            StoreKeys::PerUser(keys) => keys.make_keys(user).map_err(unavailable)?,
        };
        Ok(Sealer { ring, allow_plain: self.allow_plain })
    }

    /// Drops the keys of a user, if users have keys of their own.
    pub(super) fn drop_keys(&self, user: &UserId) -> Result<()> {
        match &self.keys {
            StoreKeys::One(_) => Ok(()),
            StoreKeys::PerUser(keys) => keys.drop_keys(user).map(drop).map_err(unavailable),
        }
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

/// Returns keys that open nothing.
fn nobodys() -> Result<KeyRing, KeyError> {
    let (name, bytes) = random_key()?;
    Ok(KeyRing::new(EncryptionKey::from_bytes(&name, &bytes)?))
}

fn unavailable(error: KeyError) -> Error {
    let message = "the keys of the user cannot be read or written";
    Error::new(ErrorKind::Unavailable, "keys", message).with_source(error)
}

/// The error for a missing ability. The layer offers an ability only if the inner store has it.
fn missing(ability: &'static str) -> Error {
    Error::new(ErrorKind::Unsupported, ability, "the store beneath has no such ability")
}
