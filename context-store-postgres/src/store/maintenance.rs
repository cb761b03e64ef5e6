//! The maintenance calls, each forwarded to its implementation.

use std::path::Path;

use async_trait::async_trait;
use context_core::base::limits;
use context_core::store::{CheckReport, Cursor, Erasure, Maintenance, Page, StoreFacts, Vacuumed};
use context_core::{CancelSignal, Error, ErrorKind, Result, Timestamp, UserId};
use context_store_kit::watch::Topic;
use sqlx::Row as _;

use crate::check;
use crate::connections::Work;
use crate::history::listing;
use crate::maintenance::erase;
use crate::sql;
use crate::store::Shared;

#[async_trait]
impl Maintenance for Shared {
    async fn check(&self, cancel: &CancelSignal) -> Result<CheckReport> {
        let checked = check::check(&self.pool, self.facts.full_text, cancel).await;
        checked.map_err(|fault| fault.during("check"))
    }

    async fn users(&self, limit: usize, after: Option<&Cursor>) -> Result<Page<UserId>> {
        limits::check_page("users", limit)?;
        let work = async {
            let mut session = self.pool.begin(Work::Inspect, None).await?;
            let users = listing::users(&mut session, limit, after).await;
            session.end(users).await
        };
        self.pool.within_timeout(work).await.map_err(|fault| fault.during("users"))
    }

    async fn erase_user(&self, user: &UserId, cancel: &CancelSignal) -> Result<Erasure> {
        limits::check_id("erase_user", "user", user.as_str())?;
        let _change = self.watches.change(Topic::Store);
        let erased = erase::erase_user(&self.pool, &self.schema, user, cancel).await;
        erased.map_err(|fault| fault.during("erase_user"))
    }

    async fn facts(&self) -> Result<StoreFacts> {
        let work = async {
            let mut session = self.pool.begin(Work::Inspect, None).await?;
            let row = session.only(session.query(sql::SERVER_FACTS)).await;
            let row = session.end(row).await?;
            let mut facts = StoreFacts::default();
            facts.engine = Some(format!("PostgreSQL {}", row.try_get::<String, _>(0)?));
            facts.time = Some(Timestamp::from_micros(row.try_get(1)?));
            facts.bytes = erase::size(&self.pool, &self.schema).await.ok();
            Ok(facts)
        };
        self.pool.within_timeout(work).await.map_err(|fault| fault.during("facts"))
    }

    async fn vacuum(&self) -> Result<Vacuumed> {
        erase::vacuum(&self.pool, &self.schema).await.map_err(|fault| fault.during("vacuum"))
    }

    async fn backup(&self, _to: &Path) -> Result<()> {
        let message = "backups of a database are made with pg_dump or pg_basebackup";
        Err(Error::new(ErrorKind::Unsupported, "backup", message).with("schema", &self.schema))
    }
}
