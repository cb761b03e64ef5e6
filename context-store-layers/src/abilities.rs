//! The optional abilities of the inner store.
#![allow(dead_code, reason = "each layer needs other abilities")]

use context_core::store::{
    BlobStore, FragmentLogStore, Maintenance, MemoryRecordStore, RefLogStore, SearchStore,
    StreamStore, TrajectoryStore,
};
use context_core::{Error, ErrorKind, Result, Store};

/// Access to the optional abilities of the inner store. A missing ability is an error.
pub(crate) trait Abilities {
    fn require_fragment_log(&self) -> Result<&dyn FragmentLogStore>;
    fn require_ref_log(&self) -> Result<&dyn RefLogStore>;
    fn require_search(&self) -> Result<&dyn SearchStore>;
    fn require_blobs(&self) -> Result<&dyn BlobStore>;
    fn require_streams(&self) -> Result<&dyn StreamStore>;
    fn require_trajectories(&self) -> Result<&dyn TrajectoryStore>;
    fn require_memories(&self) -> Result<&dyn MemoryRecordStore>;
    fn require_maintenance(&self) -> Result<&dyn Maintenance>;
}

impl Abilities for dyn Store {
    fn require_fragment_log(&self) -> Result<&dyn FragmentLogStore> {
        self.fragment_log().ok_or_else(|| lacks("fragment_log"))
    }

    fn require_ref_log(&self) -> Result<&dyn RefLogStore> {
        self.ref_log().ok_or_else(|| lacks("ref_log"))
    }

    fn require_search(&self) -> Result<&dyn SearchStore> {
        self.search().ok_or_else(|| lacks("search"))
    }

    fn require_blobs(&self) -> Result<&dyn BlobStore> {
        self.blobs().ok_or_else(|| lacks("blobs"))
    }

    fn require_streams(&self) -> Result<&dyn StreamStore> {
        self.streams().ok_or_else(|| lacks("streams"))
    }

    fn require_trajectories(&self) -> Result<&dyn TrajectoryStore> {
        self.trajectories().ok_or_else(|| lacks("trajectories"))
    }

    fn require_memories(&self) -> Result<&dyn MemoryRecordStore> {
        self.memories().ok_or_else(|| lacks("memories"))
    }

    fn require_maintenance(&self) -> Result<&dyn Maintenance> {
        self.maintenance().ok_or_else(|| lacks("maintenance"))
    }
}

/// Returns an error for a store that lost an ability it had. Not reachable otherwise.
fn lacks(operation: &'static str) -> Error {
    Error::new(ErrorKind::Unsupported, operation, "the store inside has no such ability")
}
