//! Forgetting records.

use serde::Serialize;

use super::{MemoryRecord, MemorySource};
use crate::Result;
use crate::base::{MemoryId, limits};
use crate::memory::MemoryScope;

/// What is to be forgotten.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryForget {
    /// Records of exactly this scope, by their names: at most [`limits::MAX_PAGE`].
    Ids {
        /// The scope.
        scope: MemoryScope,
        /// The names.
        ids: Vec<MemoryId>,
    },
    /// What comes from a message, or from a session, wherever it is filed within a scope.
    Source {
        /// Within what this names.
        scope: MemoryScope,
        /// Where it comes from.
        source: MemorySource,
    },
    /// Everything that is filed within what a scope [names](MemoryScope::covers): with a user
    /// alone, all that is remembered of them.
    Scope(MemoryScope),
}

impl MemoryForget {
    /// Records by their names.
    pub fn ids(scope: MemoryScope, ids: impl IntoIterator<Item = impl Into<MemoryId>>) -> Self {
        Self::Ids { scope, ids: ids.into_iter().map(Into::into).collect() }
    }

    /// What comes from there.
    pub fn source(scope: MemoryScope, source: MemorySource) -> Self {
        Self::Source { scope, source }
    }

    /// The scope within which it is forgotten.
    pub fn scope(&self) -> &MemoryScope {
        match self {
            Self::Ids { scope, .. } | Self::Source { scope, .. } | Self::Scope(scope) => scope,
        }
    }

    /// Whether a record is meant.
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

    /// Whether what is forgotten leaves a mark, so that it stays forgotten.
    pub fn leaves_marks(&self) -> bool {
        !matches!(self, Self::Scope(_))
    }

    /// Refuses bad names and too many of them.
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

/// What was forgotten, and what is left: proof by reading back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[must_use]
#[non_exhaustive]
pub struct MemoriesForgotten {
    /// Records that are gone.
    pub removed: u64,
    /// What was asked to be forgotten and was found afterwards, in any index. Anything but 0 was
    /// written meanwhile: forget again.
    pub remaining: u64,
}

impl MemoriesForgotten {
    /// So many are gone, so many are left.
    pub fn new(removed: u64, remaining: u64) -> Self {
        Self { removed, remaining }
    }

    /// Both together.
    pub fn and(self, other: Self) -> Self {
        Self::new(self.removed + other.removed, self.remaining + other.remaining)
    }
}
