//! The fragment calls, each forwarded to its implementation.

use async_trait::async_trait;
use context_core::base::FragmentId;
use context_core::store::{FragmentLog, FragmentLogStore, FragmentStore, StoredFragment};
use context_core::{ChatRef, Result, Timestamp};

use crate::connections::shared::Shared;
use crate::fragments::{self, log};

#[async_trait]
impl FragmentStore for Shared {
    async fn fragments(&self, chat: &ChatRef) -> Result<Vec<StoredFragment>> {
        fragments::list(self, chat).await.map_err(|fault| fault.during("fragments"))
    }

    async fn put_fragments(
        &self,
        chat: &ChatRef,
        fragments: &[StoredFragment],
        at: Timestamp,
    ) -> Result<()> {
        fragments::put_all(self, chat, fragments, at)
            .await
            .map_err(|fault| fault.during("put_fragments"))
    }

    async fn remove_fragment(
        &self,
        chat: &ChatRef,
        id: &FragmentId,
        at: Timestamp,
    ) -> Result<bool> {
        fragments::remove(self, chat, id, at).await.map_err(|fault| fault.during("remove_fragment"))
    }
}

#[async_trait]
impl FragmentLogStore for Shared {
    async fn fragment_log(&self, chat: &ChatRef) -> Result<FragmentLog> {
        log::list(self, chat).await.map_err(|fault| fault.during("fragment_log"))
    }

    async fn clear_fragment_log(&self, chat: &ChatRef) -> Result<u64> {
        log::clear(self, chat).await.map_err(|fault| fault.during("clear_fragment_log"))
    }
}
