//! Statements about a subject.

use std::fmt;

use context_core::memory::{MemorySource, Trust};
use context_core::{Error, Result, Timestamp};
use serde::{Deserialize, Serialize};

use super::names;

/// The longest subject, relation and object, in characters.
pub(super) const LONGEST: usize = 200;

/// The number of values that a relation of a subject has at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Cardinality {
    /// One value, such as a person's employer: a later value ends the earlier one.
    One,
    /// Any number of values, such as the things a person likes.
    Many,
}

/// A statement that a subject has a relation to an object. `Debug` shows the times and the source,
/// but no content.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statement {
    /// The subject, such as `Ada`. Like relation and object, 1 to 200 characters on one line.
    pub subject: String,
    /// The relation, such as `works at`.
    pub relation: String,
    /// The object, such as `Initech`.
    pub object: String,
    /// The number of values that the relation has at one time. If statements about a relation
    /// differ, it has many. A setting of the [application](super::Facts::relation) for the relation
    /// takes precedence.
    pub cardinality: Cardinality,
    /// The start, if stated. Otherwise the statement is true as of the time it was made.
    pub from: Option<Timestamp>,
    /// The end, if stated. Without `from`, only the end is known.
    pub until: Option<Timestamp>,
    /// The time of the statement.
    pub said_at: Timestamp,
    /// The session or message where it was said.
    pub source: Option<MemorySource>,
    /// The class of trust of the source, if it is known.
    pub trust: Option<Trust>,
}

impl Statement {
    /// Creates a statement that is true as of the time it was made.
    pub fn new(
        subject: impl Into<String>,
        relation: impl Into<String>,
        object: impl Into<String>,
        cardinality: Cardinality,
        said_at: Timestamp,
    ) -> Self {
        let (subject, relation, object) = (subject.into(), relation.into(), object.into());
        Self {
            subject,
            relation,
            object,
            cardinality,
            from: None,
            until: None,
            said_at,
            source: None,
            trust: None,
        }
    }

    /// Sets the start.
    #[must_use]
    pub fn from(mut self, from: Timestamp) -> Self {
        self.from = Some(from);
        self
    }

    /// Sets the end.
    #[must_use]
    pub fn until(mut self, until: Timestamp) -> Self {
        self.until = Some(until);
        self
    }

    /// Sets the source.
    #[must_use]
    pub fn source(mut self, source: MemorySource) -> Self {
        self.source = Some(source);
        self
    }

    /// Sets the class of trust of the source, such as [`Trust::Program`] for what the program
    /// itself states. Default: unknown.
    #[must_use]
    pub fn trust(mut self, trust: Trust) -> Self {
        self.trust = Some(trust);
        self
    }

    /// Returns the start, or `None` if only the end is known.
    pub(super) fn start(&self) -> Option<Timestamp> {
        self.from.or(self.until.is_none().then_some(self.said_at))
    }

    /// Checks the statement. Fails if a part is empty, too long or has several lines, or if the end
    /// is not after the start.
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

pub(super) fn check_part(operation: &'static str, name: &'static str, part: &str) -> Result<()> {
    if names::folded(part).is_empty() {
        return Err(Error::invalid(operation, "a part of a fact is empty").with("part", name));
    }
    if part.chars().any(char::is_control) {
        return Err(
            Error::invalid(operation, "a part of a fact has more than one line").with("part", name)
        );
    }
    let chars = part.chars().count();
    if chars <= LONGEST {
        return Ok(());
    }
    Err(Error::invalid(operation, "a part of a fact is too long")
        .with("part", name)
        .with("chars", chars)
        .with("limit", LONGEST))
}

impl fmt::Debug for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Statement")
            .field("cardinality", &self.cardinality)
            .field("from", &self.from)
            .field("until", &self.until)
            .field("said_at", &self.said_at)
            .field("source", &self.source)
            .field("trust", &self.trust)
            .finish_non_exhaustive()
    }
}
