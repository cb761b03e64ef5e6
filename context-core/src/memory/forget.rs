//! Forgetting memory records.

use serde::Serialize;

use super::{MemoryRecord, MemorySource};
use crate::Result;
use crate::base::{MemoryId, limits};
use crate::memory::MemoryScope;

/// A selection of records to forget.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryForget {
    /// Records of exactly this scope, by id: at most [`limits::MAX_PAGE`].
    Ids {
        /// The scope.
        scope: MemoryScope,
        /// The ids.
        ids: Vec<MemoryId>,
    },
    /// Records that come from a message or a session, anywhere within a scope.
    Source {
        /// The scope to search. It covers narrower scopes.
        scope: MemoryScope,
        /// The message or session that the records come from.
        source: MemorySource,
    },
    /// All records that a scope [covers](MemoryScope::covers). A scope with a user alone covers
    /// everything that is remembered of the user.
    Scope(MemoryScope),
}

impl MemoryForget {
    /// Selects records by id.
    pub fn ids(scope: MemoryScope, ids: impl IntoIterator<Item = impl Into<MemoryId>>) -> Self {
        Self::Ids { scope, ids: ids.into_iter().map(Into::into).collect() }
    }

    /// Selects records by their source.
    pub fn source(scope: MemoryScope, source: MemorySource) -> Self {
        Self::Source { scope, source }
    }

    /// Returns the scope that limits the selection.
    pub fn scope(&self) -> &MemoryScope {
        match self {
            Self::Ids { scope, .. } | Self::Source { scope, .. } | Self::Scope(scope) => scope,
        }
    }

    /// Returns whether a record is selected.
    pub fn takes(&self, record: &MemoryRecord) -> bool {
        match self {
            Self::Ids { scope, ids } => record.scope == *scope && ids.contains(&record.id),
            Self::Source { scope, source } => {
                scope.covers(&record.scope)
                    && record.source.as_ref().is_some_and(|from| source.covers(from))
            }
            Self::Scope(scope) => scope.covers(&record.scope),
        }
    }

    /// Returns whether forgetting leaves marks, which keep absent writes from restoring the
    /// records.
    pub fn leaves_marks(&self) -> bool {
        !matches!(self, Self::Scope(_))
    }

    /// Refuses invalid names and too many of them.
    pub fn check(&self) -> Result<()> {
        const OPERATION: &str = "forget_memories";
        self.scope().check(OPERATION)?;
        match self {
            Self::Ids { ids, .. } => {
                limits::check_length(OPERATION, "memories to forget", ids.len(), limits::MAX_PAGE)?;
                ids.iter().try_for_each(|id| limits::check_id(OPERATION, "memory", id.as_str()))
            }
            Self::Source { source, .. } => source.check(OPERATION),
            Self::Scope(_) => Ok(()),
        }
    }
}

/// The result of forgetting: counts of the removed records, and of those that a second read found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[must_use]
#[non_exhaustive]
pub struct MemoriesForgotten {
    /// Number of removed records.
    pub removed: u64,
    /// Number of selected records that were found afterwards in any index. If it is not 0, records
    /// were written meanwhile: forget again.
    pub remaining: u64,
}

impl MemoriesForgotten {
    /// Creates a result.
    pub fn new(removed: u64, remaining: u64) -> Self {
        Self { removed, remaining }
    }

    /// Returns the sum of two results.
    pub fn and(self, other: Self) -> Self {
        Self::new(self.removed + other.removed, self.remaining + other.remaining)
    }
}
