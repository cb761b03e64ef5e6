//! Faults of the calls about the log of references.

use async_trait::async_trait;
use context_core::store::{RefLog, RefLogStore};
use context_core::{ChatRef, Result};

use super::plan::Operation;
use super::store::{FaultInjector, lacks};

impl FaultInjector {
    fn refs(&self) -> Result<&dyn RefLogStore> {
        self.inner.ref_log().ok_or_else(|| lacks("ref_log"))
    }
}

#[async_trait]
impl RefLogStore for FaultInjector {
    async fn ref_log(&self, chat: &ChatRef) -> Result<RefLog> {
        self.call(Operation::RefLog, self.refs()?.ref_log(chat)).await
    }

    async fn clear_ref_log(&self, chat: &ChatRef) -> Result<u64> {
        self.call(Operation::ClearRefLog, self.refs()?.clear_ref_log(chat)).await
    }
}
