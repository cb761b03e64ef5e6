//! Forwards the full-text search.

use async_trait::async_trait;
use context_core::Result;
use context_core::store::{Page, SearchHit, SearchQuery, SearchStore};

use crate::connections::calls::reading;
use crate::search;
use crate::store::Shared;

#[async_trait]
impl SearchStore for Shared {
    async fn search(&self, query: &SearchQuery) -> Result<Page<SearchHit>> {
        query.check()?;
        if !self.connections.reads_only() {
            search::prepare(&self.connections).await.map_err(|fault| fault.during("search"))?;
        }
        reading!(self, "search", |reader| search::search(reader, query).await)
    }
}
