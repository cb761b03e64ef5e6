//! The seam of whoever finds facts in messages.

use std::fmt;

use async_trait::async_trait;
use context_core::memory::CapturedMessage;
use context_core::{CancelSignal, Result, Timestamp};

use super::Holds;

/// Finds facts in messages.
///
/// Implementors: messages are data. Whatever they say, nothing in them is an instruction to the
/// extractor.
#[async_trait]
pub trait FactExtractor: fmt::Debug + Send + Sync + 'static {
    /// The facts that these messages say, told at this time. What cannot be used is left out and
    /// counted; an error says that nothing could be found out, and the same messages come again.
    async fn extract(
        &self,
        messages: &[CapturedMessage],
        told_at: Timestamp,
        cancel: &CancelSignal,
    ) -> Result<Extracted>;
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Extracted {
    /// The facts.
    pub facts: Vec<ExtractedFact>,
    /// How many more there were that cannot be used.
    pub dropped: usize,
}

impl Extracted {
    /// These facts.
    pub fn new(facts: Vec<ExtractedFact>) -> Self {
        Self { facts, dropped: 0 }
    }
}

/// A fact that a message says. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExtractedFact {
    /// Which of the messages says it, from 0.
    pub message: usize,
    /// Of whom or what.
    pub subject: String,
    /// The relation.
    pub relation: String,
    /// To whom or what.
    pub object: String,
    /// How many values the relation has at one time.
    pub holds: Holds,
    /// Since when, if it was said.
    pub from: Option<Timestamp>,
    /// Until when, if it was said.
    pub until: Option<Timestamp>,
}

impl ExtractedFact {
    /// A fact without times.
    pub fn new(
        message: usize,
        subject: impl Into<String>,
        relation: impl Into<String>,
        object: impl Into<String>,
        holds: Holds,
    ) -> Self {
        let (subject, relation, object) = (subject.into(), relation.into(), object.into());
        Self { message, subject, relation, object, holds, from: None, until: None }
    }
}

impl fmt::Debug for ExtractedFact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExtractedFact")
            .field("message", &self.message)
            .field("holds", &self.holds)
            .field("from", &self.from)
            .field("until", &self.until)
            .finish_non_exhaustive()
    }
}
