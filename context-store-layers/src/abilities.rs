//! The optional abilities of the inner store.
#![allow(dead_code, reason = "each layer needs other abilities")]

use context_core::store::{
    BlobStore, Maintenance, MemoryRecordStore, SearchStore, StreamStore, TrajectoryStore,
};
use context_core::{Error, ErrorKind, Result, Store};

/// Access to the optional abilities of the inner store. A missing ability is an error.
pub(crate) trait Abilities {
    fn searcher(&self) -> Result<&dyn SearchStore>;
    fn shelf(&self) -> Result<&dyn BlobStore>;
    fn channel(&self) -> Result<&dyn StreamStore>;
    fn ledger(&self) -> Result<&dyn TrajectoryStore>;
    fn memory(&self) -> Result<&dyn MemoryRecordStore>;
    fn upkeep(&self) -> Result<&dyn Maintenance>;
}

impl Abilities for dyn Store {
    fn searcher(&self) -> Result<&dyn SearchStore> {
        self.search().ok_or_else(|| lacks("search"))
    }

    fn shelf(&self) -> Result<&dyn BlobStore> {
        self.blobs().ok_or_else(|| lacks("blobs"))
    }

    fn channel(&self) -> Result<&dyn StreamStore> {
        self.streams().ok_or_else(|| lacks("streams"))
    }

    fn ledger(&self) -> Result<&dyn TrajectoryStore> {
        self.trajectories().ok_or_else(|| lacks("trajectories"))
    }

    fn memory(&self) -> Result<&dyn MemoryRecordStore> {
        self.memories().ok_or_else(|| lacks("memories"))
    }

    fn upkeep(&self) -> Result<&dyn Maintenance> {
        self.maintenance().ok_or_else(|| lacks("maintenance"))
    }
}

/// Returns an error for a store that lost an ability it had. Not reachable otherwise.
fn lacks(operation: &'static str) -> Error {
    Error::new(ErrorKind::Unsupported, operation, "the store inside has no such ability")
}
