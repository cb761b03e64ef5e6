//! What follows from statements.

use std::fmt;

use context_core::Timestamp;
use context_core::base::MemoryId;
use context_core::memory::{MemoryScope, MemorySource};

use super::Holds;

/// Something that is or was true, as far as it was said. `Debug` shows when, not what.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fact {
    /// Of whom or what.
    pub subject: String,
    /// The relation.
    pub relation: String,
    /// To whom or what.
    pub object: String,
    /// How many values the relation has at one time.
    pub holds: Holds,
    /// Since when it is true; nothing if only its end is known.
    pub from: Option<Timestamp>,
    /// Whether the beginning was said; else it is true at least as of then.
    pub is_from_said: bool,
    /// Until when it was true, not including that time; nothing if no end is known.
    pub until: Option<Timestamp>,
    /// The first statement of the value that came after it, if that is why it ended.
    pub superseded_by: Option<MemoryId>,
    /// When it was said last.
    pub said_at: Timestamp,
    /// When it was learned first.
    pub recorded_at: Timestamp,
    /// Where it was said, each place once, in the order of what was said.
    pub sources: Vec<MemorySource>,
    /// The records of its statements: under which scope, by which name.
    pub statements: Vec<(MemoryScope, MemoryId)>,
}

impl Fact {
    /// Whether it is true at a time. What is known only to have ended is true at none.
    pub fn holds_at(&self, at: Timestamp) -> bool {
        self.from.is_some_and(|from| from <= at) && self.until.is_none_or(|until| at < until)
    }

    /// The fact in a line, such as `Ada works at Initech (since 2026-03-01)`.
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
            .field("holds", &self.holds)
            .field("from", &self.from)
            .field("until", &self.until)
            .field("superseded_by", &self.superseded_by)
            .field("recorded_at", &self.recorded_at)
            .field("sources", &self.sources)
            .field("statements", &self.statements)
            .finish_non_exhaustive()
    }
}
