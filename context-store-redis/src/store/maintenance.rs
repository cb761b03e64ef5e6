//! The maintenance calls, each forwarded to its implementation.

use std::path::Path;

use async_trait::async_trait;
use context_core::base::limits;
use context_core::store::{CheckReport, Cursor, Erasure, Maintenance, Page, StoreFacts, Vacuumed};
use context_core::{CancelSignal, Error, ErrorKind, Result, UserId};
use context_store_kit::watch::Topic;

use crate::connections::server;
use crate::connections::shared::Shared;
use crate::{check, maintenance};

#[async_trait]
impl Maintenance for Shared {
    async fn check(&self, cancel: &CancelSignal) -> Result<CheckReport> {
        check::check(self, cancel).await.map_err(|fault| fault.during("check"))
    }

    async fn users(&self, limit: usize, after: Option<&Cursor>) -> Result<Page<UserId>> {
        limits::check_page("users", limit)?;
        maintenance::users::users(self, limit, after).await.map_err(|fault| fault.during("users"))
    }

    async fn erase_user(&self, user: &UserId, cancel: &CancelSignal) -> Result<Erasure> {
        limits::check_id("erase_user", "user", user.as_str())?;
        let _change = self.watches.change(Topic::Store);
        let erased = maintenance::erase::erase_user(self, user, cancel).await;
        erased.map_err(|fault| fault.during("erase_user"))
    }

    async fn facts(&self) -> Result<StoreFacts> {
        server::facts(&self.connection).await.map_err(|fault| fault.during("facts"))
    }

    async fn vacuum(&self) -> Result<Vacuumed> {
        let message =
            "the server frees memory by itself; BGREWRITEAOF rewrites its append-only file";
        Err(Error::new(ErrorKind::Unsupported, "vacuum", message))
    }

    async fn backup(&self, _to: &Path) -> Result<()> {
        let message =
            "the server makes backups: BGSAVE writes a snapshot, redis-cli --rdb fetches one";
        Err(Error::new(ErrorKind::Unsupported, "backup", message))
    }
}
