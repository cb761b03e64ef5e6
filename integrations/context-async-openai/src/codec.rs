//! The conversions that both forms share.

use context_runtime::{Diagnostic, Json};
use serde::de::DeserializeOwned;

use crate::error::ConvertError;

/// Converted messages.
#[derive(Clone, Debug, PartialEq)]
pub struct Converted<T> {
    /// The messages.
    pub items: Vec<T>,
    /// Content that the other form has no place for.
    pub diagnostics: Vec<Diagnostic>,
}

impl<T> Converted<T> {
    pub(crate) fn new() -> Self {
        Self { items: Vec::new(), diagnostics: Vec::new() }
    }

    /// Adds the diagnostics of one message, whose number their paths begin with.
    pub(crate) fn note(&mut self, number: usize, diagnostics: Vec<Diagnostic>) {
        self.diagnostics.extend(diagnostics.into_iter().map(|mut diagnostic| {
            diagnostic.path = format!("messages[{number}].{}", diagnostic.path);
            diagnostic
        }));
    }
}

/// Reads a prepared body as a request of async-openai.
pub(crate) fn request<T: DeserializeOwned>(body: &Json) -> Result<T, ConvertError> {
    Ok(body.parse()?)
}
