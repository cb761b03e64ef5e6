//! Forwards the calls on the whole store.

use std::path::Path;

use async_trait::async_trait;
use context_core::base::limits;
use context_core::store::{CheckReport, Cursor, Erasure, Maintenance, Page, StoreFacts, Vacuumed};
use context_core::{CancelSignal, Result, UserId};
use context_store_kit::watch::Topic;
use sqlx::Row as _;

use crate::check;
use crate::connections::calls::reading;
use crate::history::listing;
use crate::maintenance::{backup, erase};
use crate::sql;
use crate::store::Shared;

#[async_trait]
impl Maintenance for Shared {
    async fn check(&self, cancel: &CancelSignal) -> Result<CheckReport> {
        reading!(self, "check", |reader| check::check(reader, self.connections.full_text, cancel)
            .await)
    }

    async fn users(&self, limit: usize, after: Option<&Cursor>) -> Result<Page<UserId>> {
        limits::check_page("users", limit)?;
        reading!(self, "users", |reader| listing::users(reader, limit, after).await)
    }

    async fn erase_user(&self, user: &UserId, cancel: &CancelSignal) -> Result<Erasure> {
        limits::check_id("erase_user", "user", user.as_str())?;
        let erased = erase::erase_user(&self.connections, user, cancel).await;
        self.watches.wake_all(|| Topic::Store);
        erased.map_err(|fault| fault.during("erase_user"))
    }

    async fn facts(&self) -> Result<StoreFacts> {
        reading!(self, "facts", |reader| {
            let row = sqlx::query(sql::FACTS).fetch_one(&mut *reader).await?;
            let mut facts = StoreFacts::default();
            facts.engine = Some(format!("SQLite {}", row.try_get::<String, _>(0)?));
            facts.bytes = row.try_get::<i64, _>(1)?.try_into().ok();
            facts.unused = row.try_get::<i64, _>(2)?.try_into().ok();
            Ok(facts)
        })
    }

    async fn vacuum(&self) -> Result<Vacuumed> {
        erase::vacuum(&self.connections).await.map_err(|fault| fault.during("vacuum"))
    }

    async fn backup(&self, to: &Path) -> Result<()> {
        let copied = backup::backup(&self.connections, to).await;
        copied.map_err(|fault| fault.during("backup").with("path", to.display()))
    }
}
