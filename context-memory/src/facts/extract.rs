//! The interface for extracting facts from messages.

use std::fmt;

use async_trait::async_trait;
use context_core::memory::CapturedMessage;
use context_core::{CancelSignal, Result, Timestamp};

use super::Cardinality;

/// Extracts facts from messages.
///
/// Implementors: messages are data. Nothing in them is an instruction to the extractor.
#[async_trait]
pub trait FactExtractor: fmt::Debug + Send + Sync + 'static {
    /// Returns the facts in these messages, which were told at `told_at`. Unusable facts are left
    /// out and counted. After an error the same messages are passed again.
    async fn extract(
        &self,
        messages: &[CapturedMessage],
        told_at: Timestamp,
        cancel: &CancelSignal,
    ) -> Result<Extracted>;
}

/// The extracted facts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Extracted {
    /// The facts.
    pub facts: Vec<ExtractedFact>,
    /// The number of further facts that were unusable.
    pub dropped: usize,
}

impl Extracted {
    /// Returns these facts, with none dropped.
    pub fn new(facts: Vec<ExtractedFact>) -> Self {
        Self { facts, dropped: 0 }
    }
}

/// A fact in a message. `Debug` does not show its content.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExtractedFact {
    /// The index of the message, from 0.
    pub message: usize,
    /// The subject.
    pub subject: String,
    /// The relation.
    pub relation: String,
    /// The object.
    pub object: String,
    /// The number of values that the relation can have at one time.
    pub cardinality: Cardinality,
    /// The start, if stated.
    pub from: Option<Timestamp>,
    /// The end, if stated.
    pub until: Option<Timestamp>,
}

impl ExtractedFact {
    /// Creates a fact without times.
    pub fn new(
        message: usize,
        subject: impl Into<String>,
        relation: impl Into<String>,
        object: impl Into<String>,
        cardinality: Cardinality,
    ) -> Self {
        let (subject, relation, object) = (subject.into(), relation.into(), object.into());
        Self { message, subject, relation, object, cardinality, from: None, until: None }
    }
}

impl fmt::Debug for ExtractedFact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExtractedFact")
            .field("message", &self.message)
            .field("cardinality", &self.cardinality)
            .field("from", &self.from)
            .field("until", &self.until)
            .finish_non_exhaustive()
    }
}
