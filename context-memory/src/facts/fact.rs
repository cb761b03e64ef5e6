//! Facts that are derived from statements.

use std::fmt;

use context_core::Timestamp;
use context_core::base::MemoryId;
use context_core::memory::{MemoryScope, MemorySource, Trust};

use super::Cardinality;

/// A relation that is or was true, as far as it was stated. `Debug` shows the times, but no
/// content.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fact {
    /// The subject.
    pub subject: String,
    /// The relation.
    pub relation: String,
    /// The object.
    pub object: String,
    /// The number of values that the relation can have at one time.
    pub cardinality: Cardinality,
    /// The start. `None` if only the end is known.
    pub from: Option<Timestamp>,
    /// Whether the start was stated. Otherwise `from` is a time at which the fact was true.
    pub is_from_said: bool,
    /// The end, exclusive. `None` if no end is known.
    pub until: Option<Timestamp>,
    /// The first statement of the value that replaced this one, if that is why it ended.
    pub superseded_by: Option<MemoryId>,
    /// The first statement of a lower [class](Trust) that gives another value or an end. It does
    /// not end this fact.
    pub contested_by: Option<MemoryId>,
    /// The highest class of the statements, as far as they are known.
    pub trust: Option<Trust>,
    /// The time of the latest statement.
    pub said_at: Timestamp,
    /// The time at which the fact was first recorded.
    pub recorded_at: Timestamp,
    /// The sources without duplicates, in the order of the statements.
    pub sources: Vec<MemorySource>,
    /// The scopes and ids of the statements' records.
    pub statements: Vec<(MemoryScope, MemoryId)>,
}

impl Fact {
    /// Returns whether the fact is true at a time. A fact of which only the end is known is true at
    /// no time.
    pub fn holds_at(&self, at: Timestamp) -> bool {
        self.from.is_some_and(|from| from <= at) && self.until.is_none_or(|until| at < until)
    }

    /// Returns the fact in one line, such as `Ada works at Initech (since 2026-03-01)`.
    pub fn text(&self) -> String {
        let Self { subject, relation, object, .. } = self;
        let since = if self.is_from_said { "since" } else { "as of" };
        let time = match (self.from, self.until) {
            (Some(from), None) => format!("{since} {}", from.to_day()),
            (Some(from), Some(until)) => {
                format!("{since} {}, until {}", from.to_day(), until.to_day())
            }
            (None, Some(until)) => format!("until {}", until.to_day()),
            (None, None) => return format!("{subject} {relation} {object}"),
        };
        format!("{subject} {relation} {object} ({time})")
    }
}

impl fmt::Debug for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fact")
            .field("cardinality", &self.cardinality)
            .field("from", &self.from)
            .field("until", &self.until)
            .field("superseded_by", &self.superseded_by)
            .field("contested_by", &self.contested_by)
            .field("trust", &self.trust)
            .field("recorded_at", &self.recorded_at)
            .field("sources", &self.sources)
            .field("statements", &self.statements)
            .finish_non_exhaustive()
    }
}
