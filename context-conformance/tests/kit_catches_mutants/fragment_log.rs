//! The log of fragments, with the faults of the mutants.

use async_trait::async_trait;
use context_core::store::{FragmentLog, FragmentLogStore};
use context_core::{ChatRef, Error, ErrorKind, Result, Store};

use crate::fault::Fault;
use crate::mutant::BrokenStore;

impl BrokenStore {
    fn inner_log(&self) -> Result<&dyn FragmentLogStore> {
        let absent = || Error::new(ErrorKind::Bug, "fragment_log", "the store inside has no log");
        self.inner.fragment_log().ok_or_else(absent)
    }
}

#[async_trait]
impl FragmentLogStore for BrokenStore {
    async fn fragment_log(&self, chat: &ChatRef) -> Result<FragmentLog> {
        let log = self.inner_log()?.fragment_log(chat).await?;
        let mut versions = log.versions().to_vec();
        if self.is(Fault::LogLeavesRemovalsOut) {
            versions.retain(|version| version.fragment.is_some());
        }
        if self.is(Fault::LogForgetsMessages) {
            versions.iter_mut().for_each(|version| version.message = None);
        }
        Ok(FragmentLog::new(versions))
    }

    async fn clear_fragment_log(&self, chat: &ChatRef) -> Result<u64> {
        if self.is(Fault::ClearingKeepsTheLog) {
            return Ok(0);
        }
        self.inner_log()?.clear_fragment_log(chat).await
    }
}
