//! What a simulated provider was asked and what came of it.

use context_core::model::ModelErrorCode;
use serde::Serialize;

use super::fault::Fault;
use crate::wire::Violation;

/// A request and what came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Served {
    /// Which request it was; 0 is the first.
    pub number: u64,
    /// The HTTP status of the reply.
    pub status: u16,
    /// What the refusal is, if it was refused.
    pub refused: Option<ModelErrorCode>,
    /// What the script said should go wrong.
    pub fault: Option<Fault>,
    /// The bytes of the body.
    pub bytes: usize,
    /// The tokens of the request, read from a cache or not. None if it was refused before they were
    /// counted.
    pub input: Option<u64>,
    /// Those of them that were read from the prompt cache.
    pub cache_read: u64,
    /// Those of them that were written to it, where the provider tells.
    pub cache_write: u64,
    /// The tokens of the answer.
    pub output: u64,
    /// The rules that the body breaks, even if it was refused for something else.
    pub violations: Vec<Violation>,
}

impl Served {
    pub(super) fn new(number: u64, bytes: usize, fault: Option<Fault>) -> Self {
        Self {
            number,
            status: 200,
            refused: None,
            fault,
            bytes,
            input: None,
            cache_read: 0,
            cache_write: 0,
            output: 0,
            violations: Vec::new(),
        }
    }

    /// Whether it was answered, whatever the answer.
    pub fn is_answered(&self) -> bool {
        self.refused.is_none()
    }
}
