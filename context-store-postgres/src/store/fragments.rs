//! The fragment calls, each forwarded to its implementation.

use async_trait::async_trait;
use context_core::base::FragmentId;
use context_core::store::{FragmentLog, FragmentLogStore, FragmentStore, StoredFragment};
use context_core::{ChatRef, Result, Timestamp};

use crate::chat::access::lock_chat;
use crate::chat::rows as chat_rows;
use crate::connections::{Work, work};
use crate::fragments::{self, log, log::WrittenBy};
use crate::store::Shared;

#[async_trait]
impl FragmentStore for Shared {
    async fn fragments(&self, chat: &ChatRef) -> Result<Vec<StoredFragment>> {
        work!(self.pool, "fragments", Work::Read, &chat.user, |session| fragments::of(
            session, chat
        )
        .await)
    }

    async fn put_fragments(
        &self,
        chat: &ChatRef,
        fragments: &[StoredFragment],
        at: Timestamp,
    ) -> Result<()> {
        const OPERATION: &str = "put_fragments";
        fragments.iter().try_for_each(|fragment| fragment.check(OPERATION))?;
        work!(self.pool, "put_fragments", Work::Write, &chat.user, |session| {
            let no = lock_chat(session, OPERATION, chat).await?;
            let by = WrittenBy { at, message: None };
            fragments::put(session, no, fragments, &by).await?;
            chat_rows::touch(session, no, at).await
        })
    }

    async fn remove_fragment(
        &self,
        chat: &ChatRef,
        id: &FragmentId,
        at: Timestamp,
    ) -> Result<bool> {
        work!(self.pool, "remove_fragment", Work::Write, &chat.user, |session| {
            let no = lock_chat(session, "remove_fragment", chat).await?;
            let removed = fragments::remove(session, no, id, at).await?;
            chat_rows::touch(session, no, at).await?;
            Ok(removed)
        })
    }
}

#[async_trait]
impl FragmentLogStore for Shared {
    async fn fragment_log(&self, chat: &ChatRef) -> Result<FragmentLog> {
        work!(self.pool, "fragment_log", Work::Snapshot, &chat.user, |session| {
            log::list(session, chat).await
        })
    }

    async fn clear_fragment_log(&self, chat: &ChatRef) -> Result<u64> {
        work!(self.pool, "clear_fragment_log", Work::Write, &chat.user, |session| {
            log::clear(session, chat).await
        })
    }
}
