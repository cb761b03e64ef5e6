//! Listing and counting memory records.

use std::collections::BTreeMap;

use serde::Serialize;

use super::find::check_scopes;
use crate::Result;
use crate::base::limits;
use crate::memory::{MemoryRecord, MemoryScope, MemorySource};
use crate::store::Cursor;

/// A query for a listing of memory records.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryList {
    /// The exact scopes: at least one, all of one user.
    pub scopes: Vec<MemoryScope>,
    /// The kinds to list. Empty for all kinds.
    pub kinds: Vec<String>,
    /// The key to list, if given.
    pub key: Option<String>,
    /// The source to list, if given.
    pub source: Option<MemorySource>,
    /// The maximum page length, from 1 to [`limits::MAX_PAGE`].
    pub limit: usize,
    /// The cursor of the previous page.
    pub after: Option<Cursor>,
}

impl MemoryList {
    /// Creates a query for all records of these scopes.
    pub fn new(scopes: Vec<MemoryScope>, limit: usize) -> Self {
        Self { scopes, kinds: Vec::new(), key: None, source: None, limit, after: None }
    }

    /// Adds a kind to list.
    #[must_use]
    pub fn kind(mut self, kind: impl Into<String>) -> Self {
        self.kinds.push(kind.into());
        self
    }

    /// Lists only records with this key.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Starts after the previous page.
    #[must_use]
    pub fn after(mut self, after: Option<Cursor>) -> Self {
        self.after = after;
        self
    }

    /// Returns whether a record belongs to the listing.
    pub fn takes(&self, record: &MemoryRecord) -> bool {
        let from =
            |source: &MemorySource| record.source.as_ref().is_some_and(|from| source.covers(from));
        self.scopes.contains(&record.scope)
            && (self.kinds.is_empty() || self.kinds.contains(&record.kind))
            && (self.key.is_none() || self.key == record.key)
            && self.source.as_ref().is_none_or(from)
    }

    /// Refuses invalid scopes, names and page sizes.
    pub fn check(&self) -> Result<()> {
        const OPERATION: &str = "list_memories";
        check_scopes(OPERATION, &self.scopes)?;
        self.kinds.iter().try_for_each(|kind| limits::check_id(OPERATION, "kind", kind))?;
        limits::check_length(OPERATION, "kinds", self.kinds.len(), limits::MAX_MEMORY_TERMS)?;
        self.key.iter().try_for_each(|key| limits::check_id(OPERATION, "key", key))?;
        self.source.iter().try_for_each(|source| source.check(OPERATION))?;
        limits::check_page(OPERATION, self.limit)
    }
}

/// Statistics of one scope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MemoryStats {
    /// The exact scope.
    pub scope: MemoryScope,
    /// Number of records of each kind.
    pub kinds: BTreeMap<String, u64>,
    /// Number of records with a vector.
    pub vectors: u64,
    /// Total size of the texts in bytes of UTF-8.
    pub bytes: u64,
}

impl MemoryStats {
    /// Creates empty statistics.
    pub fn new(scope: MemoryScope) -> Self {
        Self { scope, kinds: BTreeMap::new(), vectors: 0, bytes: 0 }
    }

    /// Returns the number of records.
    pub fn records(&self) -> u64 {
        self.kinds.values().sum()
    }
}
