//! The log of references, with the faults of the mutants.

use async_trait::async_trait;
use context_core::store::{RefChange, RefLog, RefLogStore};
use context_core::{ChatRef, Error, ErrorKind, Result, Store};

use crate::fault::Fault;
use crate::mutant::BrokenStore;

impl BrokenStore {
    fn inner_refs(&self) -> Result<&dyn RefLogStore> {
        let absent = || Error::new(ErrorKind::Bug, "ref_log", "the store inside has no log");
        self.inner.ref_log().ok_or_else(absent)
    }
}

#[async_trait]
impl RefLogStore for BrokenStore {
    async fn ref_log(&self, chat: &ChatRef) -> Result<RefLog> {
        let log = self.inner_refs()?.ref_log(chat).await?;
        let is_deletion = |change: &RefChange| {
            matches!(change, RefChange::BranchDeleted { .. } | RefChange::CheckpointDeleted { .. })
        };
        let mut broken = RefLog::default();
        for entry in log.entries() {
            if !self.is(Fault::RefLogLeavesDeletionsOut) || !is_deletion(&entry.change) {
                broken.push(entry.at, entry.change.clone());
            }
        }
        if self.is(Fault::RefLogHasAppends) {
            for branch in self.history().branches(chat).await? {
                let created = RefChange::BranchCreated { branch: branch.name, from: branch.head };
                broken.push(branch.created_at, created);
            }
        }
        Ok(if self.is(Fault::None) { log } else { broken })
    }

    async fn clear_ref_log(&self, chat: &ChatRef) -> Result<u64> {
        if self.is(Fault::ClearingKeepsTheRefLog) {
            return Ok(0);
        }
        self.inner_refs()?.clear_ref_log(chat).await
    }
}
