//! What is said.

use std::fmt;

use context_core::memory::MemorySource;
use context_core::{Error, Result, Timestamp};
use serde::{Deserialize, Serialize};

use super::names;

/// The longest subject, relation and object, in characters.
pub(super) const LONGEST: usize = 200;

/// How many values a relation of a subject has at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Holds {
    /// One, as where somebody works: a later value ends the earlier one.
    One,
    /// Any number, as what somebody likes.
    Many,
}

/// That a subject has a relation to an object. `Debug` shows when and where it was said, not what.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statement {
    /// Of whom or what it is said, such as `Ada`: 1 to 200 characters in one line, as all three.
    pub subject: String,
    /// The relation, such as `works at`.
    pub relation: String,
    /// To whom or what, such as `Initech`.
    pub object: String,
    /// How many values the relation has at one time. If statements of one relation differ, it has
    /// many; what the program [said](super::Facts::relation) of the relation goes first.
    pub holds: Holds,
    /// Since when it is true, if that was said; else it is as of when it was said.
    pub from: Option<Timestamp>,
    /// Until when it was true, if that was said. Without `from` it says only that it ended then.
    pub until: Option<Timestamp>,
    /// When it was said.
    pub said_at: Timestamp,
    /// The session or message where it was said.
    pub source: Option<MemorySource>,
}

impl Statement {
    /// Said then, and true as of then.
    pub fn new(
        subject: impl Into<String>,
        relation: impl Into<String>,
        object: impl Into<String>,
        holds: Holds,
        said_at: Timestamp,
    ) -> Self {
        let (subject, relation, object) = (subject.into(), relation.into(), object.into());
        Self { subject, relation, object, holds, from: None, until: None, said_at, source: None }
    }

    /// True since then.
    #[must_use]
    pub fn from(mut self, from: Timestamp) -> Self {
        self.from = Some(from);
        self
    }

    /// True until then.
    #[must_use]
    pub fn until(mut self, until: Timestamp) -> Self {
        self.until = Some(until);
        self
    }

    /// Said there.
    #[must_use]
    pub fn source(mut self, source: MemorySource) -> Self {
        self.source = Some(source);
        self
    }

    /// Since when it is true; nothing if only its end is known.
    pub(super) fn start(&self) -> Option<Timestamp> {
        self.from.or(self.until.is_none().then_some(self.said_at))
    }

    /// Refuses parts that are empty, too long or more than a line, and a time that ends before it
    /// begins.
    pub fn check(&self, operation: &'static str) -> Result<()> {
        check_part(operation, "subject", &self.subject)?;
        check_part(operation, "relation", &self.relation)?;
        check_part(operation, "object", &self.object)?;
        if let (Some(from), Some(until)) = (self.from, self.until)
            && from >= until
        {
            return Err(Error::invalid(operation, "a fact cannot end before it begins"));
        }
        self.source.iter().try_for_each(|source| source.check(operation))
    }
}

pub(super) fn check_part(operation: &'static str, what: &'static str, part: &str) -> Result<()> {
    if names::folded(part).is_empty() {
        return Err(Error::invalid(operation, "a part of a fact says nothing").with("part", what));
    }
    if part.chars().any(char::is_control) {
        return Err(Error::invalid(operation, "a part of a fact is one line").with("part", what));
    }
    let chars = part.chars().count();
    if chars <= LONGEST {
        return Ok(());
    }
    Err(Error::invalid(operation, "a part of a fact is too long")
        .with("part", what)
        .with("chars", chars)
        .with("limit", LONGEST))
}

impl fmt::Debug for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Statement")
            .field("holds", &self.holds)
            .field("from", &self.from)
            .field("until", &self.until)
            .field("said_at", &self.said_at)
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}
