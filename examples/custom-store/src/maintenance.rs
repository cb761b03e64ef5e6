//! Maintenance of the file, in three calls that [`StateStore`] provides. A copy of this store may
//! leave this module out.

use async_trait::async_trait;
use context_core::store::{CheckReport, Cursor, Erasure, Maintenance, Page};
use context_core::{CancelSignal, Result, UserId};
use context_store_kit::StateStore;

use crate::Chats;

#[async_trait]
impl Maintenance for Chats {
    async fn check(&self, cancel: &CancelSignal) -> Result<CheckReport> {
        self.check_states(cancel).await
    }

    /// Freed pages are reused, but not zeroed: redb has no call for that.
    async fn erase_user(&self, user: &UserId, cancel: &CancelSignal) -> Result<Erasure> {
        self.erase_states(user, cancel).await
    }

    async fn users(&self, limit: usize, after: Option<&Cursor>) -> Result<Page<UserId>> {
        self.users_of_states(limit, after).await
    }
}
