//! The search call, forwarded to its implementation.

use async_trait::async_trait;
use context_core::Result;
use context_core::store::{Page, SearchHit, SearchQuery, SearchStore};

use crate::connections::{Work, work};
use crate::search;
use crate::store::Shared;

#[async_trait]
impl SearchStore for Shared {
    async fn search(&self, query: &SearchQuery) -> Result<Page<SearchHit>> {
        query.check()?;
        work!(self.pool, "search", Work::Snapshot, &query.user, |session| search::search(
            session, query
        )
        .await)
    }
}
