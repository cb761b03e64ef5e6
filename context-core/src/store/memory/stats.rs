//! Listing and counting records.

use std::collections::BTreeMap;

use serde::Serialize;

use super::find::check_scopes;
use crate::Result;
use crate::base::limits;
use crate::memory::MemoryScope;
use crate::memory::{MemoryRecord, MemorySource};
use crate::store::Cursor;

/// Which records are listed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryList {
    /// The scopes, each exactly; at least one, all of one user.
    pub scopes: Vec<MemoryScope>,
    /// Only records of these kinds; all, if there are none.
    pub kinds: Vec<String>,
    /// Only records with this key.
    pub key: Option<String>,
    /// Only records from there.
    pub source: Option<MemorySource>,
    /// The longest page, from 1 to [`limits::MAX_PAGE`].
    pub limit: usize,
    /// Where the last page ended.
    pub after: Option<Cursor>,
}

impl MemoryList {
    /// All records of these scopes.
    pub fn new(scopes: Vec<MemoryScope>, limit: usize) -> Self {
        Self { scopes, kinds: Vec::new(), key: None, source: None, limit, after: None }
    }

    /// Only those of a kind.
    #[must_use]
    pub fn kind(mut self, kind: impl Into<String>) -> Self {
        self.kinds.push(kind.into());
        self
    }

    /// Only those with this key.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// From where the last page ended.
    #[must_use]
    pub fn after(mut self, after: Option<Cursor>) -> Self {
        self.after = after;
        self
    }

    /// Whether a record belongs to it.
    pub fn takes(&self, record: &MemoryRecord) -> bool {
        let from =
            |source: &MemorySource| record.source.as_ref().is_some_and(|from| source.covers(from));
        self.scopes.contains(&record.scope)
            && (self.kinds.is_empty() || self.kinds.contains(&record.kind))
            && (self.key.is_none() || self.key == record.key)
            && self.source.as_ref().is_none_or(from)
    }

    /// Refuses bad scopes and names, and a bad page size.
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

/// What there is under a scope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MemoryStats {
    /// The scope, exactly.
    pub scope: MemoryScope,
    /// How many records there are of each kind.
    pub kinds: BTreeMap<String, u64>,
    /// How many of them have a vector.
    pub vectors: u64,
    /// How many bytes their texts have, in UTF-8.
    pub bytes: u64,
}

impl MemoryStats {
    /// Nothing yet.
    pub fn new(scope: MemoryScope) -> Self {
        Self { scope, kinds: BTreeMap::new(), vectors: 0, bytes: 0 }
    }

    /// How many records there are.
    pub fn records(&self) -> u64 {
        self.kinds.values().sum()
    }
}
