//! Forwards the calls of stored fragments.

use async_trait::async_trait;
use context_core::base::FragmentId;
use context_core::store::{FragmentLog, FragmentLogStore, FragmentStore, StoredFragment};
use context_core::{ChatRef, Result, Timestamp};

use crate::connections::calls::{reading, writing};
use crate::fragments::{self, log};
use crate::store::Shared;

#[async_trait]
impl FragmentStore for Shared {
    async fn fragments(&self, chat: &ChatRef) -> Result<Vec<StoredFragment>> {
        reading!(self, "fragments", |reader| fragments::list(reader, chat).await)
    }

    async fn put_fragments(
        &self,
        chat: &ChatRef,
        fragments: &[StoredFragment],
        at: Timestamp,
    ) -> Result<()> {
        fragments.iter().try_for_each(|fragment| fragment.check("put_fragments"))?;
        writing!(self, "put_fragments", |writer| fragments::put(writer, chat, fragments, at).await)
    }

    async fn remove_fragment(
        &self,
        chat: &ChatRef,
        id: &FragmentId,
        at: Timestamp,
    ) -> Result<bool> {
        writing!(self, "remove_fragment", |writer| fragments::remove(writer, chat, id, at).await)
    }
}

#[async_trait]
impl FragmentLogStore for Shared {
    async fn fragment_log(&self, chat: &ChatRef) -> Result<FragmentLog> {
        reading!(self, "fragment_log", |reader| log::list(reader, chat).await)
    }

    async fn clear_fragment_log(&self, chat: &ChatRef) -> Result<u64> {
        writing!(self, "clear_fragment_log", |writer| log::clear(writer, chat).await)
    }
}
