//! Faults of the calls about earlier versions of fragments.

use async_trait::async_trait;
use context_core::store::{FragmentLog, FragmentLogStore};
use context_core::{ChatRef, Result};

use super::plan::Operation;
use super::store::{FaultInjector, lacks};

impl FaultInjector {
    fn log(&self) -> Result<&dyn FragmentLogStore> {
        self.inner.fragment_log().ok_or_else(|| lacks("fragment_log"))
    }
}

#[async_trait]
impl FragmentLogStore for FaultInjector {
    async fn fragment_log(&self, chat: &ChatRef) -> Result<FragmentLog> {
        self.call(Operation::FragmentLog, self.log()?.fragment_log(chat)).await
    }

    async fn clear_fragment_log(&self, chat: &ChatRef) -> Result<u64> {
        self.call(Operation::ClearFragmentLog, self.log()?.clear_fragment_log(chat)).await
    }
}
